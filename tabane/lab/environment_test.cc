#include "tabane/lab/environment.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "tabane/core/fake_machine_test.h"
#include "tabane/lab/record_head.h"

namespace tabane::lab {
namespace {

// Sets a variable for one test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value, 1);
  }
  ~Variable() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

void recorded_server(core::FakeMachine& machine) {
  const std::string cpu = "/sys/devices/system/cpu";
  machine
      .file("/proc/cpuinfo",
            "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\n"
            "model name\t: Some Xeon\nstepping\t: 6\nmicrocode\t: 0xd0003a5\ncpu MHz\t\t: 1000.5\n"
            "flags\t\t: fpu sse2 avx2 avx512f fma nonstop_tsc whatever\n\nprocessor\t: 1\n"
            "cpu MHz\t\t: 2500.0\n")
      .file("/proc/meminfo",
            "MemTotal: 1000 kB\nMemAvailable: 600 kB\nHugePages_Total: 8\nSwapTotal: 300 kB\n"
            "SwapFree: 100 kB\n")
      .file("/proc/loadavg", "1.75 0.50 0.25 3/456 7890\n")
      .file("/proc/stat", "cpu  60 0 20 10 0 0 0 10 5 5\ncpu0 1 2 3\n")
      .file("/proc/cmdline", "root=/dev/secret isolcpus=2-3 mitigations=off quiet\n")
      .file("/proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-1\nMems_allowed_list:\t0\n")
      .file("/proc/self/cgroup", "0::/\n")
      .file("/proc/sys/kernel/numa_balancing", "1\n")
      .file("/proc/sys/kernel/randomize_va_space", "2\n")
      .file("/sys/fs/cgroup/cpu.max", "max 100000\n")
      .file("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n")
      .file("/sys/devices/system/clocksource/clocksource0/available_clocksource", "hpet acpi_pm \n")
      .file("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n")
      .file("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n")
      .file("/sys/class/dmi/id/board_name", "X12\n")
      .file("/sys/class/net/eth1/device/uevent", "DRIVER=igb\nPCI_CLASS=20000\nPCI_ID=8086:1533\n")
      .file("/sys/class/net/eth1/mtu", "1500\n")
      .file("/sys/class/net/eth1/speed", "1000\n")
      .file("/sys/class/net/lo/mtu", "65536\n")
      .file("/sys/class/hwmon/hwmon1/name", "coretemp\n")
      .file("/sys/class/hwmon/hwmon1/temp1_input", "45000\n")
      .file("/sys/class/hwmon/hwmon1/temp2_input", "51500\n")
      .file("/sys/class/hwmon/hwmon2/name", "nvme\n")
      .file("/sys/class/hwmon/hwmon2/temp1_input", "99000\n")
      .file(cpu + "/smt/control", "on\n")
      .file(cpu + "/smt/active", "1\n")
      .file(cpu + "/isolated", "\n")
      .file(cpu + "/intel_pstate/no_turbo", "1\n")
      .file(cpu + "/vulnerabilities/meltdown", "Not affected\n")
      .file(cpu + "/vulnerabilities/mds", "Vulnerable\n")
      .file(cpu + "/cpu0/cpufreq/scaling_governor", "powersave\n")
      .file(cpu + "/cpu0/cpufreq/cpuinfo_max_freq", "3500000\n")
      .file(cpu + "/cpu0/thermal_throttle/core_throttle_count", "2\n")
      .file(cpu + "/cpu1/thermal_throttle/core_throttle_count", "3\n");
}

TEST(Environment, ReadsARecordedServer) {
  core::FakeMachine machine;
  recorded_server(machine);
  const Json environment = read_environment(machine.root()).described;
  const Json& processor = environment.at("processor");
  EXPECT_EQ(processor.at("model"), "Some Xeon");
  EXPECT_EQ(processor.at("model number"), "106");
  EXPECT_EQ(processor.at("microcode"), "0xd0003a5");
  EXPECT_EQ(processor.at("instruction sets"), "sse2 avx2 avx512f fma nonstop_tsc");
  EXPECT_EQ(processor.at("governor"), "powersave");
  EXPECT_EQ(processor.at("maximum MHz"), 3500);
  EXPECT_EQ(processor.at("lowest MHz at start"), 1000.5);
  EXPECT_EQ(processor.at("highest MHz at start"), 2500);
  EXPECT_EQ(processor.at("boost"), false);
  EXPECT_EQ(processor.at("SMT active"), true);
  EXPECT_EQ(processor.at("mitigations"), "mds: Vulnerable");
  const Json& memory = environment.at("memory");
  EXPECT_EQ(memory.at("total bytes"), 1024000);
  EXPECT_EQ(memory.at("transparent huge pages"), "never");
  EXPECT_EQ(memory.at("reserved huge pages"), 8);
  EXPECT_EQ(memory.at("swap used bytes"), 204800);
  EXPECT_EQ(memory.at("NUMA balancing"), 1);
  const Json& kernel = environment.at("kernel");
  EXPECT_EQ(kernel.at("isolated CPUs"), "none");
  EXPECT_EQ(kernel.at("address randomisation"), 2);
  EXPECT_EQ(kernel.at("clock source"), "hpet");
  EXPECT_EQ(kernel.at("clock sources"), "hpet acpi_pm");
  const Json& system = environment.at("system");
  EXPECT_EQ(system.at("virtual machine"), false);
  EXPECT_EQ(system.at("load average at start"), 1.75);
  EXPECT_EQ(system.at("running at start"), 3);
  EXPECT_DOUBLE_EQ(system.at("steal share since boot").get<double>(), 0.1);
  EXPECT_EQ(system.at("processor temperature °C"), 51.5);
  EXPECT_EQ(system.at("thermal throttles since boot"), 5);
  EXPECT_EQ(system.at("board"), "X12");
  EXPECT_EQ(environment.at("network").at("eth1"),
            "driver igb, PCI 8086:1533, MTU 1500, 1000 Mbit/s");
  EXPECT_EQ(environment.at("network").at("lo"), "MTU 65536");  // no controller
  EXPECT_EQ(environment.at("process").at("affinity"), "0-1");
  EXPECT_EQ(environment.at("process").at("cgroup CPU quota"), "none");
  EXPECT_FALSE(read_environment(machine.root()).cpu_quota);
}

TEST(Environment, IsNullAndNotZeroWhereNothingCanBeRead) {
  const core::FakeMachine machine;
  const Json environment = read_environment(machine.root()).described;
  for (const auto& [group, names] :
       {std::pair<std::string, std::vector<std::string>>{
            "processor",
            {"model", "microcode", "governor", "maximum MHz", "boost", "SMT active", "mitigations",
             "instruction sets", "lowest MHz at start", "idle states"}},
        {"memory",
         {"total bytes", "transparent huge pages", "huge page bytes", "NUMA balancing",
          "swap used bytes", "overcommit"}},
        {"kernel", {"release", "parameters", "isolated CPUs", "tickless CPUs"}},
        {"process", {"affinity", "cgroup CPU quota", "cgroup throttled periods", "cgroup CPUs"}},
        {"system",
         {"virtual machine", "load average at start", "running at start", "steal share since boot",
          "processor temperature °C", "thermal throttles since boot"}}}) {
    for (const std::string& name : names) {
      EXPECT_TRUE(environment.at(group).at(name).is_null()) << group << " / " << name;
    }
  }
}

TEST(Environment, IsGroupsOfTextNumberBooleanOrNull) {
  const Json environment = read_environment().described;
  EXPECT_GE(environment.size(), 8U);
  for (const auto& [group, entries] : environment.items()) {
    ASSERT_TRUE(entries.is_object()) << group;
    for (const auto& [name, value] : entries.items()) {
      EXPECT_TRUE(!value.is_structured()) << group << " / " << name;
    }
  }
}

TEST(Environment, TellsTheTimerOfThisMachine) {
  const Json timer = read_environment().described.at("timer");
  EXPECT_GT(timer.at("rate Hz"), 0);
  EXPECT_GT(timer.at("step ticks"), 0);
  ASSERT_TRUE(timer.at("invariant").is_boolean());
  EXPECT_EQ(timer.at("rate change under load").is_null(), timer.at("invariant").get<bool>());
}

TEST(Environment, KeepsKernelParametersThatChangeTimingAndNoOthers) {
  core::FakeMachine machine;
  recorded_server(machine);
  const Json environment = read_environment(machine.root()).described;
  EXPECT_EQ(environment.at("kernel").at("parameters"), "isolcpus=2-3 mitigations=off");
}

TEST(Environment, SeesAVirtualMachineByItsFlagOrItsProduct) {
  core::FakeMachine flag;
  flag.file("/proc/cpuinfo", "flags\t: fpu hypervisor\n")
      .file("/sys/devices/system/cpu/smt/control", "notsupported\n");
  const Json environment = read_environment(flag.root()).described;
  EXPECT_EQ(environment.at("system").at("virtual machine"), true);
  EXPECT_EQ(environment.at("processor").at("SMT"), "notsupported");
  core::FakeMachine product;
  product.file("/sys/class/dmi/id/product_name", "KVM Virtual Machine\n");
  EXPECT_EQ(read_environment(product.root()).described.at("system").at("virtual machine"), true);
}

TEST(Environment, NamesAnArmProcessorByItsParts) {
  core::FakeMachine machine;
  machine.file(
      "/proc/cpuinfo",
      "processor\t: 0\nFeatures\t: fp asimd sve\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n");
  const Json processor = read_environment(machine.root()).described.at("processor");
  EXPECT_EQ(processor.at("model"), "implementer 0x41, part 0xd0c");
  EXPECT_EQ(processor.at("instruction sets"), "asimd sve");
}

TEST(Environment, RecordsSteeringVariablesWithoutDirectories) {
  const Variable threads("OMP_NUM_THREADS", "4");
  const Variable path("OPENBLAS_SOMETHING", "/home/person/lib/a.so:/opt/b.so");
  const Variable other("TABLE", "not steering");
  const Variable job("SLURM_JOB_ID", "42");
  const Json process = read_environment().described.at("process");
  const auto variables = process.at("environment variables").get<std::string>();
  EXPECT_NE(variables.find("OMP_NUM_THREADS=4"), std::string::npos) << variables;
  EXPECT_NE(variables.find("OPENBLAS_SOMETHING=a.so:b.so"), std::string::npos) << variables;
  EXPECT_EQ(variables.find("person"), std::string::npos) << variables;
  EXPECT_EQ(variables.find("TABLE"), std::string::npos) << variables;
  EXPECT_EQ(process.at("batch job"), "Slurm 42");
}

TEST(DescribeMachine, HasTheKeysOfTheFormat) {
  const core::Topology topology = core::Topology::synthetic("pack:2 core:2 pu:2");
  const Json machine = describe_machine(topology);
  EXPECT_EQ(machine.at("pus"), 8);
  EXPECT_EQ(machine.at("cores"), 4);
  EXPECT_EQ(machine.at("packages"), 2);
  EXPECT_EQ(machine.at("summary"), topology.summary());
  EXPECT_GE(machine.at("numa_nodes").size(), 1U);
  EXPECT_EQ(machine.at("pu_list").size(), 8U);
  EXPECT_EQ(machine.at("pu_list").at(7).at("package"), 1);
  EXPECT_TRUE(machine.at("caches").is_array());
  EXPECT_TRUE(machine.contains("memory_bytes"));
}

TEST(TopologyWarnings, SayOnceThatNodesCrossPackages) {
  core::FakeMachine files;
  core::crossing_nodes(files);
  const Variable root("HWLOC_FSROOT", files.root().c_str());
  const auto warnings = topology_warnings(core::Topology::detect());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].id, "numa_map");
  EXPECT_NE(warnings[0].seen.find("PUs 3-7"), std::string::npos) << warnings[0].seen;
  EXPECT_TRUE(topology_warnings(core::Topology::synthetic("pack:2 core:2 pu:1")).empty());
}

TEST(Environment, NamesTheCountersThatThereAre) {
  const auto counters = [](const std::string& root) {
    return read_environment(root).described.at("processor").at("hardware counters").text();
  };
  core::FakeMachine files;
  const std::string without = counters(files.root());  // this processor may have some
  EXPECT_FALSE(without.empty());
  files.file("/sys/class/powercap/intel-rapl:0/name", "package-0\n")
      .file("/sys/class/powercap/intel-rapl:0/energy_uj", "1\n");
  EXPECT_EQ(counters(files.root()), without == "none" ? "energy_j" : without + ", energy_j");
}

TEST(DescribeMachine, TellsOfAnotherMachineOnlyWhatItsTopologyTells) {
  const Json machine = describe_machine(core::Topology::synthetic("core:2 pu:1"));
  EXPECT_TRUE(machine.at("cpu_model").is_null());
  EXPECT_TRUE(machine.at("simd_target").is_null());
}

TEST(DescribeMachine, NamesThisHostAndItsMemory) {
  char name[256] = {};
  ASSERT_EQ(gethostname(name, sizeof(name) - 1), 0);
  const core::Topology topology = core::Topology::detect();
  if (!topology.is_this_machine()) GTEST_SKIP() << "another machine is described by hwloc";
  const Json machine = describe_machine(topology);
  EXPECT_EQ(machine.at("name"), name);
  EXPECT_GT(machine.at("memory_bytes"), 0);
}

}  // namespace
}  // namespace tabane::lab
