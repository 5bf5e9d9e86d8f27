// Where a rank's time goes.
//
//   enum Step { kPanel, kUpdate, kBroadcast };
//   Steps steps(comm, {"panel", "update", "broadcast"});
//   {
//     const auto in = steps.in(kPanel);
//     factorise(panel);
//     const auto inner = steps.in(kBroadcast);  // the panel's time stops
//     broadcast(comm, panel, root);
//   }
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <tuple>
#include <vector>

#include "tabane/comm/comm.h"

namespace tabane::comm {

// One step on one rank.
struct StepTime {
  std::uint64_t times = 0;
  double seconds = 0;
  bool operator==(const StepTime&) const = default;
};

// By step and rank.
struct StepTable {
  std::vector<std::string> names;
  std::vector<std::vector<StepTime>> ranks;  // ranks[rank][step]

  // Of a step: seconds over all ranks, divided by their number; of the rank with the most; and how
  // often the rank entered it that did so most often.
  double mean_seconds(std::size_t step) const;
  double most_seconds(std::size_t step) const;
  std::uint64_t most_times(std::size_t step) const;
  // Seconds in all steps of the rank that has the most: its whole time, if it always is in one.
  double seconds_of_slowest() const;
  bool operator==(const StepTable&) const = default;
  auto fields() { return std::tie(names, ranks); }
};

// Times the steps of this rank, and tells the transport which one it is in, for the message if the
// rank dies. A step inside another one interrupts it, so that no time counts twice.
// cost: two reads of the tick counter a step, about 30 ns each.
class Steps {
 public:
  // names: of static storage.
  Steps(Comm& comm, std::initializer_list<const char*> names);

  class Scope {
   public:
    Scope(Steps& steps, int step) : steps_(steps), outer_(steps.current_) { steps.enter(step); }
    ~Scope() { steps_.leave(outer_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Steps& steps_;
    int outer_;
  };
  [[nodiscard]] Scope in(int step) { return {*this, step}; }
  // Calls work() in a step, and returns its result.
  template <class Work>
  decltype(auto) in(int step, const Work& work) {
    const Scope scope(*this, step);
    return work();
  }

  // Puts those of all ranks together on rank 0; elsewhere without ranks. All ranks call it, in no
  // step.
  StepTable gather() const;

 private:
  static constexpr int kNone = -1;

  void enter(int step);
  void leave(int outer);
  void stop_current();

  mutable Comm comm_;
  std::vector<const char*> names_;
  std::vector<StepTime> own_;  // by step
  double since_ = 0;
  int current_ = kNone;
};

}  // namespace tabane::comm
