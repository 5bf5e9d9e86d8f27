// The mappings of a process as /proc/PID/smaps tells them.
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

}  // namespace tabane::team
