// What the processor counts by itself (perf_event_open), and the energy that its packages take
// (RAPL), as far as the system allows. What it does not allow is not counted, without a word.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tabane/core/file.h"
#include "tabane/core/system_files.h"

namespace tabane::core {

enum class Counted {
  thread,    // what the calling thread does
  programs,  // what the programs do that it starts meanwhile, with all that they start
};

// An event of <linux/perf_event.h>, of programs and not of the kernel on their behalf.
struct CounterEvent {
  const char* name;
  std::uint32_t type;
  std::uint64_t config;
};
// Returns a descriptor that gives the count, the time it was wanted and the time it counted; -1 if
// there is no such counter or it is forbidden.
int open_counter(const CounterEvent& event, Counted what);
using OpenCounter = std::function<int(const CounterEvent&, Counted)>;

namespace events {
inline constexpr const char* kInstructions = "instructions";
inline constexpr const char* kCycles = "cycles";
inline constexpr const char* kCacheMisses = "cache_misses";
inline constexpr const char* kTlbMisses = "tlb_misses";  // of loads of data
inline constexpr const char* kEnergy = "energy_j";       // of all packages, whoever used it
}  // namespace events

using Counts = std::vector<std::pair<const char*, double>>;

class Counters {
 public:
  explicit Counters(Counted what, OpenCounter open = open_counter,
                    SystemFiles files = SystemFiles());

  std::vector<std::string> names() const;  // of what is counted here

  // For the calling thread. Counters are open until stop() only: starting a program takes about
  // 20 µs longer meanwhile.
  void start();
  // Returns what was counted since start(); of a counter that had to share its place an estimate.
  // No energy for less than 10 ms: the processor adds it up in steps. Nor for so long that its
  // counter may have begun again more than once.
  Counts stop();

 private:
  struct Event {
    CounterEvent event;
    Descriptor file = {};
  };
  struct Package {
    std::string folder;
    std::optional<double> before = {};  // µJ
  };
  Counted what_;
  OpenCounter open_;
  std::vector<Event> events_;
  SystemFiles files_;
  std::vector<Package> packages_;
  std::chrono::steady_clock::time_point began_{};
};

}  // namespace tabane::core
