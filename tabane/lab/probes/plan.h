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
// interrupts; of several kinds of cores, the last of the fastest.
unsigned home_pu(const ProbeContext& context);

// The first usable PU of every core, in logical order.
std::vector<unsigned> one_pu_per_core(const core::Topology& topology);

// Options of a measurement in one pass that may take `seconds` per competitor. What the machine did
// in other passes decides about the interval, so that a pass needs few samples.
core::MeasureOptions measure_options(const ProbeContext& context, double seconds);
// The same for work on so many threads at once: epochs are long enough that leaving the barrier, at
// most some 100 ns a thread, does not show.
core::MeasureOptions parallel_options(const ProbeContext& context, double seconds,
                                      std::size_t threads);

// How curves name the base pages of this system: "4 KiB pages".
std::string base_pages();

// A level of the memory hierarchy and the working sets that stand for it.
struct MemoryLevel {
  std::string name;                 // "l1", "l2", "l3", "dram"
  std::uint64_t core_bytes = 0;     // all arrays together, when one core works alone
  std::uint64_t machine_bytes = 0;  // all arrays of one core together, when all cores work
  std::string impossible = {};      // why it cannot be measured here; empty: it can
};

// Half of each cache (and at least twice the level before it), and for DRAM twelve times the last
// level cache, so that each of a triad's three streams is four times what a core can reach: for
// every core, also when all work, as the first of them may work alone, and virtual machines do not
// tell which cores share a cache. Without known caches: l1 as 16 KiB and dram as 256 MiB. The DRAM
// sets of a core, and those of all cores together, are cut to a sixth of the memory, on this
// machine of what may be used of it now; below twice the last caches, most of what they ask for
// would come from there: then the level is impossible.
std::vector<MemoryLevel> memory_levels(const core::Topology& topology);

// Those of this survey: decided once, before its own memory leaves less.
const std::vector<MemoryLevel>& memory_levels(ProbeContext& context);

// throws: NotHere with the reason if the level cannot be measured.
void require_possible(const MemoryLevel& level);

// What a probe may take of the memory that is left now: a sixth, as several hold theirs at the same
// time. Of the address space and the data that the process may have a quarter. throws: NotHere if
// the system does not tell.
double memory_allowance();

}  // namespace tabane::lab
