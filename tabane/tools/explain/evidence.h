// What was measured of a command to explain its time: runs with something taken away or given, and
// what was seen of undisturbed runs. Plain data; nothing here has been judged.
#pragma once

#include <array>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "tabane/core/counters.h"

namespace tabane::lab::explain {

enum class Resource {
  // Taken away by thieves.
  bandwidth,  // taken: 0 … 1, the share of the memory bandwidth that a stream of our own loses
  cache,      // taken: bytes of the shared cache that a chase of our own loses
  units,      // taken: 1, an FMA thief on a PU of the same core (with a setting), or on another PU
  cpu_time,   // taken: 0 … 1, the share of the time of the command's PUs
  disk,       // taken: 1, a thief uses the same disk all the time
  cold,       // taken: 1, the files are not in memory
  remote,     // taken: 1, memory on another NUMA node
  // Changed.
  threads,     // taken: their number; the undisturbed one is a level, too, with samples of 1
  huge_pages,  // taken: 1 (given)
  allocator,   // taken: 1 (given); a level for each allocator
  local,       // taken: 1 (given): threads and memory on one NUMA node
};

struct Level {
  double taken = 0;
  // Time relative to the undisturbed runs of the same round: above 1 is slower.
  std::vector<double> slowdowns = {};
  std::string setting = {};  // "jemalloc"; also what is put into Trial::option for {}
  // Of bandwidth: how many times as long a load takes that waits for the one before, in memory of
  // our own; null: not measured.
  std::optional<double> latency = {};
  double faults = 1;  // of bandwidth: the same of a page fault of our own
  // The thief's speed in these runs over its speed alone: well below 1, a cache thief did not hold
  // what it was to hold.
  double own_speed = 1;
};

// One thing that was changed, by several amounts.
struct Trial {
  Resource resource = Resource::bandwidth;
  std::vector<Level> levels = {};  // ascending by taken; without samples: was not reached
  std::string how = {};            // one sentence: what took it, where, and how it was calibrated
  std::string untried = {};        // why it was not tried; empty: it was
  std::string option = {};         // of `tabane run`, which give nothing else: "… --malloc {}"
};

// What a thread of the command does, looked at many times a second.
enum class Doing {
  running,
  runnable,  // waits for a PU
  lock,      // futex and the like: for other threads
  pipe,      // for the other end of a pipe
  network,   // sockets, poll, select
  disk,
  child,  // for processes that it has started
  sleep,
  other,
};
inline constexpr std::size_t kDoings = 9;

// How often each was seen, or how many threads did it at one moment.
struct Looks : std::array<int, kDoings> {
  int operator()(Doing doing) const { return (*this)[static_cast<std::size_t>(doing)]; }
  int& operator()(Doing doing) { return (*this)[static_cast<std::size_t>(doing)]; }
  int wanting() const { return (*this)(Doing::running) + (*this)(Doing::runnable); }  // a PU
  int all() const { return std::accumulate(begin(), end(), 0); }
};

// One thread of any of the command's processes, over all looks at undisturbed runs.
struct ThreadSeen {
  std::string name = {};   // of its program
  double cpu_seconds = 0;  // as last seen, of all these runs
  Looks looks = {};
  int alone = 0;  // of these: it ran, and no other thread of the command did
};

// What the threads did at one moment of the undisturbed runs.
struct Moment {
  double seconds = 0;  // since the start of the first
  Looks threads = {};
};

// Of the undisturbed runs: medians over them, of all threads together. Null: not known.
struct Observed {
  std::vector<double> seconds = {};  // wall time of each sample, in order
  double user = 0, system = 0;       // seconds
  double minor_faults = 0;
  std::optional<double> disk_bytes = {};  // read and written
  std::vector<ThreadSeen> threads = {};   // of all runs that were watched, equal ones as one
  std::vector<Moment> moments = {};       // of the same runs, one after the other
  core::Counts counts = {};               // of one run, where the system allows it
};

struct MachineLimits {
  int pus = 1;                           // that the command may use
  int victim_pus = 1;                    // that it has while thieves have the others
  std::optional<double> bandwidth = {};  // bytes/s of a stream of our own, alone on those PUs
  std::optional<double> cache = {};      // bytes of the shared cache that a chase of our own gets
  // A load of our own chase from memory over one from the shared cache; null: not measured.
  std::optional<double> memory_over_cache = {};
  std::optional<double> fault_seconds = {};  // one page fault of our own
};

struct Run {
  std::string changed;  // "memory bandwidth", "undisturbed"
  double seconds = 0;
};

struct Evidence {
  std::string command = {};  // as typed
  MachineLimits machine = {};
  Observed observed = {};
  std::vector<Trial> trials = {};
  std::vector<Run> runs = {};           // as they were taken, of whole rounds; none that failed
  std::vector<std::string> notes = {};  // for the reader: a busy machine, PUs that are shared
  double seconds = 0;                   // that all took
  bool complete = true;                 // false: stopped by the user
};

}  // namespace tabane::lab::explain
