// prepare_for_fork(): puts private memory into huge pages.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "tabane/core/memory.h"
#include "tabane/core/units.h"
#include "tabane/team/fork_cost.h"
#include "tabane/team/memory_map.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace tabane::team {
namespace {

// Looking through a mapping's pages costs 8 bytes for each, there or not.
constexpr std::uint64_t kMostPagesPerResident = 16;
constexpr std::size_t kHugePagesPerCall = 512, kHugePagesGivenUp = 8;
constexpr int kTries = 3;

void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

// Which pages of this process are there.
class PageMap {
 public:
  PageMap() : file_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}
  ~PageMap() {
    if (file_ >= 0) close(file_);
  }
  PageMap(const PageMap&) = delete;
  PageMap& operator=(const PageMap&) = delete;

  bool readable() const { return file_ >= 0; }

  // At least half of the base pages of the block are there and mapped by this process only.
  bool mostly_own(Range block) const {
    constexpr std::uint64_t kThere = std::uint64_t{1} << 63, kOwn = std::uint64_t{1} << 56;
    const std::size_t page = core::page_bytes();
    std::array<std::uint64_t, 512> entries{};
    std::size_t own = 0;
    for (std::uintptr_t at = block.begin; at < block.end; at += entries.size() * page) {
      const std::size_t wanted = std::min(entries.size(), (block.end - at) / page) * 8;
      const ssize_t got = pread(file_, entries.data(), wanted, static_cast<off_t>(at / page * 8));
      if (got != static_cast<ssize_t>(wanted)) return false;
      own += static_cast<std::size_t>(std::count_if(
          entries.begin(), entries.begin() + wanted / 8,
          [](std::uint64_t entry) { return (entry & kThere) != 0 && (entry & kOwn) != 0; }));
    }
    return 2 * own * page >= block.size();
  }

 private:
  int file_;
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
