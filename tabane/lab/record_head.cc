#include "tabane/lab/record_head.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "tabane/core/error.h"
#include "tabane/core/system_files.h"
#include "tabane/simd/target.h"

namespace tabane::lab {
namespace {

// Null where the system does not tell.
Json known(std::uint64_t bytes) { return bytes > 0 ? Json(bytes) : Json(); }

Json numa_nodes(const core::Topology& topology) {
  Json nodes = Json::array();
  for (const core::NumaNode& node : topology.numa_nodes())
    nodes.push_back({{"os_index", node.os_index}, {"bytes", known(node.bytes)}, {"pus", node.pus}});
  return nodes;
}

Json caches(const core::Topology& topology) {
  Json levels = Json::array();
  for (const core::CacheLevel& cache : topology.caches())
    levels.push_back({{"level", cache.level},
                      {"bytes", cache.bytes},
                      {"line_bytes", known(cache.line_bytes)},
                      {"instances", cache.instances},
                      {"pus_sharing", cache.pus_sharing}});
  return levels;
}

Json pu_list(const core::Topology& topology) {
  Json list = Json::array();
  for (const core::Pu& pu : topology.pus())
    list.push_back({{"os_index", pu.os_index},
                    {"core", pu.core},
                    {"package", pu.package},
                    {"numa_node", pu.numa_node}});
  return list;
}

Json memory_bytes(const core::Topology& topology) {
  if (topology.is_this_machine()) {
    const auto total = core::SystemFiles().field_number("/proc/meminfo", "MemTotal");
    return known(static_cast<std::uint64_t>(total.value_or(0)));
  }
  std::uint64_t bytes = 0;
  for (const core::NumaNode& node : topology.numa_nodes()) bytes += node.bytes;
  return known(bytes);
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
  const auto model = here ? cpu_model(core::SystemFiles()) : std::nullopt;
  return {{"name", here ? core::host_name() : "synthetic machine"},
          {"summary", topology.summary()},
          {"cpu_model", model},
          {"pus", topology.pus().size()},
          {"cores", topology.core_count()},
          {"packages", topology.package_count()},
          {"numa_nodes", numa_nodes(topology)},
          {"caches", caches(topology)},
          {"memory_bytes", memory_bytes(topology)},
          {"simd_target", here ? Json(simd::target_name()) : Json()},
          {"pu_list", pu_list(topology)}};
}

std::vector<Warning> topology_warnings(const core::Topology& topology) {
  if (topology.correction().empty()) return {};
  return {{"numa_map", topology.correction(),
           "firmware or a hypervisor describes nodes that do not follow the packages; caches and "
           "packages may be shown wrongly, too",
           "compare with lscpu; in a virtual machine ask for nodes that follow its packages"}};
}

Record begin_record(const core::Topology& topology, Kind kind, const About& about,
                    std::string command_line, bool quick, const Environment& environment) {
  Record record = begin_record(kind, about, std::move(command_line));
  record.quick = quick;
  record.machine = describe_machine(topology);
  record.environment = environment.described;
  record.warnings = topology_warnings(topology);
  return record;
}

}  // namespace tabane::lab
