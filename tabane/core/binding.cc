#include "tabane/core/binding.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <unordered_set>

#include "tabane/core/error.h"

namespace tabane::core {
namespace {

constexpr unsigned kLargestIndex = 65535;

[[noreturn]] void refuse(std::string_view part, std::string_view text) {
  throw UsageError(
      "cannot read \"{}\" in the list \"{}\": write indices up to 65535 as 3, 0-3, 0-15:2, several "
      "with commas, or all",
      part, text);
}

// Takes digits off the front of rest; false if there are none or they exceed the largest index.
bool take_index(std::string_view& rest, unsigned& value) {
  const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (code != std::errc() || value > kLargestIndex) return false;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return true;
}

bool take(std::string_view& rest, char expected) {
  if (rest.empty() || rest.front() != expected) return false;
  rest.remove_prefix(1);
  return true;
}

struct Range {
  unsigned first = 0;
  unsigned last = 0;
  unsigned stride = 1;
};

Range parse_range(std::string_view part, std::string_view text) {
  std::string_view rest = part;
  Range range;
  if (!take_index(rest, range.first)) refuse(part, text);
  range.last = range.first;
  if (take(rest, '-')) {
    if (!take_index(rest, range.last)) refuse(part, text);
    if (take(rest, ':') && !take_index(rest, range.stride)) refuse(part, text);
  }
  if (!rest.empty() || range.last < range.first || range.stride == 0) refuse(part, text);
  return range;
}

}  // namespace

std::vector<unsigned> parse_cpu_list(std::string_view text, std::span<const unsigned> all) {
  if (text == "all") return {all.begin(), all.end()};
  std::vector<unsigned> indices;
  std::unordered_set<unsigned> seen;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const Range range = parse_range(text.substr(begin, end - begin), text);
    for (unsigned i = range.first; i <= range.last; i += range.stride)
      if (seen.insert(i).second) indices.push_back(i);
    begin = end + 1;
  }
  return indices;
}

std::string format_cpu_list(std::span<const unsigned> indices) {
  std::vector<unsigned> sorted(indices.begin(), indices.end());
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::string text;
  for (std::size_t begin = 0; begin < sorted.size();) {
    std::size_t end = begin + 1;
    while (end < sorted.size() && sorted[end] == sorted[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(sorted[begin]);
    if (end - begin > 1) text += '-' + std::to_string(sorted[end - 1]);
    begin = end;
  }
  return text;
}

namespace {

struct CpuSet {
  explicit CpuSet(std::size_t cpus)
      : set(CPU_ALLOC(cpus), [](cpu_set_t* s) { CPU_FREE(s); }), bytes(CPU_ALLOC_SIZE(cpus)) {
    CPU_ZERO_S(bytes, set.get());
  }
  std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set;
  std::size_t bytes;
};

}  // namespace

void bind_this_thread(std::span<const unsigned> pus) {
  if (pus.empty()) return;
  const CpuSet cpus(*std::ranges::max_element(pus) + std::size_t{1});
  for (const unsigned pu : pus) CPU_SET_S(pu, cpus.bytes, cpus.set.get());
  if (sched_setaffinity(0, cpus.bytes, cpus.set.get()) != 0)
    throw SystemError("sched_setaffinity", "PUs " + format_cpu_list(pus), errno);
}

std::vector<unsigned> thread_binding() {
  // The kernel refuses a set that is smaller than its own, whose size it does not report.
  for (std::size_t size = 1024; size <= (std::size_t{1} << 20); size *= 2) {
    const CpuSet cpus(size);
    if (sched_getaffinity(0, cpus.bytes, cpus.set.get()) == 0) {
      std::vector<unsigned> pus;
      for (std::size_t i = 0; i < size; ++i)
        if (CPU_ISSET_S(i, cpus.bytes, cpus.set.get())) pus.push_back(static_cast<unsigned>(i));
      return pus;
    }
    if (errno != EINVAL) break;
  }
  throw SystemError("sched_getaffinity", "", errno);
}

ScopedBinding::ScopedBinding(std::span<const unsigned> pus) : old_(thread_binding()) {
  bind_this_thread(pus);
}

ScopedBinding::ScopedBinding(unsigned pu) : ScopedBinding(std::span<const unsigned>(&pu, 1)) {}

ScopedBinding::~ScopedBinding() {
  try {
    bind_this_thread(old_);
  } catch (const Error&) {
    // The old PUs may have left the cpuset meanwhile; the thread then keeps what it has.
  }
}

}  // namespace tabane::core
