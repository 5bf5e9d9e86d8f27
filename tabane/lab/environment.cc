#include "tabane/lab/environment.h"

#include <unistd.h>
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

#include <array>
#include <ctime>

#include "tabane/core/clock.h"
#include "tabane/core/machine_name.h"
#include "tabane/lab/environment_groups.h"
#include "tabane/lab/environment_keys.h"
#include "tabane/simd/target.h"

namespace tabane::lab {
namespace {

Json software_group() {
  Json group;
#if defined(__GLIBC__)
  group["libc"] = std::string("glibc ") + gnu_get_libc_version();
#else
  group["libc"] = nullptr;
#endif
#if defined(__clang__)
  group["compiler"] = std::string("Clang ") + __clang_version__;
#else
  group["compiler"] = std::string("GCC ") + __VERSION__;
#endif
#if defined(TABANE_BUILD_FLAGS)
  group["build flags"] = TABANE_BUILD_FLAGS;
#else
  group["build flags"] = nullptr;
#endif
#if defined(__OPTIMIZE__)
  group[key::kOptimised.name] = true;
#else
  group[key::kOptimised.name] = false;
#endif
  // UndefinedBehaviorSanitizer leaves no macro; the flags tell.
  group[key::kSanitizer.name] =
      std::string_view(TABANE_BUILD_FLAGS).find("-fsanitize") != std::string_view::npos;
  group["vector target"] = simd::target_name();
  return group;
}

Json time_group() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  std::tm local{};
  gmtime_r(&now, &utc);
  localtime_r(&now, &local);
  std::array<char, 64> text{};
  Json group;
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  group["start"] = text.data();
  std::strftime(text.data(), text.size(), "%Z (%z)", &local);
  group["timezone"] = text.data();
  return group;
}

Json timer_group() {
  const core::TickRate& rate = core::tick_rate();
  const core::TickOverhead overhead = core::tick_overhead();
  Json group;
  group[key::kCounter.name] = rate.counter;
  group["rate Hz"] = rate.ticks_per_second;
  group["relative uncertainty"] = rate.relative_uncertainty;
  group[key::kInvariant.name] = rate.invariant;
  // Compared only where it is in doubt.
  group[key::kTickRateChange.name] =
      rate.invariant ? Json(nullptr) : Json(core::tick_rate_change());
  group["read overhead ticks"] = overhead.read_ticks;
  group["step ticks"] = overhead.step_ticks;
  return group;
}

Json numa_nodes(const core::Topology& topology) {
  Json nodes = Json::array();
  for (const core::NumaNode& node : topology.numa_nodes()) {
    Json described;
    described["os_index"] = node.os_index;
    described["bytes"] = node.bytes > 0 ? Json(node.bytes) : Json(nullptr);
    described["pus"] = node.pus;
    nodes.push_back(std::move(described));
  }
  return nodes;
}

Json caches(const core::Topology& topology) {
  Json levels = Json::array();
  for (const core::CacheLevel& cache : topology.caches()) {
    Json described;
    described["level"] = cache.level;
    described["bytes"] = cache.bytes;
    described["line_bytes"] = cache.line_bytes > 0 ? Json(cache.line_bytes) : Json(nullptr);
    described["instances"] = cache.instances;
    described["pus_sharing"] = cache.pus_sharing;
    levels.push_back(std::move(described));
  }
  return levels;
}

Json pu_list(const core::Topology& topology) {
  Json list = Json::array();
  for (const core::Pu& pu : topology.pus()) {
    Json described;
    described["os_index"] = pu.os_index;
    described["core"] = pu.core;
    described["package"] = pu.package;
    described["numa_node"] = pu.numa_node;
    list.push_back(std::move(described));
  }
  return list;
}

Json memory_bytes(const core::Topology& topology) {
  if (topology.is_this_machine()) {
    return count_or_null(core::SystemFiles().field_number("/proc/meminfo", "MemTotal"));
  }
  std::uint64_t bytes = 0;
  for (const core::NumaNode& node : topology.numa_nodes()) bytes += node.bytes;
  return bytes > 0 ? Json(bytes) : Json(nullptr);
}

}  // namespace

Json describe_machine(const core::Topology& topology) {
  const bool here = topology.is_this_machine();
  Json machine;
  machine["name"] = here ? core::host_name() : "synthetic machine";
  machine["summary"] = topology.summary();
  machine["cpu_model"] = here ? or_null(cpu_model(core::SystemFiles())) : Json(nullptr);
  machine["pus"] = topology.pus().size();
  machine["cores"] = topology.core_count();
  machine["packages"] = topology.package_count();
  machine["numa_nodes"] = numa_nodes(topology);
  machine["caches"] = caches(topology);
  machine["memory_bytes"] = memory_bytes(topology);
  machine["simd_target"] = here ? Json(simd::target_name()) : Json(nullptr);
  machine["pu_list"] = pu_list(topology);
  return machine;
}

std::vector<Warning> topology_warnings(const core::Topology& topology) {
  if (topology.correction().empty()) return {};
  return {{"numa_map", topology.correction(),
           "firmware or a hypervisor describes nodes that do not follow the packages; caches and "
           "packages may be shown wrongly, too",
           "compare with lscpu; in a virtual machine ask for nodes that follow its packages"}};
}

Json read_environment(const std::string& root) {
  const core::SystemFiles files(root);
  Json environment;
  environment["processor"] = processor_group(files);
  environment["memory"] = memory_group(files);
  environment["kernel"] = kernel_group(files);
  environment["process"] = process_group(files);
  environment["system"] = system_group(files);
  environment["software"] = software_group();
  environment["time"] = time_group();
  environment["timer"] = timer_group();
  return environment;
}

}  // namespace tabane::lab
