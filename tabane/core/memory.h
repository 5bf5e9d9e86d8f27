// Page-aligned memory in a chosen place, and a way to see where its pages really are.
//
// The same calls work on a machine with one node, and where the system refuses the NUMA calls
// (containers filter them): numa_calls_available() says so, and a bound Region says what it got.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tabane/core/topology.h"

namespace tabane::core {

enum class MemoryPolicy {
  first_touch,  // the page goes to the node of the thread that first writes it (the system's
                // default)
  bind,         // only these nodes; allocation fails when they are full
  interleave,   // pages in turn over these nodes
  preferred,    // these nodes if there is room, others if not
};

enum class PageSize {
  system,  // whatever the system does by itself
  small,   // base pages only: huge pages are forbidden for the region
  huge,    // transparent huge pages are asked for; the system may refuse: see huge_bytes()
  // The same from half a huge page on; less would waste the rest, and is as `system`.
  huge_if_large,
};

struct MemoryOptions {
  MemoryPolicy policy = MemoryPolicy::first_touch;
  std::vector<unsigned> nodes;  // os indices; must be empty for first_touch only
  PageSize pages = PageSize::system;
  // Whether forked processes get a copy. Without one, forks neither pay for the pages nor see them;
  // a system that cannot leave them out copies them.
  bool copied_by_forks = true;
};

std::size_t cache_line_bytes();  // of the first data cache; 64 where the system does not tell
std::size_t page_bytes();        // base page
std::size_t huge_page_bytes();   // transparent huge page; 0: the system has none
bool huge_pages_possible();      // the system grants them on request ("always" or "madvise")
bool numa_calls_available();     // mbind and move_pages are neither missing nor filtered

// Owns an anonymous private mapping. Movable, not copyable. Pages are not touched.
class Region {
 public:
  Region() = default;
  // bytes: > 0, rounded up to whole pages (huge: to huge pages and so aligned).
  // throws: SystemError if the mapping or the binding is refused; UsageError for nodes that do not
  // exist.
  explicit Region(std::size_t bytes, const MemoryOptions& options = {});
  ~Region();
  Region(Region&& other) noexcept;
  Region& operator=(Region&& other) noexcept;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  template <class T>
  std::span<T> as() const {
    return {reinterpret_cast<T*>(data_), size_ / sizeof(T)};
  }

  // Writes one byte of every page from the calling thread.
  void touch();

  // Whether forked processes get a copy of the region; at first they do. Without it forks neither
  // pay for the region's pages nor see them. throws: SystemError.
  void copy_on_fork(bool copied);

  // Pages by the node they are on; key -1 counts pages not there yet. Null if the system does not
  // tell.
  std::optional<std::map<int, std::size_t>> pages_per_node() const;
  // Bytes of the region that huge pages hold now. Null if the system does not say.
  std::optional<std::size_t> huge_bytes() const;

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Sets the policy for everything the calling process allocates from now on (what numactl does);
// survives exec. Huge pages can be forbidden for a process but not asked for: PageSize::huge does
// nothing here. throws: SystemError, UsageError.
void set_process_memory_policy(const MemoryOptions& options);

// Does so for a scope, for the calling thread and the processes that it starts, and puts the old
// policy back. throws: as set_process_memory_policy().
class ScopedMemoryPolicy {
 public:
  explicit ScopedMemoryPolicy(const MemoryOptions& options);
  ~ScopedMemoryPolicy();
  ScopedMemoryPolicy(const ScopedMemoryPolicy&) = delete;
  ScopedMemoryPolicy& operator=(const ScopedMemoryPolicy&) = delete;

 private:
  int mode_ = -1;  // negative: the system does not say, and nothing is put back
  std::vector<unsigned long> nodes_;
};

}  // namespace tabane::core
