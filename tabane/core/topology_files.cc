#include "tabane/core/topology_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "tabane/core/binding.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"

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
    const bool usable =
        std::ranges::any_of(nodes, [&](const NumaNode& n) { return n.os_index == node; });
    for (const unsigned pu : listed)
      if (usable) node_of[pu] = node;
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

namespace {

constexpr const char* kPerformance = "performance cores";
constexpr const char* kEfficient = "efficient cores";
constexpr double kSameSpeed = 0.1;

std::string name_of(const DescribedKind& kind) {
  if (kind.core_type == "IntelCore") return kPerformance;
  if (kind.core_type == "IntelAtom") return kEfficient;
  if (!kind.core_type.empty()) return kind.core_type + " cores";
  if (kind.max_mhz > 0) return "cores up to " + format_value(1e6 * kind.max_mhz, "Hz");
  if (kind.capacity > 0) return fmt::format("cores of capacity {:g}", kind.capacity);
  return "other cores";
}

bool similar(double a, double b) {
  return a > 0 && b > 0 && std::max(a, b) < (1 + kSameSpeed) * std::min(a, b);
}

bool one_kind(const DescribedKind& a, const DescribedKind& b) {
  if (a.core_type != b.core_type) return false;
  return similar(a.max_mhz, b.max_mhz) || similar(a.capacity, b.capacity);
}

}  // namespace

std::vector<CpuKind> read_cpu_kinds(const SystemFiles& files) {
  constexpr std::pair<const char*, const char*> kLists[] = {
      {"cpu_core", kPerformance}, {"cpu_atom", kEfficient}, {"cpu_lowpower", "low-power cores"}};
  std::vector<CpuKind> kinds;
  for (const auto& [device, name] : kLists) {
    const auto list = files.text(fmt::format("/sys/devices/{}/cpus", device));
    if (!list) continue;
    try {
      kinds.push_back({name, parse_cpu_list(*list, {})});
    } catch (const UsageError&) {
      return {};  // a format that is not known: hwloc may know it
    }
  }
  return kinds;
}

std::vector<CpuKind> name_kinds(std::vector<DescribedKind> described) {
  std::vector<CpuKind> kinds;
  const DescribedKind* faster = nullptr;
  std::ranges::reverse(described);
  for (const DescribedKind& kind : described) {
    if (faster != nullptr && one_kind(*faster, kind))
      kinds.back().pus.insert(kinds.back().pus.end(), kind.pus.begin(), kind.pus.end());
    else
      kinds.push_back({name_of(kind), kind.pus});
    faster = &kind;
  }
  return kinds;
}

std::vector<CpuKind> usable_kinds(std::vector<CpuKind> kinds, const std::vector<Pu>& pus) {
  for (CpuKind& kind : kinds) {
    std::erase_if(kind.pus, [&](unsigned listed) {
      return std::ranges::none_of(pus, [&](const Pu& pu) { return pu.os_index == listed; });
    });
    std::ranges::sort(kind.pus);
  }
  std::erase_if(kinds, [](const CpuKind& kind) { return kind.pus.empty(); });
  if (kinds.size() < 2) kinds.clear();
  return kinds;
}

}  // namespace tabane::core
