// The mappings of a process, as /proc/PID/smaps lists them: how much of its memory a fork copies,
// and how to make that less.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tabane::team {

struct Mapping {
  std::uintptr_t begin = 0, end = 0;
  bool is_private = false, writable = false;
  bool of_file = false;
  std::string name;             // "/usr/bin/x", "[heap]"; often empty
  std::uint64_t anonymous = 0;  // resident bytes, huge ones included
  std::uint64_t huge = 0;       // of these in huge pages
  std::string flags;            // two letters each, as the kernel writes them: "rd wr mr mw me ac"

  bool has_flag(std::string_view two_letters) const;
};

// Lines that are not known or not well formed are skipped.
std::vector<Mapping> parse_memory_map(std::string_view smaps);

// throws: core::SystemError.
std::vector<Mapping> own_memory_map();

struct Range {
  std::uintptr_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};

// The whole huge pages inside a mapping that may be put into huge pages; empty if it may not:
// shared, read-only, of a file, a stack, locked, not inherited, special, or smaller than
// least_bytes.
Range preparable_range(const Mapping& mapping, std::uint64_t least_bytes, std::size_t huge_page);

// Resident bytes of the mapping that are there in small pages; 0 if it may not be prepared.
std::uint64_t preparable_bytes(const Mapping& mapping, std::uint64_t least_bytes,
                               std::size_t huge_page);

// Smaller regions are not worth a system call.
inline constexpr std::uint64_t kLeastRegionBytes = std::uint64_t{4} << 20;

// The private memory of this process: a fork copies its page tables.
struct PrivateMemory {
  std::uint64_t small_page_bytes = 0, huge_page_bytes = 0;  // resident
  std::uint64_t preparable_bytes = 0;  // in small pages, in regions that can hold whole huge pages
};

// Reads /proc/self/smaps. throws: core::SystemError. cost: about as much as a fork.
PrivateMemory private_memory();

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

}  // namespace tabane::team
