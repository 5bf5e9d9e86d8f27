// The limits and variables under which this process runs.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "tabane/core/cgroup.h"
#include "tabane/lab/environment_groups.h"
#include "tabane/lab/environment_keys.h"

namespace tabane::lab {
namespace {

// Leaves of every path only the file name, so that no directory of a user is recorded.
std::string without_directories(const std::string& text) {
  std::string kept;
  std::string word;
  const auto flush = [&] {
    const auto slash = word.find_last_of('/');
    kept += slash == std::string::npos ? word : word.substr(slash + 1);
    word.clear();
  };
  for (const char c : text) {
    if (c == ' ' || c == ':' || c == ',' || c == '=') {
      flush();
      kept += c;
    } else {
      word += c;
    }
  }
  flush();
  return kept;
}

Json limit_of(int resource) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return nullptr;
  if (limit.rlim_cur == RLIM_INFINITY) return "unlimited";
  return limit.rlim_cur;
}

std::string allocator() {
  const char* preload = std::getenv("LD_PRELOAD");
  const std::string libraries = preload == nullptr ? "" : preload;
  for (const char* name : {"jemalloc", "tcmalloc", "mimalloc", "hoard", "tbbmalloc", "snmalloc"}) {
    if (libraries.find(name) != std::string::npos) return std::string(name) + " (LD_PRELOAD)";
  }
#if defined(__GLIBC__)
  return "glibc";
#else
  return "the C library's";
#endif
}

// Variables that steer threads, allocators and the loader, sorted; "none" if none is set.
std::string steering_variables() {
  constexpr std::array<std::string_view, 15> kPrefixes = {
      "OMP_",        "GOMP_",     "KMP_",           "OPENBLAS_", "MKL_",
      "BLIS_",       "MALLOC_",   "GLIBC_TUNABLES", "HWLOC_",    "LD_PRELOAD",
      "LD_BIND_NOW", "MIMALLOC_", "TCMALLOC_",      "HWY_",      "TABANE_"};
  std::vector<std::string> found;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const bool wanted = std::any_of(kPrefixes.begin(), kPrefixes.end(),
                                    [&](std::string_view p) { return text.starts_with(p); });
    if (wanted) found.push_back(without_directories(std::string(text)));
  }
  std::sort(found.begin(), found.end());
  std::string all;
  for (const std::string& one : found) all += (all.empty() ? "" : " ") + one;
  return all.empty() ? "none" : all;
}

Json container(const core::SystemFiles& files) {
  if (std::getenv("APPTAINER_CONTAINER") != nullptr) return "Apptainer";
  if (std::getenv("SINGULARITY_CONTAINER") != nullptr) return "Singularity";
  if (files.exists("/run/.containerenv")) return "Podman";
  if (files.exists("/.dockerenv")) return "Docker";
  if (auto name = files.text("/run/systemd/container")) return *name;
  if (const char* name = std::getenv("container")) return name;
  return "none seen";
}

Json batch_job() {
  constexpr std::array<std::pair<const char*, const char*>, 3> kSystems = {
      {{"SLURM_JOB_ID", "Slurm "}, {"PBS_JOBID", "PBS "}, {"LSB_JOBID", "LSF "}}};
  for (const auto& [variable, name] : kSystems) {
    if (const char* id = std::getenv(variable)) return std::string(name) + id;
  }
  return "none seen";
}

}  // namespace

Json process_group(const core::SystemFiles& files) {
  const core::CgroupLimits cgroup = core::read_cgroup_limits(files);
  const auto throttling = core::read_cgroup_throttling(files);
  const auto limit_or_none = [&](const std::optional<double>& value) -> Json {
    if (value) return *value;
    return cgroup.seen ? Json("none") : Json(nullptr);
  };
  Json group;
  group["affinity"] = or_null(files.field("/proc/self/status", "Cpus_allowed_list"));
  group["memory nodes"] = or_null(files.field("/proc/self/status", "Mems_allowed_list"));
  group["cgroup CPUs"] = or_null(cgroup.cpuset);
  group[key::kCpuQuota.name] = limit_or_none(cgroup.cpus);
  group[key::kThrottled.name] = throttling ? Json(std::llround(throttling->times)) : Json(nullptr);
  group[key::kThrottledSeconds.name] = throttling ? Json(throttling->seconds) : Json(nullptr);
  group["cgroup memory limit bytes"] = limit_or_none(cgroup.memory_bytes);
  group["limit of stack bytes"] = limit_of(RLIMIT_STACK);
  group["limit of locked memory bytes"] = limit_of(RLIMIT_MEMLOCK);
  group["limit of address space bytes"] = limit_of(RLIMIT_AS);
  group["limit of processes"] = limit_of(RLIMIT_NPROC);
  group["limit of open files"] = limit_of(RLIMIT_NOFILE);
  group["nice"] = getpriority(PRIO_PROCESS, 0);
  group["allocator"] = allocator();
  group["environment variables"] = steering_variables();
  group["container"] = container(files);
  group["batch job"] = batch_job();
  return group;
}

}  // namespace tabane::lab
