// Threads that take a known part of the machine from a command, and what a program of tabane's own
// still gets meanwhile. They end with this process, however it ends.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tabane/core/memory.h"
#include "tabane/core/topology.h"
#include "tabane/tools/explain/evidence.h"

namespace tabane::lab::explain {

// All thieves together, which have a huge page each at least.
inline constexpr std::size_t kMostThiefBytes = std::size_t{96} << 20, kMostThieves = 48;

struct Theft {
  Resource what = Resource::units;  // bandwidth, cache, units, cpu_time or disk
  // bandwidth, cpu_time: share of each thread's time, above 0; cache: bytes, of all threads
  // together; of the others: not used.
  double amount = 1;
  int folder = -1;  // disk: an open directory on it
};

class Thieves {
 public:
  // bytes: that they may use, all together, and at least 1 MiB each; the memory is touched now.
  // throws: as core::Region and core::PinnedPool.
  explicit Thieves(std::span<const unsigned> pus, std::size_t bytes = 0);
  ~Thieves() { stop(); }

  std::size_t size() const { return shares_.size(); }
  // Returns once all threads have begun. They take no more than their memory is large enough for.
  void begin(const Theft& theft);
  // Returns once all have stopped.
  void stop();
  // Stops them. What was done a second: bandwidth, cache, disk: bytes; units:
  // floating-point operations; cpu_time: seconds on each PU. throws: core::SystemError if a thread
  // could not do it.
  double end();

 private:
  struct alignas(64) Share {
    unsigned pu = 0;
    core::Region memory = {};
    double rate = 0;
    std::exception_ptr failure = {};
  };
  void steal(const Theft& theft, Share& share, const std::stop_token& stop);

  std::vector<Share> shares_;
  std::optional<std::latch> begun_;
  std::vector<std::jthread> threads_;
};

// Whether thieves take some of the memory now. The PUs of a virtual machine share a cache and the
// way to the memory at some moments, and not at others.
class Sharing {
 public:
  // pus: the victim's.
  Sharing(Thieves& thieves, std::span<const unsigned> pus);
  bool look();  // cost: some 20 ms
  // Waits for such a moment; returns false if none came. Asks `go_on` meanwhile. throws: as go_on.
  bool wait(double most_seconds, const std::function<void()>& go_on);

 private:
  double rate();  // of streams past the caches, on the victim's PUs

  Thieves& thieves_;
  Thieves streams_;
  double alone_;
};

// What a theft leaves for a victim of tabane's own.
struct Leftover {
  double amount = 0;                   // of the theft
  double left = 0;                     // bandwidth: B/s; cache: bytes of it that a chase gets
  double speed = 0;                    // of the thieves, without a victim
  std::optional<double> latency = {};  // bandwidth: of a load from memory, relative to undisturbed
  double faults = 1;                   // bandwidth: of a page fault, relative to undisturbed
};

struct Calibration {
  // Each begins with what there is without a theft.
  std::vector<Leftover> bandwidth, cache;
  std::string no_memory, no_cache;  // why those could not be found; empty: they were
  // Time of a load from memory over one from the cache; null: not known, or nearly the same.
  std::optional<double> memory_over_cache;
  std::unique_ptr<Sharing> sharing;  // null: such moments were not seen
};

double seconds_of_a_fault();  // of one small page: the median of three times

// pus: those of the victim. cost: about two seconds, on a busy machine up to most_seconds and a
// little more, and for that long memory of 256 MiB and more. show: gets the share that is done.
// throws: as show.
Calibration calibrate(Thieves& thieves, std::span<const unsigned> pus,
                      const core::Topology& topology, double most_seconds,
                      const std::function<void(double)>& show);

}  // namespace tabane::lab::explain
