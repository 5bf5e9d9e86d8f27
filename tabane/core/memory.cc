#include "tabane/core/memory.h"

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "tabane/core/binding.h"
#include "tabane/core/error.h"
#include "tabane/core/system_files.h"

namespace tabane::core {
namespace {

constexpr std::size_t kMostNodes = 1024;
constexpr std::size_t kBitsPerWord = sizeof(unsigned long) * CHAR_BIT;
constexpr std::size_t kPagesPerQuery = 16384;

std::vector<unsigned> read_node_list(const std::string& text) {
  try {
    return parse_cpu_list(text, {});
  } catch (const UsageError&) {
    return {};
  }
}

// The nodes that this process may allocate on; node 0 if the system does not say.
std::vector<unsigned> allowed_nodes() {
  const SystemFiles files;
  std::vector<unsigned> allowed =
      read_node_list(files.field("/proc/self/status", "Mems_allowed_list").value_or(""));
  const std::vector<unsigned> with_memory =
      read_node_list(files.text("/sys/devices/system/node/has_memory").value_or(""));
  if (!with_memory.empty()) {
    std::erase_if(allowed, [&](unsigned node) {
      return std::ranges::find(with_memory, node) == with_memory.end();
    });
  }
  if (allowed.empty()) allowed.push_back(0);
  return allowed;
}

// throws: UsageError.
void check_nodes(const MemoryOptions& options, const std::vector<unsigned>& allowed) {
  if (options.policy == MemoryPolicy::first_touch) {
    if (options.nodes.empty()) return;
    throw UsageError("first touch takes no NUMA nodes: the thread that writes first decides");
  }
  if (options.nodes.empty()) throw UsageError("a memory policy needs at least one NUMA node");
  for (const unsigned node : options.nodes) {
    if (std::ranges::find(allowed, node) == allowed.end() || node >= kMostNodes) {
      throw UsageError("NUMA node {} is not usable: this process may use memory of {}", node,
                       format_cpu_list(allowed));
    }
  }
}

struct KernelPolicy {
  int mode = MPOL_DEFAULT;
  std::vector<unsigned long> mask;

  const unsigned long* bits() const { return mask.empty() ? nullptr : mask.data(); }
  // The kernel reads one bit fewer than the count that it gets.
  unsigned long bit_count() const { return mask.empty() ? 0 : kMostNodes + 1; }
};

KernelPolicy kernel_policy(const MemoryOptions& options) {
  KernelPolicy policy;
  if (options.policy == MemoryPolicy::first_touch) return policy;
  policy.mask.assign(kMostNodes / kBitsPerWord, 0);
  for (const unsigned node : options.nodes)
    policy.mask[node / kBitsPerWord] |= 1UL << (node % kBitsPerWord);
  if (options.policy == MemoryPolicy::bind) policy.mode = MPOL_BIND;
  if (options.policy == MemoryPolicy::interleave) policy.mode = MPOL_INTERLEAVE;
  if (options.policy == MemoryPolicy::preferred) {
    const bool many = std::ranges::any_of(
        options.nodes, [&](unsigned node) { return node != options.nodes.front(); });
    policy.mode = many ? MPOL_PREFERRED_MANY : MPOL_PREFERRED;
  }
  return policy;
}

// Where the calls are missing or filtered, one node leaves nothing to decide.
bool needs_no_call(int error, const std::vector<unsigned>& allowed) {
  return (error == ENOSYS || error == EPERM || error == EACCES) && allowed.size() == 1;
}

void advise(void* begin, std::size_t bytes, PageSize pages) {
  // A kernel without huge pages refuses both requests; then all pages are small, which huge_bytes()
  // tells.
  if (pages == PageSize::huge) madvise(begin, bytes, MADV_HUGEPAGE);
  if (pages == PageSize::small) madvise(begin, bytes, MADV_NOHUGEPAGE);
}

// throws: UsageError, SystemError.
void apply_policy(void* begin, std::size_t bytes, const MemoryOptions& options) {
  const std::vector<unsigned> allowed = allowed_nodes();
  check_nodes(options, allowed);
  const KernelPolicy policy = kernel_policy(options);
  if (syscall(SYS_mbind, begin, bytes, policy.mode, policy.bits(), policy.bit_count(), 0) == 0)
    return;
  const int error = errno;
  if (needs_no_call(error, allowed) || options.policy == MemoryPolicy::first_touch) return;
  throw SystemError("mbind", "NUMA nodes " + format_cpu_list(options.nodes), error);
}

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  const std::size_t rest = bytes % unit;
  return rest == 0 ? bytes : bytes + (unit - rest);
}

// Maps bytes with a page on either side that nobody may touch: it stops overruns, and it keeps the
// kernel from merging neighbours, so that what it reports about the mapping is about this region
// alone.
std::byte* map_guarded(std::size_t bytes, std::size_t alignment) {
  const std::size_t guard = page_bytes();
  const std::size_t reserved = bytes + alignment + 2 * guard;
  void* base = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) throw SystemError("mmap", std::to_string(bytes) + " bytes", errno);
  auto* const begin = static_cast<std::byte*>(base);
  const auto address = reinterpret_cast<std::uintptr_t>(begin) + guard;
  std::byte* const data = begin + guard + (round_up(address, alignment) - address);
  std::byte* const end = data + bytes + guard;
  if (data - guard > begin) munmap(begin, static_cast<std::size_t>(data - guard - begin));
  if (begin + reserved > end) munmap(end, static_cast<std::size_t>(begin + reserved - end));
  if (mprotect(data, bytes, PROT_READ | PROT_WRITE) != 0) {
    const int error = errno;
    munmap(data - guard, bytes + 2 * guard);
    throw SystemError("mprotect", std::to_string(bytes) + " bytes", error);
  }
  return data;
}

void unmap_guarded(std::byte* data, std::size_t bytes) {
  if (data) munmap(data - page_bytes(), bytes + 2 * page_bytes());
}

bool probe_numa_calls() {
  const std::size_t bytes = page_bytes();
  void* page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  *static_cast<volatile char*>(page) = 1;
  int node = -1;
  const bool available = syscall(SYS_mbind, page, bytes, MPOL_DEFAULT, nullptr, 0UL, 0U) == 0 &&
                         syscall(SYS_move_pages, 0, 1UL, &page, nullptr, &node, 0) == 0;
  munmap(page, bytes);
  return available;
}

}  // namespace

std::size_t cache_line_bytes() {
  static const long bytes = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 64;
}

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::size_t huge_page_bytes() {
  static const std::size_t bytes = [] {
    const std::string line =
        SystemFiles().text("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size").value_or("");
    const unsigned long long value = std::strtoull(line.c_str(), nullptr, 10);
    return value % page_bytes() == 0 ? static_cast<std::size_t>(value) : 0;
  }();
  return bytes;
}

bool huge_pages_possible() {
  const std::string line =
      SystemFiles().text("/sys/kernel/mm/transparent_hugepage/enabled").value_or("");
  const bool granted =
      line.find("[always]") != std::string::npos || line.find("[madvise]") != std::string::npos;
  return granted && huge_page_bytes() > 0 && prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) != 1;
}

bool numa_calls_available() {
  static const bool available = probe_numa_calls();
  return available;
}

Region::Region(std::size_t bytes, const MemoryOptions& options) {
  if (bytes == 0) throw UsageError("a memory region needs at least one byte");
  const std::size_t huge = huge_page_bytes();
  PageSize pages = options.pages;
  if (pages == PageSize::huge_if_large)
    pages = bytes < huge / 2 ? PageSize::system : PageSize::huge;
  std::size_t unit = page_bytes();
  if (pages == PageSize::huge && huge > 0) unit = huge;
  if (bytes > SIZE_MAX / 2) throw SystemError("mmap", std::to_string(bytes) + " bytes", ENOMEM);
  size_ = round_up(bytes, unit);
  const bool may_be_huge = pages != PageSize::small && huge > 0 && size_ >= huge;
  data_ = map_guarded(size_, may_be_huge ? huge : unit);
  try {
    advise(data_, size_, pages);
    if (!options.copied_by_forks) madvise(data_, size_, MADV_DONTFORK);
    if (options.policy == MemoryPolicy::first_touch)
      check_nodes(options, {});
    else
      apply_policy(data_, size_, options);
  } catch (...) {
    unmap_guarded(data_, size_);
    throw;
  }
}

Region::~Region() { unmap_guarded(data_, size_); }

Region::Region(Region&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Region& Region::operator=(Region&& other) noexcept {
  if (this != &other) {
    unmap_guarded(data_, size_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

void Region::touch() {
  // Replacing zero by zero is a write to the processor, so that the page is made, and changes
  // nothing.
  for (std::size_t i = 0; i < size_; i += page_bytes()) {
    std::byte zero{0};
    std::atomic_ref<std::byte>(data_[i]).compare_exchange_strong(zero, std::byte{0},
                                                                 std::memory_order_relaxed);
  }
}

void Region::copy_on_fork(bool copied) {
  if (madvise(data_, size_, copied ? MADV_DOFORK : MADV_DONTFORK) != 0)
    throw SystemError("madvise", "memory that forks do not copy", errno);
}

std::optional<std::map<int, std::size_t>> Region::pages_per_node() const {
  std::map<int, std::size_t> pages;
  const std::size_t total = size_ / page_bytes();
  std::vector<void*> addresses;
  std::vector<int> status;
  for (std::size_t done = 0; done < total; done += addresses.size()) {
    addresses.resize(std::min(kPagesPerQuery, total - done));
    status.assign(addresses.size(), -ENOENT);
    for (std::size_t i = 0; i < addresses.size(); ++i)
      addresses[i] = data_ + (done + i) * page_bytes();
    if (syscall(SYS_move_pages, 0, addresses.size(), addresses.data(), nullptr, status.data(), 0))
      return std::nullopt;
    for (const int node : status) ++pages[node < 0 ? -1 : node];
  }
  return pages;
}

std::optional<std::size_t> Region::huge_bytes() const {
  std::ifstream maps("/proc/self/smaps");
  const auto begin = reinterpret_cast<std::uintptr_t>(data_);
  const std::uintptr_t end = begin + size_;
  bool inside = false;
  bool told = false;
  std::size_t bytes = 0;
  for (std::string line; std::getline(maps, line);) {
    unsigned long long first = 0;
    unsigned long long last = 0;
    unsigned long long kib = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx ", &first, &last) == 2) {
      inside = first < end && last > begin;
    } else if (inside && std::sscanf(line.c_str(), "AnonHugePages: %llu", &kib) == 1) {
      told = true;
      bytes += static_cast<std::size_t>(kib) * 1024;
    }
  }
  if (!told && size_ > 0) return std::nullopt;
  return bytes;
}

void set_process_memory_policy(const MemoryOptions& options) {
  const std::vector<unsigned> allowed = allowed_nodes();
  check_nodes(options, allowed);
  const KernelPolicy policy = kernel_policy(options);
  if (syscall(SYS_set_mempolicy, policy.mode, policy.bits(), policy.bit_count()) != 0 &&
      !needs_no_call(errno, allowed)) {
    const std::string what =
        options.nodes.empty() ? "local memory" : "NUMA nodes " + format_cpu_list(options.nodes);
    throw SystemError("set_mempolicy", what, errno);
  }
  if (options.pages == PageSize::small && prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0)
    throw SystemError("prctl", "huge pages", errno);
}

ScopedMemoryPolicy::ScopedMemoryPolicy(const MemoryOptions& options)
    : nodes_(kMostNodes / kBitsPerWord) {
  if (syscall(SYS_get_mempolicy, &mode_, nodes_.data(), kMostNodes, nullptr, 0) != 0) mode_ = -1;
  set_process_memory_policy(options);
}

ScopedMemoryPolicy::~ScopedMemoryPolicy() {
  if (mode_ < 0) return;
  const bool with_nodes = std::ranges::any_of(nodes_, [](unsigned long word) { return word != 0; });
  syscall(SYS_set_mempolicy, mode_, with_nodes ? nodes_.data() : nullptr,
          with_nodes ? kMostNodes + 1 : 0);
}

}  // namespace tabane::core
