#include "tabane/core/counters.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <thread>

#include "tabane/core/fake_counter_test.h"
#include "tabane/core/fake_machine_test.h"

namespace tabane::core {
namespace {

const SystemFiles kNoFiles("/nowhere");

using Named = std::vector<std::pair<std::string, double>>;
Named named(const Counts& counts) { return {counts.begin(), counts.end()}; }

TEST(Counters, AreAbsentWithoutAWordWhereTheSystemHasNone) {
  Counters none(
      Counted::thread, [](const CounterEvent&, Counted) { return -1; }, kNoFiles);
  EXPECT_TRUE(none.names().empty());
  none.start();
  EXPECT_TRUE(none.stop().empty());
}

// Cycles had their place for a quarter of the time, cache misses never.
TEST(Counters, GiveWhatWasCountedSinceTheStart) {
  Counters counters(
      Counted::thread,
      [](const CounterEvent& event, Counted) {
        const std::string name = event.name;
        if (name == events::kInstructions) return counter_of({1000, 10, 10});
        if (name == events::kCycles) return counter_of({100, 40, 10});
        if (name == events::kCacheMisses) return counter_of({0, 40, 0});
        return -1;
      },
      kNoFiles);
  EXPECT_EQ(counters.names(), (std::vector<std::string>{"instructions", "cycles", "cache_misses"}));
  counters.start();
  EXPECT_EQ(named(counters.stop()), (Named{{events::kInstructions, 1000}, {events::kCycles, 400}}));
}

// One package begins again at 0 after 1000 J.
TEST(Counters, AddUpTheEnergyOfPackagesAndOfNoPartOfThem) {
  FakeMachine machine;
  const auto package = [&](const std::string& folder, const char* name, const char* energy) {
    const std::string path = "/sys/class/powercap/" + folder;
    machine.file(path + "/name", name).file(path + "/energy_uj", energy);
    machine.file(path + "/max_energy_range_uj", "1000000000\n");
  };
  package("intel-rapl:0", "package-0\n", "5000000\n");
  package("intel-rapl:1", "package-1\n", "999000000\n");
  package("intel-rapl:0:0", "core\n", "0\n");
  package("intel-rapl-mmio:0", "package-0\n", "0\n");
  Counters counters(
      Counted::thread, [](const CounterEvent&, Counted) { return -1; },
      SystemFiles(machine.root()));
  EXPECT_EQ(counters.names(), std::vector<std::string>{"energy_j"});
  bool too_short = false;  // unless this thread has to wait in between
  for (int i = 0; i < 100 && !too_short; ++i) {
    counters.start();
    too_short = counters.stop().empty();
  }
  EXPECT_TRUE(too_short);
  counters.start();
  package("intel-rapl:0", "package-0\n", "7500000\n");
  package("intel-rapl:1", "package-1\n", "2000000\n");
  package("intel-rapl:0:0", "core\n", "9000000\n");
  package("intel-rapl-mmio:0", "package-0\n", "2500000\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(11));
  EXPECT_EQ(named(counters.stop()), (Named{{events::kEnergy, 5.5}}));
}

// A counter that every Linux has, in the place of the processor's.
TEST(Counters, OfAThreadCountWhatItDoes) {
  Counters counters(
      Counted::thread,
      [](const CounterEvent& event, Counted what) {
        return open_counter({event.name, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK}, what);
      },
      kNoFiles);
  if (counters.names().empty()) GTEST_SKIP() << "this system forbids counters";
  counters.start();
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(1)) {
  }
  const Counts counts = counters.stop();
  ASSERT_EQ(counts.size(), 4u);
  EXPECT_GT(counts[0].second, 0);
}

}  // namespace
}  // namespace tabane::core
