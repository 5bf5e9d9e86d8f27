// The limits that control groups, of either version, set for this process.
#pragma once

#include <optional>
#include <string>

#include "tabane/core/system_files.h"

namespace tabane::core {

// The strictest limit on the way from the process's group to the top. Null: no limit is set, or
// none can be read; `seen` tells which.
struct CgroupLimits {
  bool seen = false;                   // some file of a group could be read
  std::optional<double> cpus;          // quota / period
  std::optional<double> memory_bytes;  // limit
  std::optional<double> memory_free;   // smallest limit minus use but file cache, bytes
  std::optional<double> throttled;     // times that the quota stopped the group
  std::optional<double> throttled_s;   // seconds that it was stopped
  std::optional<std::string> cpuset;   // CPUs as a list
};

CgroupLimits read_cgroup_limits(const SystemFiles& files);

// The path, below the mount point, of the process's group for a controller ("cpuset"): that of
// version 1 if it has the controller, otherwise that of version 2. Empty: the system does not tell.
std::string cgroup_path(const SystemFiles& files, const std::string& controller);

// Bytes that this process can take without swapping or being killed: the memory available on the
// machine, or what the groups leave of it. Null if the system does not tell. cost: some 50 us.
std::optional<double> usable_memory_bytes(const SystemFiles& files = SystemFiles());

}  // namespace tabane::core
