#include "tabane/core/topology.h"

#include <hwloc.h>
#include <hwloc/cpukinds.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>

#include "tabane/core/binding.h"
#include "tabane/core/cgroup.h"
#include "tabane/core/error.h"
#include "tabane/core/system_files.h"
#include "tabane/core/topology_files.h"
#include "tabane/core/units.h"

namespace tabane::core {
namespace {

struct Machine {
  bool this_machine = false;
  std::vector<Pu> pus;
  std::map<unsigned, std::size_t> position;  // os index -> index into pus
  unsigned cores = 0;
  unsigned packages = 0;
  unsigned machine_pus = 0;
  std::vector<NumaNode> nodes;
  std::vector<CacheLevel> caches;
  std::vector<CpuKind> kinds;
  std::string restriction;
  std::string correction;
};

using Handle = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;

constexpr hwloc_obj_type_t kCacheTypes[] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE,
                                            HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L5CACHE};

// Counts objects in the order in which they are first seen.
class Numbering {
 public:
  unsigned operator()(const void* object) {
    return numbers_.try_emplace(object, static_cast<unsigned>(numbers_.size())).first->second;
  }
  unsigned size() const { return static_cast<unsigned>(numbers_.size()); }

 private:
  std::map<const void*, unsigned> numbers_;
};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

[[noreturn]] void refuse_variable(const std::string& name, const std::string& value) {
  throw UsageError(name + "=\"" + value + "\" does not describe a machine: " +
                   (name == "HWLOC_XMLFILE" ? "give a file that lstopo wrote (lstopo machine.xml)"
                                            : "write for example \"pack:2 numa:1 core:8 pu:2\""));
}

// Sets a variable that hwloc reads, unless the user has, for as long as this lives.
class UnlessSet {
 public:
  UnlessSet(const char* name, const char* value)
      : name_(name), ours_(std::getenv(name) == nullptr && setenv(name, value, 1) == 0) {}
  ~UnlessSet() {
    if (ours_) unsetenv(name_);
  }
  UnlessSet(const UnlessSet&) = delete;
  UnlessSet& operator=(const UnlessSet&) = delete;

 private:
  const char* name_;
  bool ours_;
};

// hwloc's own look at x86 processors visits every PU in turn, and waits for each that is busy.
// Where the kernel reports caches and cores, it has nothing to find that is used here.
bool kernel_tells_all(const SystemFiles& files) {
  const std::string cpu = "/sys/devices/system/cpu/cpu0";
  return files.exists(cpu + "/topology/core_id") && files.exists(cpu + "/cache/index0/size");
}

struct Opened {
  Handle handle;             // null if the system's own topology cannot be loaded
  bool from_system = false;  // read from /proc and /sys, not from a description
};

// hwloc ignores variables that it cannot read and shows the real machine instead, so they are given
// to it explicitly.
Opened open_topology(const std::string* synthetic) {
  std::string source;
  std::string value;
  if (synthetic) {
    source = "the synthetic machine";
    value = *synthetic;
  } else if (value = environment("HWLOC_XMLFILE"); !value.empty()) {
    source = "HWLOC_XMLFILE";
  } else if (value = environment("HWLOC_SYNTHETIC"); !value.empty()) {
    source = "HWLOC_SYNTHETIC";
  }
  const bool xml = source == "HWLOC_XMLFILE";
  // In place of twelve lines on stderr in every process that loads a machine which contradicts
  // itself: correction() says it in one sentence.
  const UnlessSet quiet("HWLOC_HIDE_ERRORS", "2");
  // Its plugins look for devices, on which nothing here depends, and load X11 and OpenCL for that.
  std::optional<UnlessSet> no_plugins;
  if (!xml) no_plugins.emplace("HWLOC_PLUGINS_PATH", "/nonexistent");
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return {{nullptr, &hwloc_topology_destroy}, true};
  Handle handle(raw, &hwloc_topology_destroy);
  if (!source.empty()) {
    const int refused = xml ? hwloc_topology_set_xml(raw, value.c_str())
                            : hwloc_topology_set_synthetic(raw, value.c_str());
    if (refused != 0) refuse_variable(source, value);
  } else if (kernel_tells_all(SystemFiles(environment("HWLOC_FSROOT")))) {
    hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  }
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_load(raw) != 0) {
    if (!source.empty()) refuse_variable(source, value);
    handle.reset();
  }
  return {std::move(handle), source.empty()};
}

// The node that the system prefers for a PU: the smallest locality that holds it, first in order.
hwloc_obj_t nearest_node(hwloc_topology_t topology, unsigned pu, hwloc_const_nodeset_t allowed) {
  hwloc_obj_t best = nullptr;
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node))) {
    if (!hwloc_bitmap_isset(allowed, node->os_index)) continue;
    if (!node->cpuset || !hwloc_bitmap_isset(node->cpuset, pu)) continue;
    if (!best || hwloc_bitmap_weight(node->cpuset) < hwloc_bitmap_weight(best->cpuset)) best = node;
  }
  return best;
}

const void* last_level_cache(hwloc_topology_t topology, hwloc_obj_t pu) {
  for (auto type = std::rbegin(kCacheTypes); type != std::rend(kCacheTypes); ++type)
    if (hwloc_obj_t cache = hwloc_get_ancestor_obj_by_type(topology, *type, pu)) return cache;
  return hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, pu);
}

using Usable = std::function<bool(unsigned)>;

std::vector<unsigned> usable_of(hwloc_const_bitmap_t set, const Usable& usable) {
  std::vector<unsigned> found;
  for (int i = hwloc_bitmap_first(set); i >= 0; i = hwloc_bitmap_next(set, i))
    if (usable(static_cast<unsigned>(i))) found.push_back(static_cast<unsigned>(i));
  return found;
}

unsigned count_usable(hwloc_const_bitmap_t set, const Usable& usable) {
  return static_cast<unsigned>(usable_of(set, usable).size());
}

std::vector<CacheLevel> read_caches(hwloc_topology_t topology, const Usable& usable) {
  std::vector<CacheLevel> levels;
  for (std::size_t i = 0; i < std::size(kCacheTypes); ++i) {
    CacheLevel level{.level = static_cast<int>(i) + 1};
    hwloc_obj_t cache = nullptr;
    while ((cache = hwloc_get_next_obj_by_type(topology, kCacheTypes[i], cache))) {
      const std::vector<unsigned> sharing = usable_of(cache->cpuset, usable);
      if (sharing.empty() || cache->attr->cache.size == 0) continue;
      if (level.instances++ == 0) {
        level.bytes = cache->attr->cache.size;
        level.line_bytes = cache->attr->cache.linesize;
        level.pus_sharing = static_cast<unsigned>(sharing.size());
      }
      level.pus.push_back(sharing);
    }
    if (level.instances > 0) levels.push_back(level);
  }
  return levels;
}

std::vector<DescribedKind> describe_kinds(hwloc_topology_t topology) {
  std::vector<DescribedKind> kinds;
  const std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> set(hwloc_bitmap_alloc(),
                                                                          &hwloc_bitmap_free);
  const int count = std::max(0, hwloc_cpukinds_get_nr(topology, 0));
  for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
    unsigned infos = 0;
    hwloc_info_s* info = nullptr;
    if (hwloc_cpukinds_get_info(topology, i, set.get(), nullptr, &infos, &info, 0) != 0) return {};
    DescribedKind& kind = kinds.emplace_back();
    for (int pu = hwloc_bitmap_first(set.get()); pu >= 0; pu = hwloc_bitmap_next(set.get(), pu))
      kind.pus.push_back(static_cast<unsigned>(pu));
    for (const hwloc_info_s& one : std::span(info, infos)) {
      const std::string_view name = one.name;
      if (name == "CoreType") kind.core_type = one.value;
      if (name == "FrequencyMaxMHz") kind.max_mhz = std::atof(one.value);
      if (name == "LinuxCapacity") kind.capacity = std::atof(one.value);
    }
  }
  return kinds;
}

std::string restriction_text(bool by_cgroup, bool by_affinity) {
  std::string text;
  if (by_cgroup) {
    const std::string path = cgroup_path(SystemFiles(), "cpuset");
    text = "the cpuset of this process's cgroup" + (path.empty() ? "" : " " + path);
  }
  if (by_affinity) {
    text += text.empty() ? "" : " and ";
    text += "the affinity mask of this process (taskset, a batch system or a cgroup's cpuset)";
  }
  return text;
}

// 0 if the groups differ in size.
unsigned common_size(const std::map<unsigned, std::set<unsigned>>& groups) {
  const std::size_t size = groups.begin()->second.size();
  for (const auto& [key, members] : groups)
    if (members.size() != size) return 0;
  return static_cast<unsigned>(size);
}

// What can be known without hwloc: one node, one package, every PU its own core.
void fill_flat(Machine& data, std::span<const unsigned> pus) {
  data.this_machine = true;
  data.nodes = {NumaNode{.os_index = 0, .bytes = 0, .pus = {pus.begin(), pus.end()}}};
  for (const unsigned os_index : pus) {
    const auto i = static_cast<unsigned>(data.pus.size());
    data.pus.push_back({.os_index = os_index, .logical_index = i, .core = i});
  }
  data.cores = static_cast<unsigned>(pus.size());
  data.packages = 1;
  data.machine_pus = data.cores;
}

void read_nodes(Machine& data, hwloc_topology_t topology) {
  const hwloc_const_nodeset_t allowed = hwloc_topology_get_allowed_nodeset(topology);
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node))) {
    if (!hwloc_bitmap_isset(allowed, node->os_index)) continue;
    data.nodes.push_back(
        {.os_index = node->os_index, .bytes = node->attr->numanode.local_memory, .pus = {}});
  }
  if (data.nodes.empty()) data.nodes.emplace_back();
  std::ranges::sort(data.nodes,
                    [](const NumaNode& a, const NumaNode& b) { return a.os_index < b.os_index; });
}

void read_pus(Machine& data, hwloc_topology_t topology, const Usable& usable) {
  const hwloc_const_nodeset_t allowed = hwloc_topology_get_allowed_nodeset(topology);
  Numbering cores;
  Numbering packages;
  Numbering last_levels;
  std::map<unsigned, unsigned> pus_of_core;
  hwloc_obj_t object = nullptr;
  while ((object = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, object))) {
    ++data.machine_pus;
    if (!usable(object->os_index)) continue;
    Pu pu{.os_index = object->os_index, .logical_index = static_cast<unsigned>(data.pus.size())};
    const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, object);
    pu.core = cores(core ? core : object);
    pu.smt = pus_of_core[pu.core]++;
    pu.package = packages(hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, object));
    pu.last_level_cache = last_levels(last_level_cache(topology, object));
    const hwloc_obj_t node = nearest_node(topology, pu.os_index, allowed);
    pu.numa_node = node ? node->os_index : data.nodes.front().os_index;
    data.pus.push_back(pu);
  }
  data.cores = cores.size();
  data.packages = packages.size();
}

void fill_nodes(Machine& data) {
  for (const Pu& pu : data.pus) {
    const auto node = std::ranges::find(data.nodes, pu.numa_node, &NumaNode::os_index);
    node->pus.push_back(pu.os_index);
  }
}

}  // namespace

struct Topology::Data : Machine {};

Topology Topology::detect() { return load(nullptr); }

Topology Topology::synthetic(const std::string& description) { return load(&description); }

std::string Topology::xml() {
  const Opened opened = open_topology(nullptr);
  char* text = nullptr;
  int bytes = 0;
  if (!opened.handle) return "";
  const hwloc_obj_t machine = hwloc_get_root_obj(opened.handle.get());
  for (unsigned i = 0; i < machine->infos_count; ++i) {  // root sees them; nobody else needs them
    const std::string_view name = machine->infos[i].name;
    const bool names_one = name.find("Serial") != name.npos || name.find("UUID") != name.npos;
    if (names_one) *machine->infos[i].value = '\0';
  }
  if (hwloc_topology_export_xmlbuffer(opened.handle.get(), &text, &bytes, 0) != 0) return "";
  std::string xml(text);
  hwloc_free_xmlbuffer(opened.handle.get(), text);
  return xml;
}

Topology Topology::load(const std::string* synthetic) {
  auto data = std::make_shared<Data>();
  const auto [handle, from_system] = open_topology(synthetic);
  const bool this_machine = !handle || hwloc_topology_is_thissystem(handle.get());
  std::vector<unsigned> affinity;
  if (this_machine) affinity = thread_binding();
  if (handle) {
    const hwloc_const_cpuset_t allowed = hwloc_topology_get_allowed_cpuset(handle.get());
    const Usable usable = [&](unsigned pu) {
      return hwloc_bitmap_isset(allowed, pu) &&
             (!this_machine || std::ranges::binary_search(affinity, pu));
    };
    data->this_machine = this_machine;
    read_nodes(*data, handle.get());
    read_pus(*data, handle.get(), usable);
    if (from_system) {
      const SystemFiles files(environment("HWLOC_FSROOT"));
      data->correction = correct_nodes(data->pus, data->nodes, read_node_lists(files));
      data->kinds = usable_kinds(read_cpu_kinds(files), data->pus);
    }
    if (data->kinds.empty())
      data->kinds = usable_kinds(name_kinds(describe_kinds(handle.get())), data->pus);
    fill_nodes(*data);
    data->caches = read_caches(handle.get(), usable);
    const unsigned in_cgroup =
        count_usable(hwloc_topology_get_topology_cpuset(handle.get()),
                     [&](unsigned i) { return hwloc_bitmap_isset(allowed, i); });
    data->restriction = restriction_text(in_cgroup < data->machine_pus,
                                         data->pus.size() < std::min(in_cgroup, data->machine_pus));
  }
  // A description of another machine with HWLOC_THISSYSTEM=1 may share no PU with this one.
  if (data->pus.empty()) {
    *data = {};
    fill_flat(*data, affinity);
  }
  for (std::size_t i = 0; i < data->pus.size(); ++i) data->position[data->pus[i].os_index] = i;
  return Topology(std::move(data));
}

bool Topology::is_this_machine() const { return data_->this_machine; }

std::span<const Pu> Topology::pus() const { return data_->pus; }

const Pu* Topology::find_pu(unsigned os_index) const {
  const auto found = data_->position.find(os_index);
  return found == data_->position.end() ? nullptr : &data_->pus[found->second];
}

std::vector<unsigned> Topology::pu_os_indices() const {
  std::vector<unsigned> indices;
  indices.reserve(data_->pus.size());
  for (const Pu& pu : data_->pus) indices.push_back(pu.os_index);
  return indices;
}

unsigned Topology::core_count() const { return data_->cores; }
unsigned Topology::package_count() const { return data_->packages; }
unsigned Topology::machine_pu_count() const { return data_->machine_pus; }

std::span<const NumaNode> Topology::numa_nodes() const { return data_->nodes; }

const NumaNode* Topology::find_numa_node(unsigned os_index) const {
  for (const NumaNode& node : data_->nodes)
    if (node.os_index == os_index) return &node;
  return nullptr;
}

std::span<const CacheLevel> Topology::caches() const { return data_->caches; }

std::optional<CacheLevel> Topology::cache(int level) const {
  for (const CacheLevel& cache : data_->caches)
    if (cache.level == level) return cache;
  return std::nullopt;
}

std::span<const CpuKind> Topology::cpu_kinds() const { return data_->kinds; }

std::string Topology::restriction() const { return data_->restriction; }

std::string Topology::correction() const { return data_->correction; }

std::string Topology::summary() const {
  std::map<unsigned, std::set<unsigned>> cores_of_package;
  std::map<unsigned, std::set<unsigned>> pus_of_core;
  for (const Pu& pu : data_->pus) {
    cores_of_package[pu.package].insert(pu.core);
    pus_of_core[pu.core].insert(pu.os_index);
  }
  const unsigned cores = common_size(cores_of_package);
  const unsigned pus = common_size(pus_of_core);
  std::string text = counted(data_->packages, "package");
  if (cores > 0 && pus > 0) {
    text += " x " + counted(cores, "core") + " x " + counted(pus, "PU");
  } else {
    text += ", " + counted(data_->cores, "core");
    text += ", " + counted(data_->pus.size(), "PU");
  }
  return text + ", " + counted(data_->nodes.size(), "NUMA node");
}

}  // namespace tabane::core
