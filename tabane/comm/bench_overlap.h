// An all-reduce that goes on beside work, and one after which the work is done: where the ranks are
// in step, and where they are not, so that one waits for the other.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "tabane/comm/collectives.h"
#include "tabane/comm/nonblocking.h"
#include "tabane/core/keep.h"

namespace tabane::bench {

class Overlap {
 public:
  Overlap(comm::Comm& comm, std::size_t bytes) : comm_(comm), values_(bytes / sizeof(double)) {}

  void in_turn() {
    comm::all_reduce(comm_, values_, comm::Operation::max);
    work(steps());
  }
  void at_once() {
    const std::uint64_t all = steps();
    comm::Request sum = comm::iall_reduce(comm_, values_, comm::Operation::max);
    work_and_test(sum, all);
    sum.wait();
  }

  // Before each call one of two ranks, in turn, has as much more to do as both have after it. In
  // turn, two calls take 4 times that; beside each other, 3 times.
  void late_in_turn() {
    be_late();
    comm::all_reduce(comm_, values_, comm::Operation::max);
    work(kLateSteps);
  }
  void late_at_once() {
    be_late();
    comm::Request sum = comm::iall_reduce(comm_, values_, comm::Operation::max);
    work_and_test(sum, kLateSteps);
    sum.wait();
  }

 private:
  static constexpr std::uint64_t kLateSteps = 50'000;  // about 50 us

  void be_late() {
    if (calls_++ % 2 == static_cast<std::uint64_t>(comm_.rank() == 0 ? 0 : 1)) work(kLateSteps);
  }
  // With four looks at the messages meanwhile.
  void work_and_test(comm::Request& sum, std::uint64_t steps) {
    constexpr std::uint64_t kParts = 4;
    for (std::uint64_t i = 0; i < kParts; ++i) {
      work(steps / kParts);
      sum.test();
    }
  }

  // Each step needs the one before: it fills time, but neither memory nor the core's ports.
  void work(std::uint64_t steps) {
    double x = 1.5;
    for (std::uint64_t i = 0; i < steps; ++i) x = x * 0.999 + 0.001;
    core::keep(x);
  }

  // As many as take the time of one blocking all-reduce; the same on all ranks.
  std::uint64_t steps() {
    if (steps_ != 0) return steps_;
    constexpr std::uint64_t kTrial = 1000;
    const double reduces =
        seconds_of([&] { comm::all_reduce(comm_, values_, comm::Operation::max); });
    const double step = seconds_of([&] { work(kTrial); }) / static_cast<double>(kTrial);
    steps_ = comm::all_reduce(comm_, static_cast<std::uint64_t>(reduces / step) + 4,
                              comm::Operation::max);
    return steps_;
  }

  // The shortest of many: other programs take their turns in the rest.
  template <class F>
  static double seconds_of(F&& f) {
    constexpr int kBatches = 200, kEach = 10;
    double least = 1;
    for (int batch = 0; batch < kBatches; ++batch) {
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < kEach; ++i) f();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      least = std::min(least, took.count() / kEach);
    }
    return least;
  }

  comm::Comm& comm_;
  std::vector<double> values_;
  std::uint64_t steps_ = 0, calls_ = 0;
};

}  // namespace tabane::bench
