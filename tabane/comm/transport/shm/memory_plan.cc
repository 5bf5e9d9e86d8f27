#include "tabane/comm/transport/shm/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "tabane/comm/transport/shm/page_set.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"

namespace tabane::comm::shm {
namespace {

constexpr std::size_t kLeastChannelBytes = 2 * kPageBytes;
constexpr std::size_t kMostChannelBytes = 512 * 1024;
constexpr std::size_t kMiB = 1024 * 1024;
constexpr std::size_t kDefaultMostBytes = 64 * kMiB;

// Of one process with its stack in the kernel, its own tables and the pages that it writes after
// the fork, and of what it keeps of each other rank; the least that was seen.
constexpr std::size_t kProcessBytes = 160 * 1024, kPeerBytes = 512;
// The entry of a page in a page table.
constexpr std::size_t kEntryBytes = 8;
constexpr std::size_t kUncheckedBytes = 64 * kMiB;

std::size_t whole_pages(std::size_t bytes) { return bytes / kPageBytes * kPageBytes; }

std::size_t head_bytes(std::size_t ranks, std::size_t group_bytes) {
  const std::size_t words = PageSet::words_for(group_bytes / kPageBytes);
  const std::size_t bytes = (1 + ranks) * kRecordBytes + words * sizeof(PageSet::Word);
  return whole_pages(bytes + kPageBytes - 1);
}

// Of what the head and the groups leave.
std::size_t channel_bytes(std::size_t bytes, std::size_t channels) {
  if (channels == 0) return 0;
  return std::clamp(whole_pages(bytes / channels), kLeastChannelBytes, kMostChannelBytes);
}

}  // namespace

MemoryPlan plan_memory(int ranks, std::size_t message_bytes) {
  const std::size_t n = static_cast<std::size_t>(ranks), channels = n * (n - 1);
  const std::size_t pairs = std::max<std::size_t>(channels / 2, 1);
  const std::size_t budget =
      message_bytes != 0 ? message_bytes : std::min(pairs * kMiB, kDefaultMostBytes);
  const std::size_t least_groups = n * kPageBytes, least_channels = channels * kLeastChannelBytes;
  const std::size_t least = head_bytes(n, least_groups) + least_groups + least_channels;
  if (message_bytes != 0 && message_bytes < least) {
    throw core::UsageError(std::to_string(ranks) + " ranks need at least " + std::to_string(least) +
                           " bytes of memory for messages, not " + std::to_string(message_bytes));
  }
  const auto fits = [&](std::size_t groups) {
    return head_bytes(n, groups) + groups + least_channels <= budget;
  };
  std::size_t groups = std::max(whole_pages(budget / 4), least_groups);
  if (message_bytes != 0 && !fits(groups)) groups = least_groups;

  MemoryPlan plan{.ranks = ranks, .group_bytes = groups, .channels_at = head_bytes(n, groups)};
  const std::size_t taken = plan.channels_at + groups;
  plan.channel_bytes = channel_bytes(budget > taken ? budget - taken : 0, channels);
  plan.groups_at = plan.channels_at + channels * plan.channel_bytes;
  plan.total_bytes = plan.groups_at + groups;
  return plan;
}

MemoryNeed least_need(const MemoryPlan& plan) {
  const std::size_t n = static_cast<std::size_t>(plan.ranks), others = n - 1;
  const std::size_t tables = others * plan.channel_bytes / kPageBytes * kEntryBytes;
  return {.channels = n * others * kPageBytes,
          .processes = n * (kProcessBytes + others * kPeerBytes + tables)};
}

void require_memory(const MemoryPlan& plan, const core::SystemFiles& files) {
  const MemoryNeed need = least_need(plan);
  if (need.all() <= kUncheckedBytes) return;
  const std::optional<double> usable = core::usable_memory_bytes(files);
  if (!usable || static_cast<double>(need.all()) <= *usable) return;
  MemoryPlan fewer = plan;
  while (fewer.ranks > 1 && static_cast<double>(least_need(fewer).all()) > *usable) --fewer.ranks;
  throw core::UsageError(fmt::format(
      "{} ranks need at least {} of memory, {} for the channels between them and {} for their "
      "processes, and {} can be used here: give at most {}",
      plan.ranks, core::format_bytes(need.all()), core::format_bytes(need.channels),
      core::format_bytes(need.processes),
      core::format_bytes(static_cast<std::uint64_t>(std::max(*usable, 0.0))), fewer.ranks));
}

}  // namespace tabane::comm::shm
