// What a fork costs from the mapped pages, how to cut it, and how much memory a team shares.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tabane::team {

// Smaller regions are not worth a call.
inline constexpr std::uint64_t kLeastRegionBytes = std::uint64_t{4} << 20;

// The private memory of this process that a fork copies the page tables of.
struct PrivateMemory {
  std::uint64_t small_page_bytes = 0, huge_page_bytes = 0;  // resident
  std::uint64_t preparable_bytes = 0;  // in small pages, in regions that can hold whole huge pages
};

// Reads /proc/self/smaps. throws: core::SystemError. cost: about as much as a fork.
PrivateMemory private_memory();

// What one fork, the child's end at once and the wait for it take on this machine.
struct ForkCosts {
  double fixed_seconds = 0;                        // of a process without private memory
  double small_page_seconds = 0;                   // added by every resident base page
  std::optional<double> huge_page_seconds;         // added by every huge page; null: got none
  std::optional<double> prepare_seconds_per_byte;  // null as above
};

// Measures with a region of its own, in a child that keeps the caller's large regions from the
// forks. throws: core::SystemError. cost: one fork and about 0.1 s.
ForkCosts measure_fork_costs();

// What the first call measured.
const ForkCosts& fork_costs();

struct ForkEstimate {
  double seconds = 0;           // of one fork, its end and the wait now
  double prepared_seconds = 0;  // after prepare_for_fork(); as `seconds` without huge pages
  double prepare_seconds = 0;   // of preparing, once
  PrivateMemory memory;
};

ForkEstimate estimate_fork(const PrivateMemory& memory, const ForkCosts& costs);

// Estimates from the mapped pages and fork_costs(). throws: core::SystemError.
ForkEstimate estimate_fork();

struct Preparation {
  std::uint64_t bytes = 0;       // now in huge pages that were not
  std::uint64_t left_bytes = 0;  // preparable, but the system gave no huge pages
  std::string remark;            // why some are left; empty if none
};

// Puts the large private regions of this process into huge pages, so that a fork copies one entry
// instead of 512: advises, and collapses where the kernel can (MADV_COLLAPSE, Linux 6.1). The
// memory stays where it is and keeps its content; also where huge pages were forbidden by advice.
// Left as they are: stacks, locked regions, those that children do not inherit, and huge pages'
// worth of memory that are more than half empty or shared with another process, which would take
// new memory. No other thread may unmap memory meanwhile. throws: core::SystemError if /proc cannot
// be read. cost: copies the memory once.
Preparation prepare_for_fork(std::uint64_t least_region_bytes = kLeastRegionBytes);

struct SharedMemory {
  std::uint64_t resident = 0;      // sum over the processes
  std::uint64_t proportional = 0;  // sum of PSS: what they take together
  std::uint64_t private_ = 0;      // sum of USS
  double shared_share() const;     // 1 - private / resident; 0 if nothing is resident
};
// Reads smaps_rollup of the processes; those that are gone are left out. throws: core::SystemError
// if one may not be looked at.
SharedMemory shared_memory(std::span<const pid_t> pids);

// Names the threads of this process beside the calling one: "4711 (worker)", and the libraries
// loaded that keep pools: "libgomp". Empty if the calling thread is alone; joined threads do not
// count. throws: core::SystemError if /proc cannot be read.
std::vector<std::string> other_threads();

}  // namespace tabane::team
