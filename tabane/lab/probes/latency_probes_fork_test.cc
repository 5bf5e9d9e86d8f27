#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <variant>
#include <vector>

#include "tabane/core/memory.h"
#include "tabane/lab/probes/chase.h"
#include "tabane/lab/probes/common.h"
#include "tabane/lab/probes/run_probe_test.h"

namespace tabane::lab {
namespace {

std::vector<std::uint32_t> random_cycle(std::uint32_t n, std::uint64_t seed) {
  std::vector<std::uint32_t> next(n);
  fill_random_cycle(next, seed);
  return next;
}

TEST(RandomCycle, VisitsEveryElementOnceBeforeItReturns) {
  for (const std::uint32_t n : {1u, 2u, 3u, 7u, 64u, 1000u, 4097u}) {
    const std::vector<std::uint32_t> next = random_cycle(n, 7);
    std::uint32_t at = 0;
    std::uint32_t steps = 0;
    do {
      at = next[at];
      ++steps;
    } while (at != 0 && steps <= n);
    EXPECT_EQ(steps, n);
  }
}

TEST(RandomCycle, OfThreeGivesBothCyclesAboutEquallyOften) {
  int clockwise = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) clockwise += random_cycle(3, seed)[0] == 1;
  // Five standard deviations of a fair coin thrown 1000 times are 79.
  EXPECT_GT(clockwise, 420);
  EXPECT_LT(clockwise, 580);
}

TEST(RandomCycle, IsTheSameForTheSameSeedOnly) {
  EXPECT_EQ(random_cycle(100, 1), random_cycle(100, 1));
  EXPECT_NE(random_cycle(100, 1), random_cycle(100, 2));
}

TEST(Chase, ComesBackAfterAsManyStepsAsThereAreLines) {
  alignas(64) static std::byte memory[64 * 37];
  void* start = link_random_cycle(memory, 64);
  EXPECT_EQ(start, memory);
  std::set<void*> seen;
  for (std::uint64_t steps = 0; steps < 37; ++steps) seen.insert(chase(start, steps));
  EXPECT_EQ(seen.size(), 37u);
  EXPECT_EQ(chase(start, 37), start);
  EXPECT_EQ(chase(start, 37 * 5 + 3), chase(start, 3));
}

TEST(Chase, LeavesTheEndOfAPartialLineAlone) {
  alignas(64) static std::byte memory[64 + 16] = {};
  void* start = link_random_cycle(memory, 64);
  EXPECT_EQ(chase(start, 1), start);
  EXPECT_TRUE(std::all_of(memory + 64, memory + 80, [](std::byte b) { return b == std::byte{}; }));
}

const ProbeRun& quick_run() {
  static const ProbeRun run = run_probe(latency_probes, "memory.latency", true, 0.05);
  return run;
}

TEST(MemoryLatency, GivesACurveOverAscendingSizes) {
  const auto& curves = std::get<Curves>(quick_run().table("memory.latency").content);
  ASSERT_FALSE(curves.series.empty());
  EXPECT_EQ(curves.series.front().name, base_pages());
  for (const Curve& curve : curves.series) {
    ASSERT_EQ(curve.x.size(), curve.y.size());
    ASSERT_EQ(curve.x.size(), curve.low.size());
    ASSERT_EQ(curve.x.size(), curve.high.size());
    EXPECT_EQ(curve.x.front(), 4096);
    EXPECT_GE(curve.x.back(), 4 << 20);
    EXPECT_TRUE(std::is_sorted(curve.x.begin(), curve.x.end()));
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      EXPECT_GT(curve.y[i], 0);
      EXPECT_LE(curve.low[i], curve.y[i]);
      EXPECT_GE(curve.high[i], curve.y[i]);
    }
  }
  EXPECT_TRUE(is_steady_progress(quick_run().fractions));
}

TEST(MemoryLatency, IsLessInTheSmallestSetThanInTheLargest) {
  const auto& curves = std::get<Curves>(quick_run().table("memory.latency").content);
  for (const Curve& curve : curves.series) EXPECT_LT(curve.y.front(), curve.y.back());
}

TEST(MemoryLatency, HasEachCacheAtTheSizeThatRepresentsIt) {
  if (!this_machine().cache(1)) GTEST_SKIP() << "the system does not tell the caches";
  for (const MemoryLevel& level : memory_levels(this_machine())) {
    if (level.is_memory()) continue;
    const Result* result = quick_run().record.find("memory.latency." + level.name);
    ASSERT_NE(result, nullptr);
    EXPECT_EQ(result->unit, "ns");
    EXPECT_GT(result->value.value(), 0);
    EXPECT_EQ(result->details.at("bytes").get<std::uint64_t>(),
              level.core_bytes / core::cache_line_bytes() * core::cache_line_bytes());
    EXPECT_TRUE(result->details.contains(detail::kPageSize));
    EXPECT_EQ(result->details.contains("core_cycles"), level.core_bytes <= Chase::kLinkedAnew);
  }
}

TEST(MemoryLatency, TellsTheCyclesOfTheFirstCacheByAdditionsMeasuredInTurn) {
  if (!this_machine().cache(1)) GTEST_SKIP() << "the system does not tell the caches";
  const double cycles =
      quick_run().result("memory.latency.l1").details.at("core_cycles").get<double>();
  EXPECT_GT(cycles, 1);
  EXPECT_LT(cycles, 30);
}

TEST(MemoryLatency, JoinsItsPasses) {
  const ProbeRun run = run_probe(latency_probes, "memory.latency", true, 0.02, this_machine(),
                                 static_cast<std::size_t>(-1), 2);
  EXPECT_EQ(run.record.results.front().passes.size(), 2u);
  EXPECT_EQ(run.record.views.size(), 1u);
}

TEST(Chase, ReturnsToItsStartOnCyclesOfEverySize) {
  const std::vector<std::uint64_t> sizes = {4096, Chase::kLinkedAnew, 2 * Chase::kLinkedAnew,
                                            4 * Chase::kLinkedAnew};
  Chase chase(sizes, core::MemoryOptions{});
  // Large cycles lie side by side in the same lines: linking the one must leave the other whole.
  for (std::size_t size = 0; size < sizes.size(); ++size) chase.prepare(size);
  chase.prepare(0);  // small cycles share one place: the last one asked for is there
  for (const std::size_t size : {3, 2, 0}) {
    const void* start = chase.at(size);
    const std::uint64_t lines = sizes[size] / core::cache_line_bytes();
    chase.follow(size, lines - 1);
    EXPECT_NE(chase.at(size), start) << sizes[size];
    chase.follow(size, 1);
    EXPECT_EQ(chase.at(size), start) << sizes[size];
  }
}

TEST(LoadedLatency, GoesFromNoOtherCoreToAll) {
  if (this_machine().core_count() < 2) GTEST_SKIP() << "one core";
  const ProbeRun run = run_probe(latency_probes, "memory.latency.loaded", true, 0.05);
  const auto& curves = std::get<Curves>(run.table("memory.latency.loaded").content);
  ASSERT_EQ(curves.series.size(), 2u);
  for (const Curve& curve : curves.series)
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      EXPECT_LT(curve.x[i], this_machine().core_count());
      EXPECT_GT(curve.y[i], 0);
    }
  for (const Curve& curve :
       std::get<Curves>(run.table("memory.latency.loaded.bandwidth").content).series)
    for (const double rate : curve.y) EXPECT_GT(rate, 1e6);
}

}  // namespace
}  // namespace tabane::lab
