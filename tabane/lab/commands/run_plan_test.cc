#include "tabane/lab/commands/run_plan.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "tabane/core/error.h"
#include "tabane/core/fake_machine_test.h"
#include "tabane/core/temporary_file.h"

namespace tabane::program {
namespace {

Lookup variables(std::map<std::string, std::string> set) {
  return [set](const std::string& name) -> std::optional<std::string> {
    const auto found = set.find(name);
    if (found == set.end()) return std::nullopt;
    return found->second;
  };
}

class LibraryDirectory : public testing::Test {
 protected:
  const core::ScratchFolder folder_{"tabane-test"};
  const std::string path_ = folder_.path();
};

TEST_F(LibraryDirectory, GivesTheLibraryOfTheSameKindAsThisProgram) {
  std::filesystem::copy_file("/proc/self/exe", path_ + "/libjemalloc.so.2");
  EXPECT_EQ(find_allocator("jemalloc", {"/nonexistent", path_}), path_ + "/libjemalloc.so.2");
}

TEST_F(LibraryDirectory, SkipsWhatIsNotALibraryAndNamesThePackage) {
  std::ofstream(path_ + "/libmimalloc.so.2") << "INPUT(libmimalloc.so.2.0) and more text";
  try {
    find_allocator("mimalloc", {path_});
    FAIL();
  } catch (const core::UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("libmimalloc2.0"), std::string::npos);
  }
}

TEST(FindAllocator, NeedsNoLibraryForGlibcAndRefusesUnknownNames) {
  EXPECT_EQ(find_allocator("glibc", {}), "");
  EXPECT_THROW(find_allocator("hoard", {}), core::UsageError);
  EXPECT_THROW(find_allocator("tcmalloc", {}), core::UsageError);
}

TEST(LibraryDirectories, StartWithTheUsersOwn) {
  const auto directories = library_directories(variables({{"LD_LIBRARY_PATH", "/a::/b"}}));
  ASSERT_GE(directories.size(), 3u);
  EXPECT_EQ(directories[0], "/a");
  EXPECT_EQ(directories[1], "/b");
  EXPECT_EQ(directories.back(), "/lib");
}

TEST(HugePageSwitch, IsAddedToWhatTheUserHasSet) {
  EXPECT_EQ(huge_page_switch("", variables({}))->value, "glibc.malloc.hugetlb=1");
  const auto tunables =
      huge_page_switch("glibc", variables({{"GLIBC_TUNABLES", "glibc.malloc.check=1"}}));
  EXPECT_EQ(tunables->name, "GLIBC_TUNABLES");
  EXPECT_EQ(tunables->value, "glibc.malloc.check=1:glibc.malloc.hugetlb=1");
  EXPECT_FALSE(tunables->kept);
  EXPECT_EQ(huge_page_switch("jemalloc", variables({{"MALLOC_CONF", "narenas:2"}}))->value,
            "narenas:2,thp:always");
}

TEST(HugePageSwitch, LeavesTheUsersOwnChoice) {
  for (const auto& [allocator, name, value] :
       {std::tuple{"glibc", "GLIBC_TUNABLES", "glibc.malloc.hugetlb=2"},
        {"jemalloc", "MALLOC_CONF", "thp:never"},
        {"mimalloc", "MIMALLOC_LARGE_OS_PAGES", "0"}}) {
    const auto assignment = huge_page_switch(allocator, variables({{name, value}}));
    ASSERT_TRUE(assignment);
    EXPECT_TRUE(assignment->kept);
    EXPECT_EQ(assignment->value, value);
  }
}

TEST(HugePageSwitch, IsMissingWhereTheAllocatorHasNone) {
  EXPECT_FALSE(huge_page_switch("tcmalloc", variables({})));
}

using List = std::vector<unsigned>;
using Variables = std::map<std::string, std::string>;

constexpr const char* kFourNodes = "pack:4 numa:1 core:4 pu:1";

RunPlan plan(const RunRequest& request, const Variables& set = {}, bool granted = true,
             const char* machine = kFourNodes) {
  const Lookup lookup = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = set.find(name);
    if (found == set.end()) return std::nullopt;
    return found->second;
  };
  return plan_run(request, core::Topology::synthetic(machine), lookup, granted);
}

Variables assigned(const RunPlan& made) {
  Variables result;
  for (const Assignment& variable : made.environment) {
    if (!variable.kept) result[variable.name] = variable.value;
  }
  return result;
}

std::string refusal(const RunRequest& request) {
  try {
    plan(request);
  } catch (const core::UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(RunPlan, UsesEveryPuOnceByDefault) {
  const RunPlan made = plan({}, {}, true, "pack:2 core:2 pu:1");
  EXPECT_EQ(made.cpus, (List{0, 1, 2, 3}));
  EXPECT_EQ(assigned(made), (Variables{{"OMP_NUM_THREADS", "4"},
                                       {"OMP_PLACES", "{0},{1},{2},{3}"},
                                       {"OMP_PROC_BIND", "close"},
                                       {"OPENBLAS_NUM_THREADS", "4"},
                                       {"MKL_NUM_THREADS", "4"},
                                       {"BLIS_NUM_THREADS", "4"}}));
  EXPECT_FALSE(made.memory);
  EXPECT_TRUE(made.warnings.empty());
}

TEST(RunPlan, KeepsTheOrderOfTheListAndBindsTheProcessToAllOfIt) {
  const RunPlan made = plan({.cpus = "6,2,9", .threads = 2});
  EXPECT_EQ(assigned(made)["OMP_PLACES"], "{6},{2}");
  EXPECT_EQ(made.cpus, (List{6, 2, 9}));
}

TEST(RunPlan, PutsTheListInTheOrderOfThePolicyThatWasAskedFor) {
  EXPECT_EQ(assigned(plan({.cpus = "0-1,4-5", .placement = "scatter"}))["OMP_PLACES"],
            "{0},{4},{1},{5}");
  EXPECT_EQ(assigned(plan({.placement = "scatter", .threads = 5}))["OMP_PLACES"],
            "{0},{4},{8},{12},{1}");
}

// Cores 0 to 3 have the PUs 0 to 7, two each.
TEST(RunPlan, PutsOneThreadOnEachCoreBeforeItDoublesAny) {
  const char* machine = "pack:1 numa:1 core:4 pu:2";
  for (const char* placement : {"compact", "scatter", "numa"}) {
    RunPlan made = plan({.placement = placement, .threads = 4}, {}, true, machine);
    EXPECT_EQ(made.placement.pus_of_process(0), (List{0, 2, 4, 6})) << placement;
    EXPECT_TRUE(made.warnings.empty());
    made = plan({.cpus = "0-5", .placement = placement, .threads = 3}, {}, true, machine);
    EXPECT_EQ(made.placement.pus_of_process(0), (List{0, 2, 4})) << placement;
  }
  EXPECT_EQ(assigned(plan({.cpus = "5,4,0", .threads = 2}, {}, true, machine))["OMP_PLACES"],
            "{5},{0}");
  const RunPlan doubled = plan({.threads = 5}, {}, true, machine);
  EXPECT_EQ(assigned(doubled)["OMP_PLACES"], "{0},{2},{4},{6},{1}");
  ASSERT_EQ(doubled.warnings.size(), 1u);
  EXPECT_EQ(doubled.warnings[0], "5 threads share 4 cores (SMT); use -t 4 for one on each");
  EXPECT_EQ(plan({}, {}, true, machine).placement.places[1].pus, (List{1}));
}

TEST(RunPlan, WithoutPlacementBindsTheProcessOnly) {
  const RunPlan made = plan({.cpus = "3-4", .placement = "none"});
  EXPECT_EQ(made.cpus, (List{3, 4}));
  EXPECT_EQ(assigned(made).count("OMP_PLACES"), 0u);
  EXPECT_EQ(assigned(made)["OMP_NUM_THREADS"], "2");
  EXPECT_TRUE(plan({.placement = "none"}).cpus.empty());
}

TEST(RunPlan, KeepsWhatTheUserHasSet) {
  const RunPlan made = plan({}, {{"OMP_NUM_THREADS", "3,2"}, {"OMP_PLACES", "cores"}});
  const Variables set = assigned(made);
  EXPECT_EQ(set.count("OMP_NUM_THREADS"), 0u);
  EXPECT_EQ(set.count("OMP_PLACES"), 0u);
  EXPECT_EQ(set.at("OPENBLAS_NUM_THREADS"), "3");
  EXPECT_EQ(made.placement.workers_per_process, 3);
}

TEST(RunPlan, WarnsWhenThreadsDoNotReachOpenMp) {
  EXPECT_EQ(plan({.threads = 2}, {{"OMP_NUM_THREADS", "3"}}).warnings.size(), 1u);
  EXPECT_TRUE(plan({.threads = 3}, {{"OMP_NUM_THREADS", "3"}}).warnings.empty());
}

TEST(RunPlan, WarnsOfMoreThreadsThanCpusAndNamesEachPlaceOnce) {
  const RunPlan made = plan({.cpus = "0-1", .threads = 3});
  ASSERT_EQ(made.warnings.size(), 1u);
  EXPECT_NE(made.warnings.front().find("3 threads on 2 CPUs"), std::string::npos);
  EXPECT_EQ(assigned(made)["OMP_PLACES"], "{0},{1}");
}

TEST(RunPlan, RefusesCpusAndNodesThatAreNotUsableAndNamesThoseThatAre) {
  EXPECT_NE(refusal({.cpus = "16"}).find("0-15"), std::string::npos);
  EXPECT_NE(refusal({.membind = "4"}).find("0-3"), std::string::npos);
  EXPECT_NE(refusal({.interleave = "0,9"}).find("node 9"), std::string::npos);
  EXPECT_NE(refusal({.cpus = "x"}).find("-c/--cpus"), std::string::npos);
}

TEST(RunPlan, RefusesRequestsThatMeanNothing) {
  EXPECT_NE(refusal({.threads = 0}), "");
  EXPECT_NE(refusal({.threads = -1}), "");
  EXPECT_NE(refusal({.placement = "near"}), "");
  EXPECT_NE(refusal({.membind = "0", .localalloc = true}), "");
  EXPECT_NE(refusal({.allocator = "hoard"}), "");
}

TEST(RunPlan, ReadsTheMemoryPolicies) {
  EXPECT_EQ(plan({.membind = "1,3"}).memory->nodes, (List{1, 3}));
  EXPECT_EQ(plan({.membind = "1"}).memory->policy, core::MemoryPolicy::bind);
  EXPECT_EQ(plan({.interleave = "all"}).memory->nodes, (List{0, 1, 2, 3}));
  EXPECT_EQ(plan({.localalloc = true}).memory->policy, core::MemoryPolicy::first_touch);
  EXPECT_EQ(plan({.preferred = "1,3"}).memory->policy, core::MemoryPolicy::preferred);
  EXPECT_EQ(plan({.preferred = "1,3"}).memory->nodes, (List{1, 3}));
  EXPECT_NE(refusal({.preferred = "4"}).find("--preferred 4"), std::string::npos);
  EXPECT_NE(refusal({.membind = "1", .preferred = "1"}), "");
}

TEST(HardwareText, HasMemoryAndDistancesOfEachNode) {
  core::FakeMachine machine;
  const std::string nodes = "/sys/devices/system/node";
  machine.file(nodes + "/online", "0-1\n")
      .file(nodes + "/node0/meminfo", "Node 0 MemTotal: 4096 kB\nNode 0 MemFree: 2048 kB\n")
      .file(nodes + "/node0/distance", "10 21\n")
      .file(nodes + "/node1/meminfo", "Node 1 MemTotal: 4096 kB\nNode 1 MemFree: 1024 kB\n")
      .file(nodes + "/node1/distance", "22 10\n");
  const auto topology = core::Topology::synthetic("numa:2(memory=4194304) core:2 pu:1");
  EXPECT_EQ(hardware_text(topology, core::SystemFiles(machine.root())),
            "available: 2 nodes (0-1)\n"
            "node 0 cpus: 0-1\nnode 0 size: 4 MiB\nnode 0 free: 2 MiB\n"
            "node 1 cpus: 2-3\nnode 1 size: 4 MiB\nnode 1 free: 1 MiB\n"
            "node distances:\nnode    0   1\n  0:   10  21\n  1:   22  10\n");
  const std::string unknown = hardware_text(topology, core::SystemFiles("/nonexistent"));
  EXPECT_NE(unknown.find("node 1 free: not known\nnode distances: not known\n"), std::string::npos)
      << unknown;
}

TEST(RunPlan, SaysWhenHugePagesCannotBeHad) {
  EXPECT_TRUE(plan({.huge_pages = true}).warnings.empty());
  EXPECT_EQ(plan({.huge_pages = true}, {}, false).warnings.size(), 1u);
}

TEST(RunPlan, OfAPartHasItsShareOfTheMachine) {
  const RunPlan made = plan({.placement = "numa", .process = 1, .processes = 4});
  EXPECT_EQ(made.cpus, (List{4, 5, 6, 7}));
  EXPECT_EQ(assigned(made)["OMP_NUM_THREADS"], "4");
  EXPECT_EQ(plan({.threads = 2, .process = 3, .processes = 4}).cpus, (List{6, 7}));
  EXPECT_EQ(plan({.cpus = "8-11", .process = 1, .processes = 2}).cpus, (List{10, 11}));
  EXPECT_NE(refusal({.process = 4, .processes = 4}).find("--part"), std::string::npos);
}

TEST(RunPlan, ReplacesVariablesOfTheUserOnlyIfForced) {
  const Variables set = {{"OMP_NUM_THREADS", "3"}, {"RAYON_NUM_THREADS", "3"}};
  EXPECT_EQ(assigned(plan({.threads = 2}, set)).count("RAYON_NUM_THREADS"), 0u);
  Variables forced = assigned(plan({.threads = 2, .force_environment = true}, set));
  EXPECT_EQ(forced["OMP_NUM_THREADS"], "2");
  EXPECT_EQ(forced["RAYON_NUM_THREADS"], "2");
}

TEST(RunPlan, LeavesTheNumberOfThreadsToTheCommandIfAsked) {
  const Variables set = assigned(plan({.placement = "compact", .own_threads = true}));
  EXPECT_EQ(set.count("OMP_NUM_THREADS"), 0u);
  EXPECT_EQ(set.count("OPENBLAS_NUM_THREADS"), 0u);
  EXPECT_EQ(set.count("OMP_PLACES"), 1u);
  EXPECT_NE(refusal({.threads = 2, .own_threads = true}), "");
}

TEST(Part, IsReadFromTextAndFromLaunchers) {
  const auto of = [](const std::string& text, const Variables& set) {
    RunRequest request;
    parse_part(
        text,
        [&](const std::string& name) -> std::optional<std::string> {
          const auto found = set.find(name);
          return found == set.end() ? std::nullopt : std::optional(found->second);
        },
        request);
    return std::pair(request.process, request.processes);
  };
  EXPECT_EQ(of("2/6", {}), std::pair(2, 6));
  EXPECT_EQ(
      of("launcher", {{"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}}),
      std::pair(1, 4));
  EXPECT_EQ(of("launcher", {{"SLURM_LOCALID", "3"}, {"SLURM_TASKS_PER_NODE", "8(x2)"}}),
            std::pair(3, 8));
  for (const char* bad : {"", "1", "/", "a/b", "1/2x", "launcher"})
    EXPECT_THROW(of(bad, {}), core::UsageError) << bad;
}

TEST(DescribeRunPlan, ShowsEveryWorkerMemoryAndEnvironment) {
  const std::string text =
      describe(plan({.cpus = "5", .membind = "1"}, {{"OMP_PROC_BIND", "false"}}),
               core::Topology::synthetic(kFourNodes));
  for (const char* part : {"worker 0 -> PU 5, core 5, node 1", "only on NUMA nodes 1",
                           "set: OMP_NUM_THREADS=1", "kept: OMP_PROC_BIND=false"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
}

TEST(DescribeRunPlan, OfManyWorkersHasOneLineForEachNode) {
  const char* machine = "pack:8 numa:1 core:32 pu:2";
  const std::string text =
      describe(plan({}, {}, true, machine), core::Topology::synthetic(machine));
  EXPECT_NE(text.find("workers 448-511 -> PUs 448-511, node 7"), std::string::npos) << text;
}

}  // namespace
}  // namespace tabane::program
