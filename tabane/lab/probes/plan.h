// What probes decide alike: where to run, how long, and which sizes stand for a level of the
// memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tabane/core/measurement.h"
#include "tabane/core/placement.h"
#include "tabane/lab/probe.h"

namespace tabane::lab {

// The PU on which single-core probes run: the last in topology order, as the first often serves
// interrupts.
unsigned home_pu(const ProbeContext& context);

// The first usable PU of every core, in logical order.
std::vector<unsigned> one_pu_per_core(const core::Topology& topology);

// Options of a measurement that may take `seconds`; on several threads the epochs are long enough
// that starting and joining the threads (some ten microseconds) does not show.
core::MeasureOptions measure_options(const ProbeContext& context, double seconds);
core::MeasureOptions parallel_options(const ProbeContext& context, double seconds);

// How curves name the base pages of this system: "4 KiB pages".
std::string base_pages();

// A level of the memory hierarchy and the working sets that stand for it.
struct MemoryLevel {
  std::string name;                 // "l1", "l2", "l3", "dram"
  std::uint64_t core_bytes = 0;     // all arrays together, when one core works alone
  std::uint64_t machine_bytes = 0;  // all arrays of one core together, when all cores work
};

// Half of each cache (and at least twice the level before it), and for DRAM four times the last
// level cache: of one instance for a core alone, of all instances divided by the cores for all
// cores. Without known caches: l1 as 16 KiB and dram as 256 MiB. DRAM sets are cut to a quarter of
// the memory, on this machine of what may be used of it now.
std::vector<MemoryLevel> memory_levels(const core::Topology& topology);

}  // namespace tabane::lab
