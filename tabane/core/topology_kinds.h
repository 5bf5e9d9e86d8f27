// Kinds of cores in one machine: what the system and hwloc say about them, in words.
#pragma once

#include <string>
#include <vector>

#include "tabane/core/system_files.h"
#include "tabane/core/topology.h"

namespace tabane::core {

// One of hwloc's kinds, which come slowest first. 0 or empty: not known.
struct DescribedKind {
  std::vector<unsigned> pus;
  std::string core_type = {};  // "IntelCore"
  double max_mhz = 0;
  double capacity = 0;  // the kernel's measure of speed; 1024 is the fastest
};

// Reads the lists of the kernel's counters on processors with two kinds of cores, such as
// /sys/devices/cpu_core/cpus; fastest first. Empty on others.
std::vector<CpuKind> read_cpu_kinds(const SystemFiles& files);

// Fastest first. Kinds whose speeds differ by less than a tenth are one: cores that may run a
// little faster than others are no kind of their own.
std::vector<CpuKind> name_kinds(std::vector<DescribedKind> described);

// Leaves out PUs that are not usable. Empty if fewer than two kinds are left.
std::vector<CpuKind> usable_kinds(std::vector<CpuKind> kinds, const std::vector<Pu>& pus);

}  // namespace tabane::core
