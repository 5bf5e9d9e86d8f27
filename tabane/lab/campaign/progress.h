// How far long work is, and whether the user wants it to end.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tabane/core/clock.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

// Thrown out of a measurement when the user asked to stop; what was already reported is kept.
class Stopped : public std::runtime_error {
 public:
  Stopped() : std::runtime_error("stopped") {}
};

// What surveys and studies tell whoever runs them.
struct Hooks {
  std::function<bool()> stop_requested = [] { return false; };
  // What is being measured, the share of the whole that is done, the seconds left.
  std::function<void(const std::string& what, double done, double seconds_left)> progress =
      [](const std::string&, double, double) {};
  std::function<void(const Result&)> on_result = [](const Result&) {};
  // After every probe, so that a lost session loses little.
  std::function<void(const Record&)> on_probe_done = [](const Record&) {};
};

// Steps of planned lengths. The remaining time follows from the plan, corrected by how the steps so
// far kept to it.
class Progress {
 public:
  Progress(Hooks hooks, std::vector<double> planned_seconds,
           core::Clock& clock = core::tick_clock());

  // Tells that this share of the step is done.
  void tell(const std::string& what, double share_of_step);
  // Also throws Stopped if the user asked to stop.
  void show(const std::string& what, double share_of_step);
  void next_step();
  double elapsed_seconds() const { return clock_.now() - start_; }

 private:
  Hooks hooks_;
  std::vector<double> planned_;
  core::Clock& clock_;
  double start_, total_ = 1e-9, finished_ = 0;
  std::size_t step_ = 0;
};

}  // namespace tabane::lab
