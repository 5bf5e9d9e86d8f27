// Memory, kernel, and what runs below and beside this process.
#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "tabane/core/memory.h"
#include "tabane/lab/environment_groups.h"
#include "tabane/lab/environment_keys.h"

namespace tabane::lab {
namespace {

constexpr const char* kThp = "/sys/kernel/mm/transparent_hugepage";

// The parameters that change timing. The others may hold names of the site.
Json kernel_parameters(const core::SystemFiles& files) {
  constexpr std::array<std::string_view, 24> kNames = {"isolcpus",
                                                       "nohz_full",
                                                       "nohz",
                                                       "rcu_nocbs",
                                                       "mitigations",
                                                       "nosmt",
                                                       "maxcpus",
                                                       "nr_cpus",
                                                       "idle",
                                                       "preempt",
                                                       "clocksource",
                                                       "tsc",
                                                       "nopti",
                                                       "pti",
                                                       "irqaffinity",
                                                       "hugepages",
                                                       "hugepagesz",
                                                       "intel_pstate",
                                                       "amd_pstate",
                                                       "transparent_hugepage",
                                                       "cgroup_disable",
                                                       "skew_tick",
                                                       "intel_idle.max_cstate",
                                                       "processor.max_cstate"};
  const auto line = files.text("/proc/cmdline");
  if (!line) return nullptr;
  std::istringstream words(*line);
  std::string kept;
  for (std::string word; words >> word;) {
    const std::string name = word.substr(0, word.find('='));
    if (std::find(kNames.begin(), kNames.end(), name) == kNames.end()) continue;
    kept += (kept.empty() ? "" : " ") + word;
  }
  return kept.empty() ? Json("none that change timing") : Json(kept);
}

Json cpu_list(const core::SystemFiles& files, const std::string& file) {
  if (!files.exists(file)) return nullptr;
  std::string list = files.text(file).value_or("none");
  return list == "(null)" ? "none" : list;
}

Json virtual_machine(const core::SystemFiles& files, const std::string& product) {
  const std::vector<std::string> flags = cpu_flags(files);
  if (std::find(flags.begin(), flags.end(), "hypervisor") != flags.end()) return true;
  for (const char* name : {"Virtual", "KVM", "QEMU", "VMware", "HVM"}) {
    if (product.find(name) != std::string::npos) return true;
  }
  // Only x86 has the flag: without it another processor may still be virtual.
  const bool x86 = std::find(flags.begin(), flags.end(), "fpu") != flags.end();
  return x86 ? Json(false) : Json(nullptr);
}

// The share of all CPU time since the start in which another guest had the CPU.
Json steal_share(const core::SystemFiles& files) {
  const auto line = files.field("/proc/stat", "cpu");
  if (!line) return nullptr;
  // user nice system idle iowait irq softirq steal; guest times are already part of user.
  std::istringstream words(*line);
  std::array<double, 8> times{};
  double sum = 0;
  for (double& time : times) {
    if (!(words >> time)) return nullptr;
    sum += time;
  }
  return sum > 0 ? Json(times[7] / sum) : Json(nullptr);
}

Json temperature(const core::SystemFiles& files) {
  std::optional<double> hottest;
  const auto consider = [&](std::optional<double> millidegrees) {
    if (millidegrees && (!hottest || *millidegrees / 1000 > *hottest))
      hottest = *millidegrees / 1000;
  };
  for (const std::string& chip : files.names("/sys/class/hwmon")) {
    const std::string directory = "/sys/class/hwmon/" + chip;
    const std::string name = files.text(directory + "/name").value_or("");
    if (name != "coretemp" && name != "k10temp" && name != "zenpower" && name != "cpu_thermal") {
      continue;
    }
    for (const std::string& file : files.names(directory)) {
      if (file.starts_with("temp") && file.ends_with("_input")) {
        consider(files.number(directory + "/" + file));
      }
    }
  }
  return or_null(hottest);
}

}  // namespace

Json memory_group(const core::SystemFiles& files) {
  const auto bytes = [&](const char* key) {
    return count_or_null(files.field_number("/proc/meminfo", key));
  };
  const auto total = files.field_number("/proc/meminfo", "SwapTotal");
  const auto free = files.field_number("/proc/meminfo", "SwapFree");
  Json group;
  group["total bytes"] = bytes("MemTotal");
  group["available bytes"] = bytes("MemAvailable");
  group["base page bytes"] = core::page_bytes();
  group[key::kHugePages.name] = or_null(files.choice(std::string(kThp) + "/enabled"));
  group["huge page defragmentation"] = or_null(files.choice(std::string(kThp) + "/defrag"));
  group["huge page bytes"] = count_or_null(files.number(std::string(kThp) + "/hpage_pmd_size"));
  group["reserved huge pages"] = bytes("HugePages_Total");
  group[key::kNumaBalancing.name] = count_or_null(files.number("/proc/sys/kernel/numa_balancing"));
  group[key::kNumaCalls.name] = core::numa_calls_available();
  group["swap bytes"] = count_or_null(total);
  group[key::kSwapUsed.name] =
      total && free ? count_or_null(std::max(0.0, *total - *free)) : Json(nullptr);
  group["swappiness"] = count_or_null(files.number("/proc/sys/vm/swappiness"));
  group["overcommit"] = count_or_null(files.number("/proc/sys/vm/overcommit_memory"));
  return group;
}

Json kernel_group(const core::SystemFiles& files) {
  const std::string cpu = "/sys/devices/system/cpu";
  const std::string clocks = "/sys/devices/system/clocksource/clocksource0";
  Json group;
  group["release"] = or_null(files.text("/proc/sys/kernel/osrelease"));
  group["version"] = or_null(files.text("/proc/sys/kernel/version"));
  group["parameters"] = kernel_parameters(files);
  group["isolated CPUs"] = cpu_list(files, cpu + "/isolated");
  group["tickless CPUs"] = cpu_list(files, cpu + "/nohz_full");
  group[key::kClockSource.name] = or_null(files.text(clocks + "/current_clocksource"));
  group[key::kClockSources.name] = or_null(files.text(clocks + "/available_clocksource"));
  group["address randomisation"] =
      count_or_null(files.number("/proc/sys/kernel/randomize_va_space"));
  return group;
}

Json system_group(const core::SystemFiles& files) {
  const std::string dmi = "/sys/class/dmi/id";
  const auto product = files.text(dmi + "/product_name");
  const std::vector<double> throttles =
      of_every_cpu(files, "/thermal_throttle/core_throttle_count");
  std::istringstream load(files.text("/proc/loadavg").value_or(""));
  double average = 0;
  double older = 0;
  double running = 0;
  const bool loaded = static_cast<bool>(load >> average >> older >> older >> running);
  double throttled = 0;
  for (const double count : throttles) throttled += count;
  Json group;
  group[key::kVirtualMachine.name] = virtual_machine(files, product.value_or(""));
  group["hypervisor"] = or_null(files.text("/sys/hypervisor/type"));
  group["product"] = or_null(product);
  group["maker"] = or_null(files.text(dmi + "/sys_vendor"));
  group["load average at start"] = loaded ? Json(average) : Json(nullptr);
  group[key::kRunning.name] = loaded ? Json(static_cast<int>(running)) : Json(nullptr);
  group[key::kSteal.name] = steal_share(files);
  group["uptime s"] = or_null(files.number("/proc/uptime"));
  group["processor temperature °C"] = temperature(files);
  group["thermal throttles since boot"] =
      throttles.empty() ? Json(nullptr) : Json(static_cast<std::int64_t>(throttled));
  return group;
}

}  // namespace tabane::lab
