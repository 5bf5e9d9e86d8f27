// For tests of what measures or waits.
#pragma once

#include "tabane/core/clock.h"

namespace tabane::core {

// A clock that only moves when a test says so: none sleeps or depends on the machine.
class ManualClock : public Clock {
 public:
  double now() override { return now_; }
  double step() const override { return 1e-9; }
  void advance(double seconds) { now_ += seconds; }

 private:
  double now_ = 0;
};

}  // namespace tabane::core
