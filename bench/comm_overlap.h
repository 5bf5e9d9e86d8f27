// An all-reduce that goes on beside work of the same length, and one after which the work is done.
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
  // With four looks at the messages meanwhile.
  void at_once() {
    constexpr int kParts = 4;
    const std::uint64_t part = steps() / kParts;
    comm::Request sum = comm::iall_reduce(comm_, values_, comm::Operation::max);
    for (int i = 0; i < kParts; ++i) {
      work(part);
      sum.test();
    }
    sum.wait();
  }
  void work_alone() { work(steps()); }

 private:
  // Each step needs the one before: it fills time, but neither memory nor the core's ports.
  void work(std::uint64_t steps) {
    double x = 1.5;
    for (std::uint64_t i = 0; i < steps; ++i) x = x * 0.999 + 0.001;
    core::keep(x);
  }

  // As many as take the time of one blocking all-reduce; the same on all ranks.
  std::uint64_t steps() {
    if (steps_ != 0) return steps_;
    constexpr std::uint64_t kTrial = 100'000;
    const double reduces =
        seconds_of([&] { comm::all_reduce(comm_, values_, comm::Operation::max); });
    const double step = seconds_of([&] { work(kTrial); }) / static_cast<double>(kTrial);
    steps_ = comm::all_reduce(comm_, static_cast<std::uint64_t>(reduces / step) + 4,
                              comm::Operation::max);
    return steps_;
  }

  // The median of some batches.
  template <class F>
  static double seconds_of(F&& f) {
    constexpr int kBatches = 21, kEach = 20;
    std::vector<double> seconds;
    for (int batch = 0; batch < kBatches; ++batch) {
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < kEach; ++i) f();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      seconds.push_back(took.count() / kEach);
    }
    std::ranges::nth_element(seconds, seconds.begin() + kBatches / 2);
    return seconds[kBatches / 2];
  }

  comm::Comm& comm_;
  std::vector<double> values_;
  std::uint64_t steps_ = 0;
};

}  // namespace tabane::bench
