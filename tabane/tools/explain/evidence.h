// What was measured of a command to explain its time: runs with something taken away or given, and
// what was seen of undisturbed runs. Plain data; nothing here has been judged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tabane/core/counters.h"

namespace tabane::lab::explain {

enum class Resource {
  // Taken away by thieves.
  bandwidth,  // taken: 0 … 1, the share of the memory bandwidth that a stream of our own loses
  cache,      // taken: bytes of the shared cache that the thief holds, as its own speed shows
  units,      // taken: 1, an FMA thief on a PU of the same core, or on another PU
  cpu_time,   // taken: 0 … 1, the share of the time of the command's PUs
  disk,       // taken: 0 … 1, the share of the time in which a thief uses the same disk
  cold,       // taken: 1, the files are not in memory
  remote,     // taken: 1, memory on another NUMA node
  // Changed.
  threads,     // taken: their number; the undisturbed one is a level, too, with samples of 1
  huge_pages,  // taken: 1 (given)
  allocator,   // taken: 1 (given)
  prefault,    // taken: 1 (given)
  local,       // taken: 1 (given): memory and threads on one NUMA node
};
inline constexpr int kResources = 12;

struct Level {
  double taken = 0;
  // Time relative to the undisturbed run next to it in turn: above 1 is slower.
  std::vector<double> slowdowns = {};
  // Of bandwidth: how many times as long a load takes that waits for the one before, in memory of
  // our own; null: not measured.
  std::optional<double> latency = {};
  std::optional<double> cpu = {};  // user and system time relative to the undisturbed runs
};

// One thing that was changed, by several amounts.
struct Trial {
  Resource resource = Resource::bandwidth;
  std::vector<Level> levels = {};  // ascending by taken; without samples: was not reached
  std::string how = {};            // one sentence: what took it, where, and how it was calibrated
  std::string untried = {};        // why it was not tried; empty: it was
  std::string option = {};         // of `tabane run` that gives it: "--huge-pages"; {} is the level
};

// What a thread of the command does, looked at many times a second.
enum class Doing {
  running,
  runnable,  // waits for a PU
  lock,      // futex and the like: for other threads
  pipe,      // for the other end of a pipe
  network,   // sockets, poll, select
  disk,
  child,  // for processes that it has started, or threads by wait4
  sleep,
  other,
};
inline constexpr int kDoings = 9;

// One thread of any of the command's processes, over all looks at undisturbed runs.
struct ThreadSeen {
  std::string name = {};  // of its program
  std::int64_t process = 0, id = 0;
  double cpu_seconds = 0;      // as last seen
  double looks[kDoings] = {};  // how often it did what
  double alone = 0;            // of these: it ran, and no other thread of the command did
  double seen() const {
    double all = 0;
    for (const double count : looks) all += count;
    return all;
  }
};

// How many threads did what at one moment of an undisturbed run.
struct Moment {
  double seconds = 0;  // since the start
  int threads[kDoings] = {};
};

// Medians of the undisturbed runs; null: not known.
struct Observed {
  std::vector<double> seconds = {};  // wall time of each, in order; with repeats: of one
  double user = 0, system = 0;       // seconds
  double minor_faults = 0, major_faults = 0;
  double voluntary_switches = 0, involuntary_switches = 0;
  std::optional<double> peak_bytes = {};
  std::optional<double> queue_delay = {};  // seconds that its threads waited for a PU, together
  std::optional<double> disk_delay = {};   // seconds that they waited for disks, together
  std::optional<double> stolen = {};       // share of the PUs' time that other guests had
  std::optional<double> others_pus = {};   // PUs busy with other programs meanwhile
  std::optional<double> pressure_cpu = {}, pressure_memory = {}, pressure_io = {};  // PSI, shares
  std::optional<double> read_bytes = {}, written_bytes = {};                        // of disks
  std::optional<double> passed_bytes = {};  // by read and write, whatever they read from
  std::vector<ThreadSeen> threads = {};     // of one run, the one with most looks
  std::vector<Moment> moments = {};         // of the same run, in order
  core::Counts counts = {};                 // where the system allows it
};

struct MachineLimits {
  int pus = 1;                               // that the command may use
  std::optional<double> bandwidth = {};      // bytes/s of memory, as our own stream gets it alone
  std::optional<double> cache = {};          // bytes of the shared cache
  std::optional<double> fault_seconds = {};  // one page fault of our own
};

// One run in the order in which they were taken.
struct Run {
  std::optional<Resource> resource = {};  // null: undisturbed
  double taken = 0;
  double seconds = 0;
};

struct Evidence {
  std::string command = {};  // as typed
  int threads = 1;           // that it runs with when undisturbed, as far as known
  MachineLimits machine = {};
  Observed observed = {};
  std::vector<Trial> trials = {};
  std::vector<Run> runs = {};
  std::vector<std::string> notes = {};  // for the reader: a busy machine, PUs that are shared
  double seconds = 0;                   // that all took
  bool complete = true;                 // false: stopped by the user
};

}  // namespace tabane::lab::explain
