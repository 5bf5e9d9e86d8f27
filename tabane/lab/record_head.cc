#include "tabane/lab/record_head.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "tabane/core/error.h"
#include "tabane/core/system_files.h"
#include "tabane/lab/environment.h"
#include "tabane/simd/target.h"

namespace tabane::lab {
namespace {

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
    const auto total = core::SystemFiles().field_number("/proc/meminfo", "MemTotal");
    return total ? Json(static_cast<std::int64_t>(*total)) : Json(nullptr);
  }
  std::uint64_t bytes = 0;
  for (const core::NumaNode& node : topology.numa_nodes()) bytes += node.bytes;
  return bytes > 0 ? Json(bytes) : Json(nullptr);
}

}  // namespace

std::string version() { return TABANE_VERSION; }

void require_this_machine(const core::Topology& topology) {
  if (topology.is_this_machine()) return;
  throw core::UsageError(
      "the topology is not that of this machine (HWLOC_SYNTHETIC or HWLOC_XMLFILE is set), so "
      "nothing can be measured on it; unset the variable");
}

Record begin_record(Kind kind, const About& about, std::string command_line) {
  Record record;
  record.kind = kind;
  record.name = about.name;
  record.title = about.title;
  record.source = about.source;
  record.tabane_version = version();
  record.started = fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)));
  record.command_line = std::move(command_line);
  return record;
}

Json describe_machine(const core::Topology& topology) {
  const bool here = topology.is_this_machine();
  Json machine;
  machine["name"] = here ? core::host_name() : "synthetic machine";
  machine["summary"] = topology.summary();
  const auto model = here ? cpu_model(core::SystemFiles()) : std::nullopt;
  machine["cpu_model"] = model ? Json(*model) : Json(nullptr);
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

Record begin_record(const core::Topology& topology, Kind kind, const About& about,
                    std::string command_line, bool quick) {
  Record record = begin_record(kind, about, std::move(command_line));
  record.quick = quick;
  record.machine = describe_machine(topology);
  record.environment = read_environment();
  record.warnings = topology_warnings(topology);
  return record;
}

}  // namespace tabane::lab
