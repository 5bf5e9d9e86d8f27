#include "tabane/team/memory_map.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <utility>

#include "tabane/core/file.h"
#include "tabane/core/memory.h"
#include "tabane/core/units.h"
#include "tabane/team/proc.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace tabane::team {
namespace {

std::optional<std::uintptr_t> hexadecimal(std::string_view text) {
  std::uintptr_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return {};
  return value;
}

// "7f0c00000000-7f0c00021000 rw-p 00000000 00:00 0    [heap]"
std::optional<Mapping> parse_head(std::string_view line) {
  std::string_view range = take_word(line);
  const auto begin = hexadecimal(take_until(range, '-'));
  const auto end = hexadecimal(range);
  const std::string_view permissions = take_word(line);
  if (!begin || !end || *end < *begin || permissions.size() < 4) return {};
  take_word(line);  // offset
  take_word(line);  // device
  const std::string_view inode = take_word(line);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  Mapping mapping;
  mapping.begin = *begin;
  mapping.end = *end;
  mapping.writable = permissions[1] == 'w';
  mapping.is_private = permissions[3] == 'p';
  mapping.of_file = inode != "0";
  mapping.name = line;
  return mapping;
}

void take_field(std::string_view line, Mapping& mapping) {
  const std::string_view key = take_until(line, ':');
  if (key == "Anonymous") mapping.anonymous = kib(line);
  if (key == "AnonHugePages") mapping.huge = kib(line);
  if (key == "VmFlags") mapping.flags = line;
}

// A lower-case hexadecimal digit begins the head of a mapping, a capital letter a field.
bool begins_mapping(std::string_view line) {
  return !line.empty() &&
         ((line[0] >= '0' && line[0] <= '9') || (line[0] >= 'a' && line[0] <= 'f'));
}

bool may_be_prepared(const Mapping& mapping) {
  const bool anonymous = !mapping.of_file && (mapping.name.empty() || mapping.name == "[heap]" ||
                                              mapping.name.starts_with("[anon:"));
  if (!anonymous || !mapping.is_private || !mapping.writable) return false;
  // Grows down, locked, not inherited, emptied in the child, device memory, huge pages of their
  // own, watched by userfaultfd, shadow stack.
  constexpr std::array<std::string_view, 11> kNot = {"gd", "lo", "dc", "wf", "io", "pf",
                                                     "mm", "ht", "um", "uw", "ss"};
  return std::ranges::none_of(kNot, [&](std::string_view flag) { return mapping.has_flag(flag); });
}

}  // namespace

bool Mapping::has_flag(std::string_view two_letters) const {
  std::string_view left = flags;
  while (!left.empty()) {
    if (take_word(left) == two_letters) return true;
  }
  return false;
}

std::vector<Mapping> parse_memory_map(std::string_view smaps) {
  std::vector<Mapping> map;
  while (!smaps.empty()) {
    const std::string_view line = take_until(smaps, '\n');
    if (begins_mapping(line)) {
      if (auto mapping = parse_head(line)) map.push_back(std::move(*mapping));
    } else if (!map.empty()) {
      take_field(line, map.back());
    }
  }
  return map;
}

std::vector<Mapping> own_memory_map() {
  return parse_memory_map(core::read_file("/proc/self/smaps"));
}

Range preparable_range(const Mapping& mapping, std::uint64_t least_bytes, std::size_t huge_page) {
  if (huge_page == 0 || mapping.end - mapping.begin < least_bytes) return {};
  if (!may_be_prepared(mapping)) return {};
  const std::uintptr_t begin = (mapping.begin + huge_page - 1) / huge_page * huge_page;
  const std::uintptr_t end = mapping.end / huge_page * huge_page;
  return begin < end ? Range{begin, end} : Range{};
}

std::uint64_t preparable_bytes(const Mapping& mapping, std::uint64_t least_bytes,
                               std::size_t huge_page) {
  const std::uint64_t whole = preparable_range(mapping, least_bytes, huge_page).size();
  const std::uint64_t small = mapping.anonymous - std::min(mapping.huge, mapping.anonymous);
  return std::min(small, whole - std::min(mapping.huge, whole));
}

PrivateMemory private_memory() {
  PrivateMemory memory;
  const std::size_t huge_page = core::huge_page_bytes();
  for (const Mapping& mapping : own_memory_map()) {
    // What children do not inherit costs nothing.
    if (!mapping.is_private || mapping.has_flag("dc")) continue;
    memory.huge_page_bytes += mapping.huge;
    memory.small_page_bytes += mapping.anonymous - std::min(mapping.huge, mapping.anonymous);
    memory.preparable_bytes += preparable_bytes(mapping, kLeastRegionBytes, huge_page);
  }
  return memory;
}

namespace {

// Looking through a mapping's pages costs 8 bytes for each, there or not.
constexpr std::uint64_t kMostPagesPerResident = 16;
constexpr std::size_t kHugePagesPerCall = 512, kHugePagesGivenUp = 8;
constexpr int kTries = 3;

void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

// Which pages of this process are there.
class PageMap {
 public:
  bool readable() const { return file_.valid(); }

  // At least half of the base pages of the block are there and mapped by this process only.
  bool mostly_own(Range block) const {
    constexpr std::uint64_t kThere = std::uint64_t{1} << 63, kOwn = std::uint64_t{1} << 56;
    const std::size_t page = core::page_bytes();
    std::array<std::uint64_t, 512> entries{};
    std::size_t own = 0;
    for (std::uintptr_t at = block.begin; at < block.end; at += entries.size() * page) {
      const std::size_t wanted = std::min(entries.size(), (block.end - at) / page) * 8;
      const ssize_t got =
          pread(file_.get(), entries.data(), wanted, static_cast<off_t>(at / page * 8));
      if (got != static_cast<ssize_t>(wanted)) return false;
      own += static_cast<std::size_t>(std::count_if(
          entries.begin(), entries.begin() + wanted / 8,
          [](std::uint64_t entry) { return (entry & kThere) != 0 && (entry & kOwn) != 0; }));
    }
    return 2 * own * page >= block.size();
  }

 private:
  core::Descriptor file_{open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)};
};

// Runs of huge pages' worth of memory that may be collapsed without taking much new memory.
std::vector<Range> full_runs(Range range, std::uint64_t resident, const PageMap& pages,
                             std::size_t huge_page) {
  if (resident * kMostPagesPerResident < range.size()) return {};
  if (!pages.readable()) {
    return 2 * resident >= range.size() ? std::vector{range} : std::vector<Range>{};
  }
  std::vector<Range> runs;
  for (std::uintptr_t at = range.begin; at < range.end; at += huge_page) {
    if (!pages.mostly_own({at, at + huge_page})) continue;
    if (!runs.empty() && runs.back().end == at) {
      runs.back().end += huge_page;
    } else {
      runs.push_back({at, at + huge_page});
    }
  }
  return runs;
}

// What the system answered when it did not collapse.
struct Refusals {
  bool no_memory = false, busy = false, other = false;
};

// The kernel ends a call at the first huge page that it refuses for good, so such a part is halved
// until it is small.
void collapse(Range part, std::size_t huge_page, Refusals& refusals) {
  if (refusals.no_memory) return;
  int error = EAGAIN;
  for (int i = 0; i < kTries && (error == EAGAIN || error == EINTR); ++i) {
    error = madvise(pointer(part.begin), part.size(), MADV_COLLAPSE) == 0 ? 0 : errno;
  }
  if (error == 0) return;
  if (error == ENOMEM || error == EBUSY) {  // EBUSY: the memory cgroup is full
    refusals.no_memory = true;
  } else if (error == EAGAIN) {
    refusals.busy = true;
  } else if (part.size() <= kHugePagesGivenUp * huge_page) {
    refusals.other = true;
  } else {
    const std::uintptr_t middle = part.begin + part.size() / huge_page / 2 * huge_page;
    collapse({part.begin, middle}, huge_page, refusals);
    collapse({middle, part.end}, huge_page, refusals);
  }
}

// Every call waits until all CPUs have emptied their page caches, so the parts are large.
void collapse_in_parts(Range run, std::size_t huge_page, Refusals& refusals) {
  const std::size_t step = kHugePagesPerCall * huge_page;
  for (std::uintptr_t at = run.begin; at < run.end; at += std::min(step, run.end - at)) {
    collapse({at, at + std::min(step, run.end - at)}, huge_page, refusals);
  }
}

struct Huge {
  std::uint64_t bytes = 0, left = 0;
};

Huge huge_now(const std::vector<Mapping>& map, std::uint64_t least_bytes, std::size_t huge_page) {
  Huge now;
  for (const Mapping& mapping : map) {
    now.bytes += mapping.is_private ? mapping.huge : 0;
    now.left += preparable_bytes(mapping, least_bytes, huge_page);
  }
  return now;
}

std::string reason(bool can_collapse, const Refusals& refusals) {
  if (!can_collapse) {
    return "this kernel cannot collapse pages on request (Linux 6.1 can), so they become huge in "
           "the background or when they are touched anew";
  }
  if (refusals.no_memory) return "the system has no more free huge pages";
  if (refusals.busy) return "pages were in use by the kernel";
  if (refusals.other) return "the system refused to collapse them";
  return "they are scattered over regions that are mostly empty, or shared with another process";
}

}  // namespace

Preparation prepare_for_fork(std::uint64_t least_region_bytes) {
  const std::size_t huge_page = core::huge_page_bytes();
  Preparation done;
  if (huge_page == 0) {
    done.remark = "the system has no transparent huge pages";
    return done;
  }
  const std::vector<Mapping> before = own_memory_map();
  // The kernel checks the advice before it finds that the range is empty.
  const bool can_collapse = madvise(pointer(huge_page), 0, MADV_COLLAPSE) == 0;
  const PageMap pages;
  Refusals refusals;
  for (const Mapping& mapping : before) {
    if (preparable_bytes(mapping, least_region_bytes, huge_page) < huge_page / 2) continue;
    const Range range = preparable_range(mapping, least_region_bytes, huge_page);
    for (const Range run : full_runs(range, mapping.anonymous, pages, huge_page)) {
      madvise(pointer(run.begin), run.size(), MADV_HUGEPAGE);
      if (can_collapse) collapse_in_parts(run, huge_page, refusals);
    }
  }
  const Huge was = huge_now(before, least_region_bytes, huge_page);
  const Huge is = huge_now(own_memory_map(), least_region_bytes, huge_page);
  done.bytes = is.bytes - std::min(was.bytes, is.bytes);
  done.left_bytes = is.left;
  // What lies between whole huge pages at a region's ends is left without a word.
  if (is.left >= huge_page) {
    done.remark =
        core::format_bytes(is.left) + " are left in small pages: " + reason(can_collapse, refusals);
  }
  return done;
}

}  // namespace tabane::team
