#include "tabane/core/topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include "tabane/core/binding.h"
#include "tabane/core/error.h"
#include "tabane/core/system_files.h"

namespace tabane::core {
namespace {

class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value, 1);
  }
  ~ScopedVariable() {
    if (old_) {
      setenv(name_, old_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

std::string message_of_detect() {
  try {
    Topology::detect();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Topology, HasThePartsOfASyntheticMachine) {
  const auto machine = Topology::synthetic("pack:2 numa:2 l3:1 core:4 pu:2");
  EXPECT_FALSE(machine.is_this_machine());
  EXPECT_EQ(machine.pus().size(), 32u);
  EXPECT_EQ(machine.machine_pu_count(), 32u);
  EXPECT_EQ(machine.core_count(), 16u);
  EXPECT_EQ(machine.package_count(), 2u);
  EXPECT_EQ(machine.numa_nodes().size(), 4u);
  EXPECT_EQ(machine.restriction(), "");
  EXPECT_EQ(machine.summary(), "2 packages x 8 cores x 2 PUs, 4 NUMA nodes");

  const Pu& last = machine.pus().back();
  EXPECT_EQ(last.logical_index, 31u);
  EXPECT_EQ(last.core, 15u);
  EXPECT_EQ(last.smt, 1u);
  EXPECT_EQ(last.package, 1u);
  EXPECT_EQ(last.numa_node, 3u);
  EXPECT_EQ(last.last_level_cache, 3u);
}

TEST(Topology, CountsCacheInstancesAndTheirSharers) {
  const auto machine = Topology::synthetic("pack:2 l3:2(size=8MB) l2:2(size=1MB) core:2 pu:2");
  const auto l3 = machine.cache(3);
  ASSERT_TRUE(l3);
  EXPECT_EQ(l3->instances, 4u);
  EXPECT_EQ(l3->pus_sharing, 8u);
  EXPECT_GE(l3->bytes, 8'000'000u);
  ASSERT_TRUE(machine.cache(2));
  EXPECT_EQ(machine.cache(2)->instances, 8u);
  EXPECT_EQ(machine.cache(2)->pus_sharing, 4u);
  ASSERT_EQ(machine.cache(2)->pus.size(), 8u);
  EXPECT_EQ(machine.cache(2)->pus[7], (std::vector<unsigned>{28, 29, 30, 31}));
  EXPECT_FALSE(machine.cache(4));
  EXPECT_EQ(machine.caches().front().level, 2);
}

TEST(Topology, WithoutNumaIsOneNodeThatHoldsAllPus) {
  const auto machine = Topology::synthetic("core:3 pu:1");
  ASSERT_EQ(machine.numa_nodes().size(), 1u);
  EXPECT_EQ(machine.numa_nodes().front().pus, (std::vector<unsigned>{0, 1, 2}));
  EXPECT_EQ(machine.package_count(), 1u);
}

TEST(Topology, OfOnePuIsComplete) {
  const auto machine = Topology::synthetic("pu:1");
  ASSERT_EQ(machine.pus().size(), 1u);
  EXPECT_EQ(machine.core_count(), 1u);
  EXPECT_EQ(machine.summary(), "1 package x 1 core x 1 PU, 1 NUMA node");
  EXPECT_NE(machine.find_pu(0), nullptr);
  EXPECT_EQ(machine.find_pu(1), nullptr);
  EXPECT_NE(machine.find_numa_node(0), nullptr);
  EXPECT_EQ(machine.find_numa_node(1), nullptr);
}

TEST(Topology, HoldsMoreThan1024Pus) {
  const auto machine = Topology::synthetic("pack:16 core:64 pu:2");
  EXPECT_EQ(machine.pus().size(), 2048u);
  ASSERT_NE(machine.find_pu(2047), nullptr);
  EXPECT_EQ(machine.find_pu(2047)->package, 15u);
}

TEST(Topology, KeepsNodesThatHaveMemoryOnly) {
  const auto machine = Topology::synthetic("[numa(memory=1GB)] pack:2 [numa] core:2 pu:1");
  ASSERT_EQ(machine.numa_nodes().size(), 3u);
  std::size_t memory_only = 0;
  std::size_t pus = 0;
  for (const NumaNode& node : machine.numa_nodes()) {
    memory_only += node.pus.empty();
    pus += node.pus.size();
  }
  EXPECT_EQ(memory_only, 1u);
  EXPECT_EQ(pus, 4u);
}

TEST(Topology, FindsAPuByItsOsIndexWhenTheNumberingIsInterleaved) {
  const auto machine = Topology::synthetic("pack:2 core:2 pu:2(indexes=core:pack)");
  std::set<unsigned> seen;
  for (const Pu& pu : machine.pus()) {
    EXPECT_EQ(machine.find_pu(pu.os_index), &pu);
    seen.insert(pu.os_index);
  }
  EXPECT_EQ(seen.size(), 8u);
  EXPECT_NE(machine.pus()[1].os_index, 1u);
}

TEST(Topology, RefusesABadDescription) {
  for (const char* bad : {"", "nonsense", "pack:0", "pack:2 core"}) {
    EXPECT_THROW(Topology::synthetic(bad), UsageError) << '"' << bad << '"';
  }
}

TEST(Topology, FollowsTheSyntheticVariableAndNamesItWhenBad) {
  {
    const ScopedVariable variable("HWLOC_SYNTHETIC", "pack:4 numa:1 core:4 pu:1");
    const auto machine = Topology::detect();
    EXPECT_FALSE(machine.is_this_machine());
    EXPECT_EQ(machine.pus().size(), 16u);
  }
  const ScopedVariable variable("HWLOC_SYNTHETIC", "pack:no");
  EXPECT_NE(message_of_detect().find("HWLOC_SYNTHETIC"), std::string::npos);
  EXPECT_EQ(Topology::synthetic("core:2 pu:1").pus().size(), 2u);
}

TEST(Topology, NamesTheXmlVariableWhenItsFileIsBad) {
  const ScopedVariable missing("HWLOC_XMLFILE", "/nonexistent/machine.xml");
  EXPECT_NE(message_of_detect().find("HWLOC_XMLFILE"), std::string::npos);
  const std::string path = testing::TempDir() + "tabane_topology_test.xml";
  std::ofstream(path) << "this is not a machine\n";
  const ScopedVariable broken("HWLOC_XMLFILE", path.c_str());
  EXPECT_NE(message_of_detect().find("HWLOC_XMLFILE"), std::string::npos);
}

class RealMachine : public testing::Test {
 protected:
  RealMachine() : xml_("HWLOC_XMLFILE", ""), synthetic_("HWLOC_SYNTHETIC", "") {}
  ScopedVariable xml_;
  ScopedVariable synthetic_;
};

TEST_F(RealMachine, HasThePusThatTheThreadMayRunOn) {
  const auto machine = Topology::detect();
  EXPECT_TRUE(machine.is_this_machine());
  auto pus = machine.pu_os_indices();
  std::sort(pus.begin(), pus.end());
  EXPECT_EQ(pus, thread_binding());
  EXPECT_EQ(machine.restriction().empty(), machine.pus().size() == machine.machine_pu_count());
}

// Every command that `tabane run` starts waits for this.
TEST_F(RealMachine, IsReadWithoutPluginsAndWithoutAVisitToEveryPu) {
  const SystemFiles files;
  if (!files.exists("/sys/devices/system/cpu/cpu0/topology/core_id") ||
      !files.exists("/sys/devices/system/cpu/cpu0/cache/index0/size"))
    GTEST_SKIP() << "the kernel does not tell caches and cores";
  const ScopedVariable verbose("HWLOC_COMPONENTS_VERBOSE", "1");
  testing::internal::CaptureStderr();
  Topology::detect();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("Enabling discovery component `linux'"), std::string::npos) << said;
  EXPECT_EQ(said.find("Enabling discovery component `x86'"), std::string::npos) << said;
  EXPECT_EQ(said.find("from plugin"), std::string::npos) << said;
  EXPECT_EQ(std::getenv("HWLOC_PLUGINS_PATH"), nullptr);
}

TEST_F(RealMachine, IsConsistent) {
  const auto machine = Topology::detect();
  std::set<unsigned> cores;
  std::size_t on_nodes = 0;
  for (std::size_t i = 0; i < machine.pus().size(); ++i) {
    const Pu& pu = machine.pus()[i];
    EXPECT_EQ(pu.logical_index, i);
    EXPECT_NE(machine.find_numa_node(pu.numa_node), nullptr);
    EXPECT_LT(pu.package, machine.package_count());
    cores.insert(pu.core);
  }
  for (const NumaNode& node : machine.numa_nodes()) on_nodes += node.pus.size();
  EXPECT_EQ(cores.size(), machine.core_count());
  EXPECT_EQ(*cores.rbegin() + 1, machine.core_count());
  EXPECT_EQ(on_nodes, machine.pus().size());
}

TEST_F(RealMachine, ShrinksToTheAffinityMaskAndSaysSo) {
  const auto whole = Topology::detect();
  const unsigned pu = whole.pus().back().os_index;
  const ScopedBinding binding(pu);
  const auto machine = Topology::detect();
  ASSERT_EQ(machine.pus().size(), 1u);
  EXPECT_EQ(machine.pus().front().os_index, pu);
  EXPECT_EQ(machine.pus().front().core, 0u);
  EXPECT_EQ(machine.machine_pu_count(), whole.machine_pu_count());
  if (whole.pus().size() > 1) {
    EXPECT_NE(machine.restriction().find("affinity mask"), std::string::npos);
  }
}

}  // namespace
}  // namespace tabane::core
