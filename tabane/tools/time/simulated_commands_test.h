// Commands that take time on a manual clock only, on a machine that is loaded in bursts.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "tabane/core/manual_clock_test.h"
#include "tabane/tools/time/time.h"

namespace tabane::lab {

// Bursts and pauses of random lengths; what runs in a burst takes longer.
class SimulatedMachine {
 public:
  explicit SimulatedMachine(std::uint32_t seed, double noise = 0.05, double slower = 1)
      : random_(seed), noise_(noise), slower_(slower) {}

  core::ManualClock clock;

  ChildRun run(double seconds) {
    while (clock.now() >= change_) {
      burst_ = !burst_;
      change_ += std::exponential_distribution<double>(1 / kMeanBurst)(random_);
    }
    ChildRun run;
    run.seconds =
        seconds * std::lognormal_distribution<double>(0, noise_)(random_) * (burst_ ? slower_ : 1);
    run.user_seconds = run.seconds / 2;
    clock.advance(run.seconds);
    return run;
  }

  TimeContender command(const std::string& name, double seconds) {
    return {.name = name,
            .factors = {{kCommandFactor, name}},
            .run = [this, seconds](double, bool) { return run(seconds); }};
  }

 private:
  static constexpr double kMeanBurst = 2;  // seconds
  std::mt19937 random_;
  double noise_, slower_;
  double change_ = 0;
  bool burst_ = true;
};

}  // namespace tabane::lab
