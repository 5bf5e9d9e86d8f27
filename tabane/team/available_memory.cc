#include "tabane/team/available_memory.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace tabane::team {
namespace {

std::optional<std::uint64_t> machine_available() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::uint64_t kib = 0;
  for (std::string line; file >> key >> kib; std::getline(file, line)) {
    if (key == "MemAvailable:") return kib * 1024;
  }
  return std::nullopt;
}

std::string own_group() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::")) return line.substr(3);
  }
  return "/";
}

std::optional<std::uint64_t> read_number(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;  // "max" is no number
}

// Page cache counts as used in memory.current, yet makes room.
std::uint64_t reclaimable(const std::string& group) {
  std::ifstream file(group + "/memory.stat");
  std::string key;
  for (std::uint64_t value = 0; file >> key >> value;) {
    if (key == "inactive_file") return value;
  }
  return 0;
}

std::optional<std::uint64_t> left_in_group(const std::string& group) {
  const auto most = read_number(group + "/memory.max");
  const auto used = read_number(group + "/memory.current");
  if (!most || !used) return std::nullopt;
  const std::uint64_t kept = *used - std::min(*used, reclaimable(group));
  return *most - std::min(*most, kept);
}

}  // namespace

std::optional<std::uint64_t> available_memory() {
  std::optional<std::uint64_t> least = machine_available();
  const std::string root = "/sys/fs/cgroup";
  for (std::string group = own_group();;) {
    if (const auto left = left_in_group(root + group))
      least = std::min(least.value_or(*left), *left);
    const std::size_t slash = group.rfind('/');
    if (slash == std::string::npos || group.size() <= 1) break;
    group.erase(slash);
  }
  return least;
}

}  // namespace tabane::team
