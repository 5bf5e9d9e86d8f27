// Everything around a measurement that can change its result, as far as it can be read without
// rights.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "tabane/core/system_files.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

// Reads the environment as groups of readable names: processor, memory, kernel, process, software,
// time. What cannot be read is null. root: prefix of /proc and /sys, for tests with recorded
// machines.
Json read_environment(const std::string& root = "");

// Counts of all CPUs together since the start, in ticks: user nice system idle iowait irq softirq
// steal; guests are already part of user. Null if the system does not report them.
std::optional<std::array<double, 8>> cpu_ticks(const core::SystemFiles& files);

// Null if the system does not report it.
std::optional<std::string> cpu_model(const core::SystemFiles& files);

}  // namespace tabane::lab

// The entries of the environment that warnings are made from, so that a typing error in a name does
// not silence a warning.
namespace tabane::lab::key {

struct Key {
  const char *group, *name;
};

inline constexpr Key kLowestMhz{"processor", "lowest MHz at start"};
inline constexpr Key kHighestMhz{"processor", "highest MHz at start"};
inline constexpr Key kGovernor{"processor", "governor"};
inline constexpr Key kVectorsDisabled{"processor", "vector registers not enabled"};
inline constexpr Key kRunning{"system", "running at start"};
inline constexpr Key kVirtualMachine{"system", "virtual machine"};
inline constexpr Key kSteal{"system", "steal share since boot"};
inline constexpr Key kCpuQuota{"process", "cgroup CPU quota"};
inline constexpr Key kThrottled{"process", "cgroup throttled periods"};
inline constexpr Key kThrottledSeconds{"process", "cgroup throttled s"};
inline constexpr Key kInvariant{"timer", "invariant"};
inline constexpr Key kTickRateChange{"timer", "rate change under load"};
inline constexpr Key kCounter{"timer", "counter"};
inline constexpr Key kClockSource{"kernel", "clock source"};
inline constexpr Key kClockSources{"kernel", "clock sources"};
inline constexpr Key kHugePages{"memory", "transparent huge pages"};
inline constexpr Key kSwapUsed{"memory", "swap used bytes"};
inline constexpr Key kNumaBalancing{"memory", "NUMA balancing"};
inline constexpr Key kNumaCalls{"memory", "NUMA calls available"};
inline constexpr Key kOptimised{"software", "optimised build"};
inline constexpr Key kSanitizer{"software", "sanitizer"};

}  // namespace tabane::lab::key
