#include "tabane/comm/transport/plain_world_test.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace tabane::comm::plain {
namespace {

constexpr std::size_t kPageBytes = 4096;

std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

bool fits(int from, const Label& label, const Arrival& arrival) {
  if (from != any_source && from != arrival.source) return false;
  return label.tag == any_tag ? arrival.tag >= 0 : label.tag == arrival.tag;
}

}  // namespace

void Mailbox::put(Message message) {
  const auto found = std::ranges::find_if(posted_, [&](const PostedReceive* posted) {
    return fits(posted->from, posted->label, message.arrival);
  });
  if (found == posted_.end()) {
    arrived_.push_back(std::move(message));
    return;
  }
  (*found)->message = std::move(message);
  posted_.erase(found);
}

void Mailbox::post(PostedReceive& posted) {
  const auto found = std::ranges::find_if(arrived_, [&](const Message& message) {
    return fits(posted.from, posted.label, message.arrival);
  });
  if (found == arrived_.end()) {
    posted_.push_back(&posted);
    return;
  }
  posted.message = std::move(*found);
  arrived_.erase(found);
}

void Mailbox::cancel(PostedReceive& posted) { std::erase(posted_, &posted); }

const Message* Mailbox::find(int from, const Label& label) const {
  const auto found = std::ranges::find_if(
      arrived_, [&](const Message& message) { return fits(from, label, message.arrival); });
  return found == arrived_.end() ? nullptr : &*found;
}

Shared::Shared(std::vector<int> world_ranks, const MemoryRequest& request)
    : members(std::move(world_ranks)),
      mailboxes(members.size()),
      windows(members.size()),
      memory_bytes(request.most),
      memory(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, memory_bytes))) {
  std::fill_n(memory.get(), memory_bytes, std::byte{});
}

std::shared_ptr<Shared> Shared::join(int rank, std::span<const int> group,
                                     const MemoryRequest& request) {
  auto found = std::ranges::find_if(forming_, [&](const Forming& one) {
    return std::ranges::equal(group, one.members) &&
           std::ranges::find(one.joined, rank) == one.joined.end();
  });
  if (found == forming_.end()) {
    std::vector<int> world_ranks;
    for (const int member : group) world_ranks.push_back(members[index(member)]);
    found = forming_.insert(found, {{group.begin(), group.end()},
                                    {},
                                    std::make_shared<Shared>(std::move(world_ranks), request)});
  }
  found->joined.push_back(rank);
  const std::shared_ptr<Shared> shared = found->shared;
  if (found->joined.size() == group.size()) forming_.erase(found);
  return shared;
}

std::string World::phase(int rank) {
  const char* const text = at(rank).phase.load();
  if (text != nullptr && *text != '\0') return text;
  const char* const call = at(rank).call.load();
  return call != nullptr ? call : "";
}

void World::changed(int rank) {
  ++at(rank).changes;
  at(rank).woken.notify_one();
}

void World::changed_for_all() {
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) changed(rank);
}

void World::wait(std::unique_lock<std::mutex>& lock, int rank) {
  Rank& own = at(rank);
  const std::uint64_t seen = own.changes;
  lock.unlock();
  try {
    own.backgrounds.progress();
    own.backgrounds.look();
  } catch (...) {
    lock.lock();
    throw;
  }
  lock.lock();
  // What look() finds is told by the caller's next look at what it waits for.
  own.woken.wait_for(lock, std::chrono::milliseconds(10), [&] { return own.changes != seen; });
}

void World::leave(int rank) {
  at(rank).returned = true;
  changed_for_all();
}

void World::fail(int rank, const std::string& what) {
  if (!failure_) failure_ = {{rank, getpid(), phase(rank), "threw: " + what}, what};
  changed_for_all();
}

void World::throw_if_failed() const {
  if (failure_) throw failure_->lost;
}

void World::throw_if_in_vain(const Shared& shared, int self, int peer) const {
  throw_if_failed();
  if (!is_gone(shared, self, peer)) return;
  const int gone = shared.members[index(peer != any_source ? peer : self == 0 ? 1 : 0)];
  throw core::LostError(gone, getpid(),
                        fmt::format("rank {} has returned from its function while rank {} waits "
                                    "for it",
                                    gone, shared.members[index(self)]));
}

bool World::is_gone(const Shared& shared, int self, int peer) const {
  const auto returned = [&](int rank) {
    return ranks_[index(shared.members[index(rank)])].returned;
  };
  if (peer != any_source) return returned(peer);
  const int size = static_cast<int>(shared.members.size());
  for (int rank = 0; rank < size; ++rank) {
    if (rank != self && !returned(rank)) return false;
  }
  return size > 1;
}

}  // namespace tabane::comm::plain
