// What the ranks of a simulated machine did with their time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace tabane::comm {

class Transport;

// collective: one of the machine's own, once all have come. wait: for messages, and for ranks that
// come later.
enum class Activity : std::uint8_t { compute, send, receive, collective, wait };
inline constexpr std::array<std::string_view, 5> kActivityNames{"compute", "send", "receive",
                                                                "collective", "wait"};

// How long each took.
struct Activities {
  std::array<double, kActivityNames.size()> of{};
  double& operator[](Activity one) { return of[static_cast<std::size_t>(one)]; }
  double operator[](Activity one) const { return of[static_cast<std::size_t>(one)]; }
  double sum() const { return std::accumulate(of.begin(), of.end(), 0.0); }
};

// When a rank did what: a row of slices of equal length, which doubles as the time gets longer.
class Timeline {
 public:
  static constexpr std::size_t kSlices = 64;

  void add(Activity what, double from, double to);  // 0 <= from
  void widen_to(double width);                      // at least the present one
  double width() const { return width_; }
  const std::vector<Activities>& slices() const { return slices_; }  // kSlices

 private:
  double width_ = 0x1p-6;
  std::vector<Activities> slices_{kSlices};
};

// All times are in seconds.
struct SimulatedRun {
  double seconds = 0;                          // until the last rank returned
  double slice_seconds = 0;                    // of the timelines
  std::vector<std::vector<Activities>> ranks;  // [rank][slice]: where its time went
  // The chain of what had to wait for each other, from the start to the last rank's end: nothing
  // else, were it faster, would end the run sooner. wait: messages on their way. Its sum is
  // `seconds`.
  Activities path;
  std::uint64_t path_messages = 0;  // from rank to rank on that chain
  // What the program did that is not simulated, a sentence each.
  std::vector<std::string> warnings;
};

// Fills `run`, which outlives launch(), when all ranks have returned. transport: Comm::transport()
// of any rank; nothing before the call is recorded. Does nothing where time is real.
void record_run(Transport& transport, SimulatedRun& run);

// Calls `check` now and then when ranks compute or wait: what it throws ends the run, and launch()
// throws it. transport, and where time is real: as record_run().
void check_run(Transport& transport, std::function<void()> check);

}  // namespace tabane::comm
