#include "tabane/core/cgroup.h"

#include <algorithm>
#include <sstream>
#include <vector>

namespace tabane::core {
namespace {

// Version 1 writes "no limit" as the largest multiple of a page below 2^63.
constexpr double kNoLimit = 4e18;

void keep_smaller(std::optional<double>& kept, std::optional<double> value) {
  if (value && (!kept || *value < *kept)) kept = value;
}

// What a group with this limit still gives: files that were read or written once count as used, but
// the kernel takes their pages back first.
double left_of(double limit, double used, std::optional<double> file_cache) {
  return std::max(0.0, limit - std::max(0.0, used - file_cache.value_or(0)));
}

// Whether the comma-separated list holds word.
bool holds(const std::string& list, const std::string& word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

struct Group {
  std::string controllers;  // separated by commas; empty: version 2
  std::string path;         // below the mount point
};

std::vector<Group> groups_of_this_process(const SystemFiles& files) {
  std::istringstream lines(files.text("/proc/self/cgroup").value_or(""));
  std::vector<Group> groups;
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find(':');
    const auto second = line.find(":/", first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    groups.push_back({line.substr(first + 1, second - first - 1), line.substr(second + 1)});
  }
  return groups;
}

std::string mount_point(const SystemFiles& files, const std::string& controller,
                        const std::string& controllers) {
  const std::string mounts = "/sys/fs/cgroup/";
  if (controller.empty()) return mounts + (files.exists(mounts + "unified") ? "unified" : "");
  return mounts + (files.exists(mounts + controllers) ? controllers : controller);
}

// The directories from the process's group of this controller up to the mount point; an empty
// controller means version 2. Inside a container the path may not exist, the mount point does.
std::vector<std::string> group_directories(const SystemFiles& files,
                                           const std::string& controller) {
  std::vector<std::string> directories;
  for (Group& group : groups_of_this_process(files)) {
    const bool here =
        controller.empty() ? group.controllers.empty() : holds(group.controllers, controller);
    if (!here) continue;
    const std::string mount = mount_point(files, controller, group.controllers);
    for (; group.path.size() > 1; group.path.erase(group.path.find_last_of('/')))
      directories.push_back(mount + group.path);
    directories.push_back(mount);
  }
  return directories;
}

void read_cpus2(const SystemFiles& files, CgroupLimits& limits) {
  for (const std::string& directory : group_directories(files, "")) {
    if (const auto quota = files.text(directory + "/cpu.max")) {
      limits.seen = true;
      std::istringstream words(*quota);
      double microseconds = 0;
      double period = 0;
      if (words >> microseconds >> period && period > 0)
        keep_smaller(limits.cpus, microseconds / period);
    }
    if (!limits.cpuset) limits.cpuset = files.text(directory + "/cpuset.cpus.effective");
  }
}

void read_cpus1(const SystemFiles& files, CgroupLimits& limits) {
  for (const std::string& directory : group_directories(files, "cpu")) {
    const auto quota = files.number(directory + "/cpu.cfs_quota_us");  // -1: none
    const auto period = files.number(directory + "/cpu.cfs_period_us");
    limits.seen = limits.seen || quota;
    if (quota && period && *quota > 0 && *period > 0) keep_smaller(limits.cpus, *quota / *period);
  }
  for (const std::string& directory : group_directories(files, "cpuset")) {
    if (!limits.cpuset) limits.cpuset = files.text(directory + "/cpuset.effective_cpus");
    if (!limits.cpuset) limits.cpuset = files.text(directory + "/cpuset.cpus");
  }
}

// What the versions call the same things.
struct MemoryFiles {
  const char *controller, *limit, *used, *file_cache;
};
constexpr MemoryFiles kMemoryFiles[] = {
    {"", "/memory.max", "/memory.current", "inactive_file"},
    {"memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"}};

void read_memory(const SystemFiles& files, CgroupLimits& limits) {
  for (const MemoryFiles& names : kMemoryFiles) {
    for (const std::string& directory : group_directories(files, names.controller)) {
      const auto text = files.text(directory + names.limit);
      if (!text) continue;
      limits.seen = true;
      const auto limit = leading_number(*text);  // "max" is no number
      if (!limit || *limit > kNoLimit) continue;
      keep_smaller(limits.memory_bytes, limit);
      const auto used = files.number(directory + names.used);
      const auto cache = files.field_number(directory + "/memory.stat", names.file_cache);
      if (used) keep_smaller(limits.memory_free, left_of(*limit, *used, cache));
    }
  }
}

}  // namespace

CgroupLimits read_cgroup_limits(const SystemFiles& files) {
  CgroupLimits limits;
  read_cpus2(files, limits);
  read_cpus1(files, limits);
  read_memory(files, limits);
  return limits;
}

int busy_pus_within(const CgroupLimits& limits, int pus) {
  if (!limits.cpus || *limits.cpus >= pus) return pus;
  return std::max(1, static_cast<int>(*limits.cpus));
}

std::optional<CgroupThrottling> read_cgroup_throttling(const SystemFiles& files) {
  struct Counter {
    const char *controller, *name;
    double seconds_each;
  };
  constexpr Counter kCounters[] = {{"", "throttled_usec", 1e-6}, {"cpu", "throttled_time", 1e-9}};
  std::optional<CgroupThrottling> all;
  for (const Counter& counter : kCounters) {
    // A group counts only the stops of its own quota, but stops with those above it.
    for (const std::string& directory : group_directories(files, counter.controller)) {
      const std::string statistics = directory + "/cpu.stat";
      const auto times = files.field_number(statistics, "nr_throttled");
      if (!times) continue;
      if (!all) all.emplace();
      all->times += *times;
      all->seconds +=
          counter.seconds_each * files.field_number(statistics, counter.name).value_or(0);
    }
  }
  return all;
}

std::string cgroup_path(const SystemFiles& files, const std::string& controller) {
  std::string unified;
  for (const Group& group : groups_of_this_process(files)) {
    if (holds(group.controllers, controller)) return group.path;
    if (group.controllers.empty()) unified = group.path;
  }
  return unified;
}

std::optional<double> usable_memory_bytes(const SystemFiles& files) {
  auto bytes = files.field_number("/proc/meminfo", "MemAvailable");
  CgroupLimits limits;
  read_memory(files, limits);
  keep_smaller(bytes, limits.memory_free);
  return bytes;
}

}  // namespace tabane::core
