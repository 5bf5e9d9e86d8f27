#include "tabane/tools/explain/thieves.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tabane/core/file.h"
#include "tabane/core/system_files.h"
#include "tabane/lab/campaign/campaign.h"

namespace tabane::lab::explain {
namespace {

std::size_t threads_of_this_process() {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
    ++n;
  return n;
}

double resident_bytes() {
  return core::SystemFiles().field_number("/proc/self/smaps_rollup", "Rss").value_or(0);
}

std::vector<unsigned> one_pu() { return {core::Topology::detect().pus().back().os_index}; }

TEST(Thieves, DoWhatTheyAreToAndEnd) {
  const std::size_t before = threads_of_this_process();
  const core::Descriptor folder(open(testing::TempDir().c_str(), O_RDONLY | O_DIRECTORY));
  {
    Thieves thieves(one_pu(), std::size_t{4} << 20);
    for (const Theft& theft :
         {Theft{.what = Resource::bandwidth, .amount = 0.5},
          Theft{.what = Resource::cache, .amount = 1 << 20}, Theft{.what = Resource::units},
          Theft{.what = Resource::cpu_time, .amount = 0.5},
          Theft{.what = Resource::disk, .folder = folder.get()}}) {
      thieves.begin(theft);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_GT(thieves.end(), 0) << static_cast<int>(theft.what);
    }
    thieves.begin({.what = Resource::units});  // and its owner goes
  }
  // The system forgets a thread a little after it has been joined.
  while (threads_of_this_process() != before) std::this_thread::yield();
}

TEST(Thieves, HoldTheirMemoryAndNoMoreThanTheyMay) {
  const double before = resident_bytes();
  if (before == 0) GTEST_SKIP() << "the system does not tell";
  const Thieves small(one_pu(), std::size_t{32} << 20);
  const double with_small = resident_bytes();
  EXPECT_GT(with_small - before, 31 << 20);
  const Thieves large(one_pu(), std::size_t{1} << 30);
  EXPECT_LT(resident_bytes() - with_small, double(kMostThiefBytes) + (4 << 20));
}

TEST(Thieves, TakeNoMoreProcessorTimeThanTheirShare) {
  Thieves thieves(one_pu());
  thieves.begin({.what = Resource::cpu_time, .amount = 0.2});
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const double taken = thieves.end();
  EXPECT_GT(taken, 0);
  EXPECT_LT(taken, 0.3);
}

TEST(Thieves, TellThatTheyCannot) {
  Thieves thieves(one_pu(), std::size_t{1} << 20);
  thieves.begin({.what = Resource::disk, .folder = -1});
  EXPECT_THROW(thieves.end(), std::exception);
}

TEST(Calibration, MeasuresEachTheft) {
  const core::Topology topology = core::Topology::detect();
  if (topology.core_count() < 2) GTEST_SKIP() << "there is one core";
  const std::vector<unsigned> pus = topology.pu_os_indices();
  Thieves thieves(std::vector<unsigned>{pus.front()}, kMostThiefBytes);
  double shown = 0;
  const Calibration found =
      calibrate(thieves, std::vector<unsigned>{pus.back()}, topology, 2, [&](double done) {
        EXPECT_GE(done, shown);
        shown = done;
      });
  EXPECT_EQ(shown, 1);
  // On a busy machine there may be no time.
  EXPECT_EQ(found.bandwidth.size(), found.no_memory.empty() ? 4u : 0u);
  for (double before = -1; const Leftover& each : found.bandwidth) {
    EXPECT_GT(each.amount, before);
    before = each.amount;
    EXPECT_GT(each.left, 0);
    EXPECT_EQ(each.speed > 0, each.amount > 0);
    EXPECT_EQ(each.latency.has_value(), each.amount > 0);
  }
  EXPECT_EQ(found.cache.empty(), !found.no_cache.empty());
  EXPECT_GE(found.memory_over_cache.value_or(2), 2);
  EXPECT_GT(seconds_of_a_fault(), 0);
  if (found.sharing) found.sharing->wait(0, [] {});
  thieves.begin({.what = Resource::units});  // it has left them idle
  EXPECT_GT(thieves.end(), 0);
}

TEST(Sharing, IsAskedForNoLongerThanTheUserWants) {
  Thieves thieves(one_pu(), std::size_t{8} << 20);
  EXPECT_THROW(Sharing(thieves, one_pu()).wait(1e9, [] { throw Stopped(); }), Stopped);
}

TEST(Calibration, SaysWhatThereWasNoTimeFor) {
  const std::vector<unsigned> pus = core::Topology::detect().pu_os_indices();
  Thieves thieves(std::vector<unsigned>{pus.front()}, std::size_t{8} << 20);
  const Calibration found = calibrate(thieves, std::vector<unsigned>{pus.back()},
                                      core::Topology::detect(), 0, [](double) {});
  EXPECT_TRUE(found.bandwidth.empty());
  EXPECT_TRUE(found.cache.empty());
  EXPECT_EQ(found.no_memory, "there was no time to calibrate it");
  EXPECT_EQ(found.no_cache, found.no_memory);
}

}  // namespace
}  // namespace tabane::lab::explain
