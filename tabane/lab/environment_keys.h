// The entries of the environment that warnings are made from: who writes one and who reads it use
// the same name, so that a typing error does not silence a warning.
#pragma once

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
