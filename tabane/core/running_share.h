// Whether the calling thread really ran: its CPU time over the time on the wall.
#pragma once

namespace tabane::core {

// A sample during which a thread had less of its CPU than this says more about other programs than
// about the work.
inline constexpr double kLeastRunningShare = 0.9;

class RunningShare {
 public:
  RunningShare();
  // CPU time of the calling thread since construction over wall time since then: 1 unless it
  // waited, or another program, or on some systems another virtual machine, had the CPU. Must be
  // called by the thread that constructed it. cost: a microsecond or less.
  double share() const;

 private:
  double wall_, cpu_;  // seconds at construction
};

}  // namespace tabane::core
