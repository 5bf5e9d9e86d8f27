// Two threads, each bound to a PU, count up one number on one cache line in turn by compare-and-
// swap; half a round trip is what the line takes from one to the other. All pairs of the PUs.
#include <omp.h>

#include <atomic>

#include "bench/truth/program.h"

namespace {

constexpr int kRoundTrips = 20'000;  // of one sample

struct alignas(256) Line {  // no neighbour shares it, and none is fetched with it
  std::atomic<int> count{0};
};

void take_turns(Line& line, int self) {
  for (int mine = self; mine < 2 * kRoundTrips; mine += 2) {
    int expected = mine;
    while (!line.count.compare_exchange_strong(expected, mine + 1)) expected = mine;
  }
}

void measure(unsigned a, unsigned b, int samples, std::vector<double>& seconds) {
  static Line line;
#pragma omp parallel num_threads(2)
  {
    const int self = omp_get_thread_num();
    truth::bind_to(self == 0 ? a : b);
    for (int sample = -1; sample < samples; ++sample) {
      if (self == 0) line.count = 0;
#pragma omp barrier
      const double begin = truth::now();
      take_turns(line, self);
#pragma omp barrier
      if (self == 0 && sample >= 0) seconds.push_back((truth::now() - begin) / (2 * kRoundTrips));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const truth::Arguments arguments = truth::read_arguments(argc, argv);
  std::vector<double> seconds;
  for (std::size_t b = 1; b < arguments.pus.size(); ++b)
    for (std::size_t a = 0; a < b; ++a)
      measure(arguments.pus[a], arguments.pus[b], arguments.samples, seconds);
  truth::print("ping_pong", seconds);
  return truth::end();
}
