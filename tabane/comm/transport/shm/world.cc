#include "tabane/comm/transport/shm/world.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "tabane/core/error.h"
#include "tabane/core/memory.h"
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
  const std::size_t tables = others * plan.channel_bytes / core::page_bytes() * kEntryBytes;
  return {.channels = n * others * std::min(plan.channel_bytes, core::page_bytes()),
          .processes = n * (kProcessBytes + others * kPeerBytes + tables)};
}

void require_memory(const MemoryPlan& plan, const core::SystemFiles& files) {
  const MemoryNeed need = least_need(plan);
  if (need.all() <= kUncheckedBytes) return;
  const std::optional<double> usable = core::usable_memory_bytes(files);
  if (!usable || static_cast<double>(need.all()) <= *usable) return;
  MemoryPlan fewer = plan;
  while (fewer.ranks > 1 && static_cast<double>(least_need(fewer).all()) > *usable) --fewer.ranks;
  throw core::UsageError(
      "{} ranks need at least {} of memory, {} for the channels between them and {} for their "
      "processes, and {} can be used here: give at most {}",
      plan.ranks, core::format_bytes(need.all()), core::format_bytes(need.channels),
      core::format_bytes(need.processes),
      core::format_bytes(static_cast<std::uint64_t>(std::max(*usable, 0.0))), fewer.ranks);
}

struct World::RankRecord {
  Doorbell doorbell;
  alignas(64) std::atomic<pid_t> pid{0};
  std::atomic<RankState> state{RankState::starting};
  // Points into the program, which all ranks have at the same place: they were forked from it.
  std::atomic<const char*> phase{nullptr}, call{nullptr};
  // What is known of it, the user's words first; else null.
  const char* doing() const {
    const char* const text = phase.load(std::memory_order_relaxed);
    return text != nullptr && *text != '\0' ? text : call.load(std::memory_order_relaxed);
  }
  std::atomic<bool> claimed{false}, written{false}, usage_error{false};
  // Of fail(): plain memory, published by `written`.
  pid_t lost_pid = 0;
  const char* lost_phase = nullptr;
  char how[256] = {};
};

namespace {

std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

std::string text_of(const char* phase) { return phase == nullptr ? "" : phase; }

}  // namespace

World::World(const MemoryPlan& plan, int usable_pus)
    : plan_(plan),
      launcher_(getpid()),
      crowded_(plan.ranks > usable_pus),
      patience_(patience_for(plan.ranks, usable_pus)),
      block_(plan.total_bytes, "memory for messages", team::SharedBlock::Reserve::touched),
      head_(new (block_.data()) Head),
      channels_(block_.data() + plan.channels_at),
      pages_({}, 0),
      groups_(block_.data() + plan.groups_at) {
  static_assert(sizeof(Head) <= kRecordBytes && sizeof(RankRecord) <= kRecordBytes);
  ranks_ = block_.data() + kRecordBytes;
  const bool has_membarrier = prepare_waiting();
  for (int rank = 0; rank < plan.ranks; ++rank) {
    new (&record(rank)) RankRecord;
    doorbell(rank).writers_fence = crowded_ || !has_membarrier;
  }
  // The kernel's zeros are what a word of a new page set is.
  auto* const words = reinterpret_cast<PageSet::Word*>(ranks_ + index(plan.ranks) * kRecordBytes);
  const std::size_t pages = plan.group_bytes / kPageBytes;
  pages_ = PageSet({words, PageSet::words_for(pages)}, pages);
}

World::RankRecord& World::record(int rank) const {
  return *reinterpret_cast<RankRecord*>(ranks_ + index(rank) * kRecordBytes);
}

void World::enter(int rank) {
#if defined(PR_SET_PTRACER)
  // Where only ancestors may trace (Yama), siblings may not copy. This allows the launcher and all
  // its descendants, which the ranks are, and nobody else. Refused where there is no Yama.
  prctl(PR_SET_PTRACER, static_cast<unsigned long>(launcher_), 0, 0, 0);
#endif
  prepare_waiting();
  record(rank).pid.store(getpid());
  record(rank).state.store(RankState::running);
}

void World::leave(int rank) {
  RankState running = RankState::running;  // failed stays
  // Sequentially consistent, as the exchange in Waiter::sleep_unless(): a rank that is about to
  // sleep sees the state, or is seen here.
  record(rank).state.compare_exchange_strong(running, RankState::returned);
  for (int other = 0; other < ranks(); ++other) {
    if (doorbell(other).sleeping.load() != 0) wake_slowly(doorbell(other));
  }
}

pid_t World::pid(int rank) const { return record(rank).pid.load(); }
RankState World::state(int rank) const { return record(rank).state.load(); }
Doorbell& World::doorbell(int rank) { return record(rank).doorbell; }
Waiter World::waiter(int rank) { return {doorbell(rank), patience_, &head_->yield_costs}; }

void World::set_phase(int rank, const char* text) {
  record(rank).phase.store(text, std::memory_order_relaxed);
}
std::string World::phase(int rank) const { return text_of(record(rank).doing()); }
std::atomic<const char*>& World::call(int rank) { return record(rank).call; }

void World::fail(int rank, pid_t pid, std::string_view how) {
  RankRecord& lost = record(rank);
  // Several may say it at once: one writes, and the others wait for it, but not for long, as it may
  // have died or be stopped: then it is known only that the rank is lost.
  const bool is_first = !failed();
  if (is_first && !lost.claimed.exchange(true, std::memory_order_relaxed)) {
    lost.lost_pid = pid;
    lost.lost_phase = lost.doing();
    const std::size_t length = std::min(how.size(), sizeof(lost.how) - 1);
    std::memcpy(lost.how, how.data(), length);
    lost.how[length] = '\0';
    lost.written.store(true, std::memory_order_release);  // with the acquire in throw_failed()
  }
  for (int i = 0; is_first && i < 1000 && !lost.written.load(std::memory_order_relaxed); ++i) {
    usleep(100);
  }
  // With the load in throw_failed(): whoever sees it sees `written` as it was seen here. No test
  // can see failed_rank.compare_exchange_strong, failed_rank.load or written.load weaker: x86 keeps
  // the order, and the two loads are about the same, unless the writer is stopped right before
  // this.
  int none = -1;
  head_->failed_rank.compare_exchange_strong(none, rank);
  lost.state.store(RankState::failed);
  for (int other = 0; other < ranks(); ++other) ring(doorbell(other));
}

void World::tell_usage_error(int rank) { record(rank).usage_error.store(true); }
bool World::failed_by_usage() const { return failed() && record(failed_rank()).usage_error.load(); }

bool World::may_be_in_a_call(int rank) const {
  return state(rank) == RankState::running && kill(pid(rank), 0) == 0;
}

// A rank that has returned ends by itself.
void World::abort_job(int rank, int code) {
  const auto half = static_cast<std::uint64_t>(static_cast<std::uint32_t>(code)) << 32;
  std::uint64_t none = 0;
  head_->aborted.compare_exchange_strong(none, half | (index(rank) + 1));
  fail(rank, getpid(), "aborted the job with code " + std::to_string(code));
  if (ranks() == 1) throw AbortError(rank, code);
  for (int other = 0; other < ranks(); ++other) {
    if (other != rank && state(other) == RankState::running) kill(pid(other), SIGKILL);
  }
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

std::optional<int> World::abort_code() const {
  const std::uint64_t aborted = head_->aborted.load();
  if (aborted == 0 || static_cast<int>(aborted & 0xffff'ffff) - 1 != failed_rank()) return {};
  return static_cast<int>(static_cast<std::uint32_t>(aborted >> 32));
}

void World::throw_failed() const {
  const int rank = head_->failed_rank.load(std::memory_order_acquire);
  const RankRecord& lost = record(rank);
  if (!lost.written.load(std::memory_order_acquire)) {
    throw core::LostError(rank, pid(rank), phase(rank), "why is not known");
  }
  throw core::LostError(rank, lost.lost_pid, text_of(lost.lost_phase), lost.how);
}

void World::throw_failed_other(int self) const {
  if (failed_rank() != self) throw_failed();
}

bool World::has_returned(int self, int peer) const {
  const auto gone = [&](int rank) {
    const RankState now = state(rank);
    return now == RankState::returned || now == RankState::failed;
  };
  if (peer != any_source) return peer != self && gone(peer);
  for (int rank = 0; rank < ranks(); ++rank) {
    if (rank != self && !gone(rank)) return false;
  }
  return true;
}

void World::throw_returned(int self, int peer) const {
  check_failed(self);  // a rank that left because of a loss did so after the loss was known
  const std::string own = "rank " + std::to_string(self);
  if (peer != any_source) {
    throw core::LostError(peer, pid(peer),
                          "rank " + std::to_string(peer) +
                              " has returned from its function while " + own + " waits for it");
  }
  const int other = self == 0 && ranks() > 1 ? 1 : 0;
  throw core::LostError(other, pid(other),
                        "no other rank is left that could answer " + own +
                            ": all have returned from their functions while it waits");
}

std::span<std::byte> World::channel(int from, int to) {
  TABANE_ASSERT(from != to);
  const std::size_t place = index(to) * index(ranks() - 1) + index(from < to ? from : from - 1);
  return {channels_ + place * plan_.channel_bytes, plan_.channel_bytes};
}

std::span<std::byte> World::allocate(std::size_t bytes) {
  if (bytes == 0) return {};
  const std::size_t pages = (bytes - 1) / kPageBytes + 1;
  const std::optional<std::size_t> first = pages_.take(pages);
  if (!first) return {};
  return {groups_ + *first * kPageBytes, bytes};
}

void World::release(std::span<std::byte> block) {
  if (block.empty()) return;
  const std::size_t pages = (block.size() - 1) / kPageBytes + 1, bytes = pages * kPageBytes;
  // Zero again, and the system's again, which takes whole pages of its own: they may be larger.
  const auto begin = reinterpret_cast<std::uintptr_t>(block.data());
  const bool is_whole = begin % core::page_bytes() == 0 && bytes % core::page_bytes() == 0;
  if (!is_whole || madvise(block.data(), bytes, MADV_REMOVE) != 0) {
    std::memset(block.data(), 0, bytes);
  }
  pages_.give_back(offset_of(block) / kPageBytes, pages);
}

std::size_t World::offset_of(std::span<std::byte> block) const {
  return static_cast<std::size_t>(block.data() - groups_);
}

std::span<std::byte> World::block_at(std::size_t offset, std::size_t bytes) {
  return {groups_ + offset, bytes};
}

}  // namespace tabane::comm::shm
