#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tabane/core/statistics.h"
#include "tabane/device/module.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/probes/device_figures.h"
#include "tabane/lab/probes/run_probe_test.h"
#include "tabane/lab/record/has_test.h"
#include "tabane/team/fork.h"

namespace tabane::lab {
namespace {

TEST(DeviceOverlap, IsWhatTheShorterOneOfBothHides) {
  EXPECT_EQ(overlap_of(2, 2, 2), 1);  // at the same time
  EXPECT_EQ(overlap_of(2, 2, 4), 0);  // in turn
  EXPECT_EQ(overlap_of(2, 2, 3), 0.5);
  EXPECT_EQ(overlap_of(1, 4, 4), 1);    // the copy is hidden
  EXPECT_EQ(overlap_of(2, 2, 5), 0);    // in each other's way
  EXPECT_EQ(overlap_of(2, 2, 1.9), 1);  // noise
}

// One run serves all tests: it moves gigabytes.
class DeviceProbe : public testing::Test {
 protected:
  // In this process nothing of OpenCL is loaded.
  static void SetUpTestSuite() {
    try {
      run_ = run_probe(device_probes, "device", true, 0.3);
    } catch (const NotHere& reason) {
      not_here_ = reason.what();
    }
  }
  void SetUp() override {
    if (!not_here_.empty()) GTEST_SKIP() << not_here_;
  }

  static inline ProbeRun run_;
  static inline std::string not_here_;
};

TEST_F(DeviceProbe, TellsOfEachDeviceWhatTheOthersTell) {
  for (const char* name :
       {"launch", "transfer.to_device.pageable", "transfer.to_device.pinned",
        "transfer.to_device.mapped", "transfer.from_device.pageable", "transfer.from_device.pinned",
        "transfer.from_device.mapped", "memory.read", "peak.fma.single", "peak.integer"}) {
    const Result& result = run_.result(std::string("device.0.") + name);
    EXPECT_GE(result.samples.size(), 3u) << name;
    EXPECT_GT(std::ranges::min(result.samples), 0) << name;
    EXPECT_FALSE(result.details["device"].get<std::string>().empty());
  }
  EXPECT_EQ(run_.result("device.0.launch").better, Better::lower);
  const Result& overlap = run_.result("device.0.overlap");
  EXPECT_GE(std::ranges::min(overlap.samples), 0);
  EXPECT_LE(std::ranges::max(overlap.samples), 1);
}

TEST_F(DeviceProbe, DrawsBandwidthOverSize) {
  const auto& curves = std::get<Curves>(run_.table("device.memory").content);
  ASSERT_FALSE(curves.series.empty());
  EXPECT_GT(curves.series[0].x.size(), 2u);
  EXPECT_TRUE(std::ranges::is_sorted(curves.series[0].x));
  EXPECT_GT(std::ranges::min(curves.series[0].y), 0);
}

// Where device and host share memory, a copy moves each byte at least twice, reading once: what
// reads more slowly than that jumps about.
TEST_F(DeviceProbe, ReadsFasterThanItCopiesInTheSameMemory) {
  const Result& read = run_.result("device.0.memory.read");
  const std::string about = read.details["device"].get<std::string>();
  if (about.find("CPU of") == std::string::npos) GTEST_SKIP() << about << " has memory of its own";
  EXPECT_GT(std::ranges::max(read.samples),
            std::ranges::max(run_.result("device.0.transfer.to_device.pageable").samples));
}

// The figure is that of the curve's largest transfer.
TEST_F(DeviceProbe, DrawsTransfersOverSize) {
  const auto& curves = std::get<Curves>(run_.table("device.transfer_sizes").content);
  ASSERT_GE(curves.series.size(), 6u);
  for (const Curve& curve : curves.series) {
    EXPECT_GT(curve.x.size(), 2u) << curve.name;
    EXPECT_TRUE(std::ranges::is_sorted(curve.x)) << curve.name;
    EXPECT_GT(std::ranges::min(curve.y), 0) << curve.name;
    const bool to = has(curve.name, "to the device, ");
    const auto result = "device.0.transfer." + std::string(to ? "to_device." : "from_device.") +
                        curve.name.substr(curve.name.rfind(' ') + 1);
    EXPECT_EQ(curve.y.back(), core::median(run_.result(result).samples)) << curve.name;
  }
}

TEST_F(DeviceProbe, DrawsInTheFirstPassOfAQuickSurvey) {
  const ProbeRun two = run_probe(device_probes, "device", true, 0.1, this_machine(),
                                 static_cast<std::size_t>(-1), 2);
  EXPECT_EQ(two.result("device.0.memory.read").passes.size(), 2u);
  for (const char* name : {"device.memory", "device.transfer_sizes"}) {
    for (const Curve& curve : std::get<Curves>(two.table(name).content).series) {
      EXPECT_GT(curve.x.size(), 2u) << name << ", " << curve.name;
      EXPECT_TRUE(curve.low.empty()) << name << ", " << curve.name;
    }
  }
}

// In a process of its own, as drivers start threads.
TEST_F(DeviceProbe, TriesOnlyTheVectorsThatWereTheBest) {
  int status = 0;
  team::wait_for(team::fork_child([] {
                   const Json widths = {{"peak.fma.single", 4}, {"memory.read", 2}};
                   const Json found = measure_device(*device::open_device(0), 0.1, {widths, false});
                   const bool curves = found["read_bytes"].size() != 0;
                   const Json& now = found["widths"];
                   return !curves && now["peak.fma.single"] == 4 && now["memory.read"] == 2 ? 0 : 1;
                 }),
                 status);
  EXPECT_EQ(status, 0);
}

TEST(DeviceProbeStopped, EndsItsProcess) {
  EXPECT_THROW(run_probe(device_probes, "device", true, 30, this_machine(), 1), Stopped);
}

}  // namespace
}  // namespace tabane::lab
