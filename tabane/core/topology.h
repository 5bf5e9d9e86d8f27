// The machine as this process may use it: PUs, cores, caches, packages and NUMA nodes, through
// hwloc.
//
// Numbers that people type and read are the operating system's (os_index); logical_index counts in
// topology order, so neighbours in it share caches. HWLOC_SYNTHETIC and HWLOC_XMLFILE give another
// machine than the real one: then is_this_machine() is false and nothing can be bound.
// HWLOC_FSROOT gives copies of /proc and /sys. HWLOC_HIDE_ERRORS and HWLOC_PLUGINS_PATH are set
// during a detection, if the user has not set them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tabane::core {

struct Pu {
  unsigned os_index = 0;
  unsigned logical_index = 0;     // position in Topology::pus()
  unsigned core = 0;              // logical index of its core, counted over usable cores
  unsigned smt = 0;               // 0 for the first usable PU of the core, 1 for the next …
  unsigned package = 0;           // logical index
  unsigned last_level_cache = 0;  // logical index of the largest cache that it shares
  unsigned numa_node = 0;         // os_index of the nearest node
};

struct CacheLevel {
  int level = 0;                           // 1, 2, 3 …; data or unified
  std::uint64_t bytes = 0;                 // of one instance
  unsigned line_bytes = 0;                 // 0: not known
  unsigned instances = 0;                  // among the usable PUs
  unsigned pus_sharing = 0;                // usable PUs on the first instance
  std::vector<std::vector<unsigned>> pus;  // of each instance: os indices of its usable PUs
};

struct NumaNode {
  unsigned os_index = 0;
  std::uint64_t bytes = 0;    // local memory; 0: not known or none
  std::vector<unsigned> pus;  // os indices of the usable PUs nearest to it; empty: memory only
};

struct CpuKind {
  std::string name;           // "performance cores", "cores up to 2.00 GHz"
  std::vector<unsigned> pus;  // os indices, ascending
};

class Topology {
 public:
  // Reads the machine; respects the cgroup's cpuset and the affinity mask of the calling thread.
  // throws: SystemError if hwloc cannot load it, UsageError if HWLOC_SYNTHETIC or HWLOC_XMLFILE is
  // bad.
  static Topology detect();
  // Reads a synthetic machine, for example "pack:4 core:4 pu:1". throws: UsageError.
  static Topology synthetic(const std::string& description);

  // The machine of detect() in hwloc's own XML, as lstopo writes it; empty where hwloc cannot.
  // throws: as detect().
  static std::string xml();

  bool is_this_machine() const;

  // Usable PUs in logical order; never empty.
  std::span<const Pu> pus() const;
  // Returns null if os_index is not usable.
  const Pu* find_pu(unsigned os_index) const;
  std::vector<unsigned> pu_os_indices() const;

  unsigned core_count() const;  // usable
  unsigned package_count() const;
  unsigned machine_pu_count() const;  // online in the whole machine, usable or not

  // Usable nodes by os_index; at least one (a machine without NUMA is one node).
  std::span<const NumaNode> numa_nodes() const;
  const NumaNode* find_numa_node(unsigned os_index) const;

  // From level 1 up; empty where the system does not say.
  std::span<const CacheLevel> caches() const;
  std::optional<CacheLevel> cache(int level) const;

  // The kinds of cores, fastest first, on a machine that has several; else empty. PUs whose kind is
  // not known are in none.
  std::span<const CpuKind> cpu_kinds() const;

  // What keeps PUs or nodes from this process, in words, for example "the affinity mask of this
  // process (taskset, a batch system or a cgroup's cpuset)"; empty if all PUs are usable.
  std::string restriction() const;

  // What hwloc had wrong about this machine and is right here, in one sentence; empty: nothing.
  std::string correction() const;

  // One line of ASCII: "2 packages x 8 cores x 2 PUs, 2 NUMA nodes"; where packages or cores
  // differ, their totals: "1 package, 3 cores, 4 PUs, 1 NUMA node".
  std::string summary() const;

 private:
  struct Data;
  explicit Topology(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  static Topology load(const std::string* synthetic);
  std::shared_ptr<const Data> data_;
};

}  // namespace tabane::core
