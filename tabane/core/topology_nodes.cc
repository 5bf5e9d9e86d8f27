#include "tabane/core/topology_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "tabane/core/cpu_list.h"
#include "tabane/core/error.h"

namespace tabane::core {
namespace {

constexpr const char* kNodes = "/sys/devices/system/node";

// The number in "node12"; null for other names.
std::optional<unsigned> node_number(const std::string& name) {
  constexpr std::string_view kNode = "node";
  unsigned number = 0;
  if (!name.starts_with(kNode)) return std::nullopt;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kNode.size(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace

NodeLists read_node_lists(const SystemFiles& files) {
  NodeLists lists;
  for (const std::string& name : files.names(kNodes)) {
    const auto node = node_number(name);
    if (!node) continue;
    // A node that has memory only has an empty list.
    const auto list = files.text(fmt::format("{}/{}/cpulist", kNodes, name));
    if (!list) continue;
    try {
      lists[*node] = parse_cpu_list(*list, {});
    } catch (const UsageError&) {
      return {};  // a format that is not known: hwloc may know it
    }
  }
  return lists;
}

std::string correct_nodes(std::vector<Pu>& pus, const std::vector<NumaNode>& nodes,
                          const NodeLists& lists) {
  std::map<unsigned, unsigned> node_of;  // PU -> node
  for (const auto& [node, listed] : lists) {
    const bool usable = std::any_of(nodes.begin(), nodes.end(),
                                    [&](const NumaNode& n) { return n.os_index == node; });
    for (const unsigned pu : listed) {
      if (usable) node_of[pu] = node;
    }
  }
  std::vector<unsigned> moved;
  for (Pu& pu : pus) {
    const auto found = node_of.find(pu.os_index);
    if (found == node_of.end() || found->second == pu.numa_node) continue;
    pu.numa_node = found->second;
    moved.push_back(pu.os_index);
  }
  if (moved.empty()) return "";
  return fmt::format(
      "hwloc puts the {} {} on other NUMA nodes than the system, whose lists are "
      "used instead",
      moved.size() == 1 ? "PU" : "PUs", format_cpu_list(moved));
}

}  // namespace tabane::core
