// What a fork costs, estimated from the mapped pages; how to reduce it; how much memory a team
// shares.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tabane::team {

// Smaller regions are not worth a system call.
inline constexpr std::uint64_t kLeastRegionBytes = std::uint64_t{4} << 20;

// The private memory of this process: a fork copies its page tables.
struct PrivateMemory {
  std::uint64_t small_page_bytes = 0, huge_page_bytes = 0;  // resident
  std::uint64_t preparable_bytes = 0;  // in small pages, in regions that can hold whole huge pages
};

// Reads /proc/self/smaps. throws: core::SystemError. cost: about as much as a fork.
PrivateMemory private_memory();

// What it takes on this machine to fork a child that ends at once, and to wait for it.
struct ForkCosts {
  double fixed_seconds = 0;                        // of a process without private memory
  double small_page_seconds = 0;                   // for each resident base page
  std::optional<double> huge_page_seconds;         // for each huge page; null: got none
  std::optional<double> prepare_seconds_per_byte;  // null as above
};

// Measures with a region of its own, in a child where the caller's large regions do not count.
// throws: core::SystemError. cost: one fork and about 0.1 s.
ForkCosts measure_fork_costs();

// Measures at the first call; later calls return the same.
const ForkCosts& fork_costs();

struct ForkEstimate {
  double seconds = 0;           // of one fork, the child's end and the wait, as memory is now
  double prepared_seconds = 0;  // after prepare_for_fork(); as `seconds` without huge pages
  double prepare_seconds = 0;   // of preparing, once
  PrivateMemory memory;
};

ForkEstimate estimate_fork(const PrivateMemory& memory, const ForkCosts& costs);

// Estimates from the mapped pages and fork_costs(). throws: core::SystemError.
ForkEstimate estimate_fork();

struct Preparation {
  std::uint64_t bytes = 0;       // that this call has put into huge pages
  std::uint64_t left_bytes = 0;  // for which the system had no huge pages
  std::string remark;            // why some are left; empty if none
};

// Puts the large private regions of this process into huge pages, so that a fork copies one entry
// instead of 512. Advises the kernel, and collapses pages where it can (MADV_COLLAPSE, Linux 6.1),
// even where huge pages were forbidden by advice. Addresses and content stay the same. Skips
// stacks, locked regions and regions that children do not inherit; also huge pages' worth of memory
// that are more than half empty or shared with another process, because they would take new memory.
// No other thread may unmap memory meanwhile. throws: core::SystemError if /proc cannot be read.
// cost: copies the memory once.
Preparation prepare_for_fork(std::uint64_t least_region_bytes = kLeastRegionBytes);

struct SharedMemory {
  std::uint64_t resident = 0;      // sum over the processes
  std::uint64_t proportional = 0;  // sum of PSS: what they occupy together
  std::uint64_t private_ = 0;      // sum of USS
  double shared_share() const;     // 1 - private / resident; 0 if nothing is resident
};
// Reads smaps_rollup of the processes, without those that are gone. throws: core::SystemError if
// the system does not let this process look.
SharedMemory shared_memory(std::span<const pid_t> pids);

// Names the other threads of this process, "4711 (worker)". Empty if the calling thread is alone;
// joined threads do not count. throws: core::SystemError if /proc cannot be read.
std::vector<std::string> other_threads();

// The loaded libraries that keep pools of threads, "libgomp"; their threads have the program's
// name.
std::vector<std::string> pool_libraries();

}  // namespace tabane::team
