// How a line goes from core to core, and how the matrix of that is planned: which PUs take part,
// and which pairs run at the same time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tabane/core/topology.h"

namespace tabane::lab {

using PuPair = std::pair<unsigned, unsigned>;  // positions in a list of PUs, first < second

// Rounds of disjoint pairs in which each of n meets every other one exactly once (circle method):
// n - 1 rounds for even n, n for odd n, as in one round somebody has to rest. Empty below 2.
std::vector<std::vector<PuPair>> tournament(unsigned n);

// At most `most` PUs that represent all, in their order: all if they fit, else one a core, else as
// many of each last-level-cache group as fit, else one of evenly spaced groups. most: >= 2.
std::vector<core::Pu> sample_pus(std::span<const core::Pu> pus, std::size_t most);

struct CoreToCorePlan {
  std::vector<core::Pu> pus;  // in topology order
  bool parallel = false;      // rounds of a tournament instead of one pair after the other
  std::string subset;         // why some PUs are missing; empty if none is
};

// Above this number of PUs one pair after the other would take too long.
inline constexpr std::size_t kMostSerialPus = 64;

// Plans what can be measured in about budget_seconds.
CoreToCorePlan plan_core_to_core(std::span<const core::Pu> pus, bool quick, double budget_seconds,
                                 std::size_t most_serial = kMostSerialPus);

// Seconds that the plan's matrix takes at least.
double least_seconds(std::size_t pus, bool parallel);

// Changes a number on a line from `begin` to `end` by compare-and-swap, in turn with another
// thread: one of them is the first. Returns false as soon as go_on(looks) does, which is asked now
// and then, looks = 1, 2 … for each turn, so that a partner that the system does not let run cannot
// stall all.
bool take_turns(std::atomic<std::uint64_t>& line, std::uint64_t begin, std::uint64_t end,
                bool first, auto go_on) {
  const auto insist = [&](auto attempt) {
    for (unsigned tries = 1, looks = 0; !attempt(); ++tries) {
      if (tries % 65536 != 0) continue;
      if (!go_on(++looks)) return false;
      std::this_thread::yield();
    }
    return true;
  };
  for (std::uint64_t mine = begin + (first ? 0 : 1); mine < end; mine += 2) {
    const auto swap = [&] {
      std::uint64_t expected = mine;
      return line.compare_exchange_strong(expected, mine + 1, std::memory_order_acq_rel,
                                          std::memory_order_relaxed);
    };
    if (!insist(swap)) return false;
  }
  return !first || insist([&] { return line.load(std::memory_order_acquire) == end; });
}

class ProbeContext;
struct Probe;
// Measures the plan's matrix and reports it as `probe`.
void run_core_to_core(const Probe& probe, ProbeContext& context, CoreToCorePlan plan);

}  // namespace tabane::lab
