// What probes decide alike: where to run, how long, and which sizes represent a level of the
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/measurement.h"
#include "tabane/core/threads.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

// The PU on which single-core probes run: the last in topology order, as the first often serves
// interrupts; of several kinds of cores, the last of the fastest.
unsigned home_pu(const ProbeContext& context);

// The first usable PU of every core, in logical order.
std::vector<unsigned> one_pu_per_core(const core::Topology& topology);

// Options of a measurement in one pass that may take `seconds` per contender. What the machine did
// in other passes decides about the interval, so that a pass needs few samples.
core::MeasureOptions measure_options(const ProbeContext& context, double seconds);
// The same for work on several threads at once: epochs are long enough that leaving the barrier, at
// most some 100 ns a thread, does not show.
core::MeasureOptions parallel_options(const ProbeContext& context, double seconds,
                                      std::size_t threads);

// How curves name the base pages of this system: "4 KiB pages".
std::string base_pages();

// A level of the memory hierarchy and the working sets that represent it.
struct MemoryLevel {
  std::string name;                 // "l1", "l2", "l3", "dram"
  std::uint64_t core_bytes = 0;     // all arrays together, when one core works alone
  std::uint64_t machine_bytes = 0;  // all arrays of one core together, when all cores work
  std::uint64_t holds = 0;          // what is stated of the cache; 0: it is DRAM
  std::string impossible = {};      // why it cannot be measured here; empty: it can

  bool is_memory() const { return name == "dram"; }
  bool is_own() const { return name == "l1" || name == "l2"; }  // a core's; others are shared
};

// Of each cache half of what is stated, but at most 16 MiB, as a virtual machine may state the
// cache of its host and get a small part of it (and at least twice the level before it); for DRAM
// twelve times the last level cache, so that each of a triad's three streams is four times what a
// core can reach, which is 128 MiB at most, whatever is stated: for every core, also when all work,
// as the first of them may work alone, and virtual machines do not report which cores share a
// cache; but then at most six times those 128 MiB. Without known caches: l1 as 16 KiB and dram as
// 256 MiB. The DRAM sets of a core, and those of all cores together, are cut to a sixth of the
// memory, on this machine of what may be used of it now; below twice the last caches, most of what
// they ask for would come from there: then the level is impossible.
std::vector<MemoryLevel> memory_levels(const core::Topology& topology);

// Those of this survey: decided once, before its own memory leaves less. When quick, at most half
// of those sets of 1.5 GiB and 768 MiB for DRAM: a virtual machine may have to wait for fresh
// memory.
const std::vector<MemoryLevel>& memory_levels(ProbeContext& context);

// throws: NotHere with the reason if the level cannot be measured.
void require_possible(const MemoryLevel& level);

// What a probe may take of the memory that is left now: a sixth, as several hold theirs at the same
// time. Of the address space and the data that the process may have a quarter. throws: NotHere if
// the system does not report it.
double memory_allowance();

// throws: NotHere if the topology is not that of this machine.
inline void require_this_machine(const ProbeContext& context) {
  if (!context.topology().is_this_machine())
    throw NotHere("the topology describes another machine, so nothing can be bound");
}

// Reads the views of the probes aloud. Each function that completes a view is in the file of the
// probe that measures it.

// Each completes a view that is joined over the passes so far: note, marks, and what follows from
// results of its probe. It leaves a view without a curve of two points, or a matrix of one node,
// as it is.
void describe_core_rate(View& view, const Record& record);
void describe_bandwidth(View& view, const Record& record);
void describe_bandwidth_over_cores(View& view, const Record& record);
void describe_memcpy(View& view, const Record& record);
void describe_ladder_chart(View& view, const Record& record);
void describe_latency(View& view, const Record& record);
void describe_loaded_latency(View& view, const Record& record);
void describe_core_to_core(View& view, const Record& record);
void describe_numa(View& view, const Record& record);
void describe_fork_cost(View& view, const Record& record);
void describe_devices(View& view, const Record& record);
void describe_device_transfers(View& view, const Record& record);

// ---- what they share ----

// The samples times a factor.
std::vector<double> scaled(std::vector<double> samples, double factor);

// How long `work` takes, in seconds.
double time_of(const auto& work) {
  core::Clock& clock = core::tick_clock();
  const double begin = clock.now();
  work();
  return clock.now() - begin;
}

// Adds the median of the samples and its interval.
void add_point(Curve& curve, double x, const std::vector<double>& samples);

// 1, 2 … all cores: each up to `each` of them, then about so many an octave.
std::vector<std::size_t> core_counts(std::size_t cores, std::size_t each);

// Takes out curves without points. Returns whether one of at least two points is left. Those below
// take curves with points, from the smallest x up.
bool keep_drawable(Curves& curves);

// What the curve says of each cache and of the largest size: "1.2 ns in L1, 3.9 ns in L2 and …".
std::string levels_sentence(const Record& record, const Curve& curve, std::string_view unit);

// Marks the machine's caches on the x axis. Returns the sentence that says so; empty: there are
// none.
std::string mark_caches(const Record& record, Curves& curves);

std::string count_cores(double n);  // "1 core", "2 cores"

}  // namespace tabane::lab
