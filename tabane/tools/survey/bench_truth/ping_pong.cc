// Two threads, each bound to a PU, count up one number on one cache line in turn by compare-and-
// swap; half a round trip is what the line takes from one to the other. All pairs of the PUs.
#include <atomic>

#include "tabane/tools/survey/bench_truth/timed.h"

namespace {

constexpr int kRoundTrips = 2000;  // of one sample

struct alignas(256) Line {  // no neighbour shares it, and none is fetched with it
  std::atomic<int> count{0};
};

void take_turns(Line& line, int self) {
  for (int mine = self; mine < 2 * kRoundTrips; mine += 2) {
    int expected = mine;
    while (!line.count.compare_exchange_strong(expected, mine + 1)) expected = mine;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const truth::Arguments arguments = truth::read_arguments(argc, argv);
  static Line line;
  std::vector<double> halves;
  for (std::size_t b = 1; b < arguments.pus.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      const auto seconds = truth::timed(
          {arguments.samples, 0, {arguments.pus[a], arguments.pus[b]}}, 1,
          [](int self, void*&) {
            if (self == 0) line.count = 0;
          },
          [](int, int self, void*) { take_turns(line, self); });
      for (const double x : seconds[0]) halves.push_back(x / (2 * kRoundTrips));
    }
  }
  truth::print("ping_pong", halves);
  return truth::end();
}
