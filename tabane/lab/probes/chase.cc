#include "tabane/lab/probes/chase.h"

#include <algorithm>
#include <atomic>

#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/measurement.h"
#include "tabane/lab/probes/common.h"

namespace tabane::lab {
namespace {

constexpr std::uint64_t kMostRead = std::uint64_t{256} << 20;  // more than any cache keeps
// Some caches keep a line only once it has been used again.
constexpr std::uint64_t kWarmUpTurns = 3, kMostWarmUp = 1 << 18;
constexpr std::uint64_t kInCaches = std::uint64_t{16} << 20;  // sizes up to it settle in that time
constexpr std::uint64_t kWarmUpBeyond = 1 << 15, kWarmUpOfTheLargest = 1 << 16;

core::MemoryOptions not_copied(core::MemoryOptions options) {
  options.copied_by_forks = false;
  return options;
}

}  // namespace

Chase::Chase(std::vector<std::uint64_t> sizes, const core::MemoryOptions& options)
    : region_(sizes.back() + core::cache_line_bytes(), not_copied(options)),
      sizes_(std::move(sizes)),
      at_(sizes_.size()) {
  const auto large = std::ranges::count_if(sizes_, [](auto size) { return size > kLinkedAnew; });
  TABANE_ASSERT(static_cast<std::size_t>(large) <= kMostLarge);
  region_.touch();
}

bool Chase::mostly_huge() const {
  const auto bytes = region_.huge_bytes();
  return !bytes || *bytes >= region_.size() / 10 * 9;
}

void Chase::prepare(std::size_t size) {
  const std::uint64_t bytes = sizes_[size], line = core::cache_line_bytes();
  const bool large = bytes > kLinkedAnew;
  // The large sizes are the last ones: 1 for the largest, 2 for the next; 0 for all that are small.
  const std::size_t place = large ? sizes_.size() - size : 0;
  if (!large || at_[size] == nullptr)
    at_[size] =
        link_random_cycle(region_.as<std::byte>().subspan(place * sizeof(void*), bytes), line);
  for (std::uint64_t i = 0; i < std::min(bytes, kMostRead); i += line)
    core::keep(*reinterpret_cast<volatile std::uint64_t*>(region_.data() + i));
  // Page tables, too, are cached: long chases find theirs there.
  const bool largest = size + 1 == sizes_.size();
  const std::uint64_t settled = std::min(kWarmUpTurns * bytes / line, kMostWarmUp);
  follow(size, bytes <= kInCaches ? settled : largest ? kWarmUpOfTheLargest : kWarmUpBeyond);
}

void Chase::follow(std::size_t size, std::uint64_t loads) {
  at_[size] = chase(at_[size], loads);
  core::keep(at_[size]);
}

double follow_under_load(Chase& chase, std::uint64_t loads, core::PinnedPool& pool,
                         std::span<const std::size_t> threads, std::size_t follower,
                         const std::function<void(std::size_t)>& load, double* whole) {
  std::atomic<bool> done{false};
  double seconds = 0;
  const core::TogetherTime time = core::time_together(pool, threads, [&](std::size_t i) {
    if (i != follower) {
      while (!done.load(std::memory_order_relaxed)) load(i);
      return;
    }
    seconds = time_of([&] { chase.follow(chase.sizes().size() - 1, loads); });
    done.store(true, std::memory_order_relaxed);
  });
  if (whole != nullptr) *whole = time.seconds;
  return core::signed_seconds({seconds, time.running_share});
}

Chase& memory_chase(ProbeContext& context) {
  using Held = std::unique_ptr<Chase>;
  const MemoryLevel& dram = memory_levels(context).back();
  require_possible(dram);
  const auto make = [&](core::PageSize pages) {
    // One stream of the three that have room there.
    const std::uint64_t bytes =
        std::min<std::uint64_t>(dram.core_bytes / 3, std::uint64_t{1} << 30);
    return std::make_unique<Chase>(
        std::vector<std::uint64_t>{bytes / core::cache_line_bytes() * core::cache_line_bytes()},
        core::MemoryOptions{.pages = pages});
  };
  Held& huge = context.memory().keep<Held>(kHugeChase, [&] {
    return core::huge_pages_possible() ? make(core::PageSize::huge) : Held();
  });
  Held& chase =
      huge ? huge
           : context.memory().keep<Held>(kSmallChase, [&] { return make(core::PageSize::small); });
  chase->prepare(chase->sizes().size() - 1);
  return *chase;
}

}  // namespace tabane::lab
