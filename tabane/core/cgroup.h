// The limits that control groups, of either version, set for this process.
#pragma once

#include <optional>
#include <string>

#include "tabane/core/system_files.h"

namespace tabane::core {

// The strictest limit on the way from the process's group to the top. Null: no limit is set, or
// none can be read; `seen` says which.
struct CgroupLimits {
  bool seen = false;                   // some file of a group could be read
  std::optional<double> cpus;          // quota / period
  std::optional<double> memory_bytes;  // limit
  std::optional<double> memory_free;   // smallest limit minus use but file cache, bytes
  std::optional<std::string> cpuset;   // CPUs as a list
};

CgroupLimits read_cgroup_limits(const SystemFiles& files);

// How many of `pus` usable PUs can be busy all the time within the limits: fewer where a quota of
// CPU time is smaller, but at least one.
int busy_pus_within(const CgroupLimits& limits, int pus);

// How often, and for how many seconds, quotas have stopped the process's group or one above it
// since the groups were made.
struct CgroupThrottling {
  double times = 0;
  double seconds = 0;

  friend CgroupThrottling operator-(CgroupThrottling a, CgroupThrottling b) {
    return {a.times - b.times, a.seconds - b.seconds};
  }
};

// The difference of two readings is what happened in between. Null if no group counts it. cost:
// some 50 us.
std::optional<CgroupThrottling> read_cgroup_throttling(const SystemFiles& files = SystemFiles());

// The path, below the mount point, of the process's group for a controller ("cpuset"): that of
// version 1 if it has the controller, otherwise that of version 2. Empty: the system does not say.
std::string cgroup_path(const SystemFiles& files, const std::string& controller);

// Bytes that this process can take without swapping or being killed: the memory available on the
// machine, or what the groups leave of it. Null if the system does not say. cost: some 50 us.
std::optional<double> usable_memory_bytes(const SystemFiles& files = SystemFiles());

}  // namespace tabane::core
