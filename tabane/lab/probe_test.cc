#include "tabane/lab/probe.h"

#include <gtest/gtest.h>

#include <set>

#include "tabane/core/error.h"

namespace tabane::lab {
namespace {

std::vector<Probe> named(std::initializer_list<const char*> names) {
  std::vector<Probe> probes;
  for (const char* name : names) probes.push_back({.name = name});
  return probes;
}

std::vector<std::string> names_of(const std::vector<Probe>& probes) {
  std::vector<std::string> names;
  for (const Probe& probe : probes) names.push_back(probe.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(SelectProbes, TakesAllWithoutAPattern) {
  EXPECT_EQ(select_probes(named({"a", "b"}), {}).size(), 2u);
}

TEST(SelectProbes, MatchesGlobsAndEverythingBelowAPlainName) {
  const auto probes = named({"simd.dot.l1", "simd.dot.l2", "simd.sum.l1", "simdx", "clock.skew"});
  EXPECT_EQ(names_of(select_probes(probes, Names{"simd.*.l1"})),
            (Names{"simd.dot.l1", "simd.sum.l1"}));
  EXPECT_EQ(names_of(select_probes(probes, Names{"simd.dot"})),
            (Names{"simd.dot.l1", "simd.dot.l2"}));
  EXPECT_EQ(names_of(select_probes(probes, Names{"clock", "simdx"})),
            (Names{"simdx", "clock.skew"}));
}

TEST(SelectProbes, NamesTheClosestProbesForAnUnknownPattern) {
  try {
    select_probes(named({"clock.skew", "memory.latency", "simd.dot.l1"}), Names{"clock.skw"});
    FAIL() << "the pattern was accepted";
  } catch (const core::UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("are clock.skew"), std::string::npos) << error.what();
  }
}

TEST(AllProbes, HaveUniqueNamesAndSayWhatTheyMeasure) {
  for (const char* machine :
       {"pack:1 core:1 pu:1", "pack:4 numa:1 l3:1 core:4 pu:1", "pack:2 numa:2 l3:8 core:8 pu:2"}) {
    std::set<std::string> seen;
    for (const Probe& probe : all_probes(core::Topology::synthetic(machine))) {
      EXPECT_TRUE(seen.insert(probe.name).second) << probe.name;
      EXPECT_FALSE(probe.what.empty()) << probe.name;
      EXPECT_FALSE(probe.unit.empty()) << probe.name;
      EXPECT_GE(probe.version, 1) << probe.name;
      EXPECT_GT(probe.seconds.full, 0) << probe.name;
      EXPECT_LE(probe.seconds.quick, probe.seconds.full) << probe.name;
      EXPECT_NE(static_cast<bool>(probe.run), static_cast<bool>(probe.run_group)) << probe.name;
    }
    EXPECT_GT(seen.size(), 30u);
  }
}

TEST(AllProbes, StayInsideThePromisedTimes) {
  for (const char* machine : {"pack:1 core:2 pu:1", "pack:2 numa:2 l3:8 core:8 pu:2"}) {
    double quick = 0, full = 0;
    for (const Probe& probe : all_probes(core::Topology::synthetic(machine))) {
      if (probe.name.starts_with("device")) continue;  // its time is that of machines that have one
      quick += probe.seconds.quick;
      full += probe.seconds.full;
    }
    EXPECT_LE(quick, 27);  // 30 s with everything around the probes
    EXPECT_LE(full, 110);  // 2 min
  }
}

}  // namespace
}  // namespace tabane::lab
