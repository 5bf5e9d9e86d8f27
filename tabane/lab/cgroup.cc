#include "tabane/lab/cgroup.h"

#include <algorithm>
#include <sstream>
#include <vector>

namespace tabane::lab {
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

// The directories from the process's group of this controller up to the mount point; an empty
// controller stands for version 2. Inside a container the path may not exist, the mount point does.
std::vector<std::string> group_directories(const SystemFiles& files,
                                           const std::string& controller) {
  std::istringstream groups(files.text("/proc/self/cgroup").value_or(""));
  std::vector<std::string> directories;
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? !controllers.empty() : !holds(controllers, controller)) continue;
    std::string mount = "/sys/fs/cgroup";
    if (controller.empty()) {
      if (files.exists(mount + "/unified")) mount += "/unified";
    } else {
      mount += "/" + (files.exists(mount + "/" + controllers) ? controllers : controller);
    }
    std::string path = line.substr(second + 1);
    while (path.size() > 1) {
      directories.push_back(mount + path);
      path.erase(path.find_last_of('/'));
    }
    directories.push_back(mount);
  }
  return directories;
}

void read_version2(const SystemFiles& files, CgroupLimits& limits) {
  for (const std::string& directory : group_directories(files, "")) {
    if (const auto quota = files.text(directory + "/cpu.max")) {
      limits.seen = true;
      std::istringstream words(*quota);
      double microseconds = 0;
      double period = 0;
      if (words >> microseconds >> period && period > 0) {
        keep_smaller(limits.cpus, microseconds / period);
      }
    }
    if (const auto bytes = files.text(directory + "/memory.max")) {
      limits.seen = true;
      const auto limit = leading_number(*bytes);  // "max" is no number
      keep_smaller(limits.memory_bytes, limit);
      const auto used = files.number(directory + "/memory.current");
      const auto cache = files.field_number(directory + "/memory.stat", "inactive_file");
      if (limit && used) keep_smaller(limits.memory_free, left_of(*limit, *used, cache));
    }
    if (!limits.throttled) {
      limits.throttled = files.field_number(directory + "/cpu.stat", "nr_throttled");
      limits.throttled_s = files.field_number(directory + "/cpu.stat", "throttled_usec");
      if (limits.throttled_s) *limits.throttled_s *= 1e-6;
    }
    if (!limits.cpuset) limits.cpuset = files.text(directory + "/cpuset.cpus.effective");
  }
}

void read_version1(const SystemFiles& files, CgroupLimits& limits) {
  for (const std::string& directory : group_directories(files, "cpu")) {
    const auto quota = files.number(directory + "/cpu.cfs_quota_us");  // -1: none
    const auto period = files.number(directory + "/cpu.cfs_period_us");
    limits.seen = limits.seen || quota;
    if (quota && period && *quota > 0 && *period > 0) keep_smaller(limits.cpus, *quota / *period);
    if (!limits.throttled) {
      limits.throttled = files.field_number(directory + "/cpu.stat", "nr_throttled");
      limits.throttled_s = files.field_number(directory + "/cpu.stat", "throttled_time");
      if (limits.throttled_s) *limits.throttled_s *= 1e-9;
    }
  }
  for (const std::string& directory : group_directories(files, "memory")) {
    const auto limit = files.number(directory + "/memory.limit_in_bytes");
    const auto used = files.number(directory + "/memory.usage_in_bytes");
    limits.seen = limits.seen || limit;
    if (!limit || *limit > kNoLimit) continue;
    keep_smaller(limits.memory_bytes, limit);
    const auto cache = files.field_number(directory + "/memory.stat", "total_inactive_file");
    if (used) keep_smaller(limits.memory_free, left_of(*limit, *used, cache));
  }
  for (const std::string& directory : group_directories(files, "cpuset")) {
    if (!limits.cpuset) limits.cpuset = files.text(directory + "/cpuset.effective_cpus");
    if (!limits.cpuset) limits.cpuset = files.text(directory + "/cpuset.cpus");
  }
}

}  // namespace

CgroupLimits read_cgroup_limits(const SystemFiles& files) {
  CgroupLimits limits;
  read_version2(files, limits);
  read_version1(files, limits);
  return limits;
}

std::optional<double> usable_memory_bytes(const SystemFiles& files) {
  auto bytes = files.field_number("/proc/meminfo", "MemAvailable");
  keep_smaller(bytes, read_cgroup_limits(files).memory_free);
  return bytes;
}

}  // namespace tabane::lab
