#include "tabane/lab/record_head.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "tabane/core/error.h"
#include "tabane/lab/environment.h"
#include "tabane/lab/version.h"

namespace tabane::lab {

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
