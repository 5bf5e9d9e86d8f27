#include "tabane/comm/transport/shm/endpoint.h"

#include <unistd.h>

#include <algorithm>

namespace tabane::comm::shm {

namespace {

// Looks at one channel before all others are looked at, too. A yield or a sleep may take as long as
// many of them.
constexpr int kNarrowPolls = 200, kPollsOfARest = 20;
// Blocks are taken in turn in so much of a channel. A core gets a line from the other's first-level
// cache later than from its second-level cache, and this does not fit into the first. Not where
// ranks share PUs: there the block that was used last is the nearest.
constexpr std::size_t kWindowBytes = 256 * 1024;

}  // namespace

struct alignas(4096) NoChannel {
  std::array<std::byte, 8192> bytes{};
};

Endpoint::Endpoint(World& world, int rank)
    : world_(world),
      rank_(rank),
      waiter_(world.waiter(rank)),
      no_channel_(std::make_unique<NoChannel>()) {
  const auto layout = [&](int from, int to) {
    return ChannelLayout(from == to ? std::span<std::byte>(no_channel_->bytes)
                                    : world.channel(from, to));
  };
  peers_.reserve(static_cast<std::size_t>(world.ranks()));
  for (int other = 0; other < world.ranks(); ++other) {
    peers_.push_back(std::make_unique<Peer>(layout(rank, other), layout(other, rank),
                                            world.crowded() ? 0 : kWindowBytes));
    peers_.back()->doorbell = &world.doorbell(other);
  }
}

// Of the sends, only abandoned ones are left: their bytes end here.
Endpoint::~Endpoint() {
  for (const auto& send : abandoned_) withdraw(*send);
}

std::uint64_t Endpoint::new_context() {
  return static_cast<std::uint64_t>(rank_) << kGroupBits | ++contexts_;
}

void Endpoint::progress(const bool& enough) {
  const int ranks = world_.ranks();
  for (int i = 0; i < ranks && !enough; ++i) {
    int from = polled_first_ + i;
    if (from >= ranks) from -= ranks;
    if (from == rank_) continue;
    bool took = false;
    // No more at once than a channel holds: a fast sender must not keep the rank here.
    constexpr int kMostLines = 256;
    for (int n = 0; n < kMostLines && !enough && poll(from); ++n) took = true;
    if (enough && took) polled_first_ = from + 1 == ranks ? 0 : from + 1;
  }
  direct_receives_.for_each([this](Receive& receive) { advance_direct(receive); });
  direct_sends_.for_each([this](Send& send) { advance_direct(send); });
  if (queued_ > 0) {
    for (int to = 0; to < ranks; ++to) advance_queue(to);
  }
  backgrounds_.progress();
}

template <class Peers, class Ready, class Rest>
void Endpoint::wait_in(const char* call, const Peers& peers, Ready&& ready, Rest&& rest) {
  std::optional<InCall> in;  // of a rank that waits for long
  waiter_.wait(ready, [&] {
    rest();
    if (!in) in.emplace(world_.call(rank_), call);
    world_.check(rank_, peers, ready);
    backgrounds_.look();
  });
}

template <class Operation, class Peers>
void Endpoint::wait_for(Operation& operation, const Peers& peers) {
  const auto ready = [&] {
    if (!operation.complete) progress(operation.complete);
    return operation.complete;
  };
  wait_in(std::is_same_v<Operation, Send> ? "send" : "recv", peers, ready, [] {});
}

void Endpoint::wait(Send& send) try {
  world_.check_failed(rank_);
  if (!send.complete) wait_for(send, send.to);
} catch (const core::LostError&) {
  withdraw(send);
  throw;
}

void Endpoint::wait(Receive& receive) try {
  world_.check_failed(rank_);
  if (receive.complete) return;
  if (receive.source == any_source) return wait_for(receive, receive.sources);
  if (open_ > 1) return wait_for(receive, receive.source);
  // Nothing else is under way: for a while only this channel matters. Then the others are emptied,
  // too: the source may wait for a rank that waits to send here.
  const int from = receive.source;
  int polls = 0;
  const auto ready = [&] {
    if (++polls > kNarrowPolls) {
      progress(receive.complete);
      return receive.complete;
    }
    while (!receive.complete && poll(from)) continue;
    if (receive.record >= 0 && !receive.complete) advance_direct(receive);
    return receive.complete;
  };
  wait_in("recv", from, ready, [&] { polls += kPollsOfARest; });
} catch (const core::LostError&) {
  abandon(receive);
  throw;
}

bool Endpoint::take_next(Receive& receive) {
  world_.check_failed(rank_);
  const int from = receive.source;
  if (open_ > 0 || unexpected_ > 0 || from == any_source || from == rank_) return false;
  Peer& peer = this->peer(from);
  const Line* line = nullptr;
  int polls = 0;
  const auto ready = [&] {
    line = peer.in.next();
    return line != nullptr || ++polls > kNarrowPolls;
  };
  wait_in("recv", from, ready, [&] { polls += kPollsOfARest; });
  if (line == nullptr) return false;
  // Into its place at once: to copy it there would wait until these stores have reached the cache.
  const Envelope& envelope = receive.envelope = envelope_of(*line);
  if (line->kind != LineKind::inline_bytes || !receive.fits(from, envelope)) return false;
  receive.from = from;
  if (matches(receive)) peer.in.copy_inline(*line, make_room(receive));
  if (peer.in.consume(lines_for(envelope.bytes))) wake(*peer.doorbell);
  receive.complete = true;
  return true;
}

bool Endpoint::test(Send& send) try {
  world_.check_failed(rank_);
  const auto ready = [&] { return send.complete; };
  if (!send.complete) progress(send.complete);
  if (!send.complete) world_.check(rank_, send.to, ready);
  return send.complete;
} catch (const core::LostError&) {
  withdraw(send);
  throw;
}

bool Endpoint::test(Receive& receive) try {
  world_.check_failed(rank_);
  const auto ready = [&] {
    progress(receive.complete);
    return receive.complete;
  };
  if (receive.complete || ready()) return true;
  if (receive.source == any_source) {
    world_.check_failed(rank_);  // this rank itself may still send one
  } else {
    world_.check(rank_, receive.source, ready);
  }
  return receive.complete;
} catch (const core::LostError&) {
  abandon(receive);
  throw;
}

// The sender may be writing to memory that is about to go: its last piece must have ended, unless
// it has died in it.
void Endpoint::stop_direct(Receive& receive) noexcept {
  Peer& from = peer(receive.from);
  DirectCopy& record = from.in.record(receive.record);
  shm::withdraw(record);
  while (!has_failed(record) && world_.may_be_in_a_call(receive.from)) usleep(100);
  receive.record = -1;
  wake(*from.doorbell);
}

void Endpoint::abandon(Receive& receive) noexcept {
  if (!receive.is_open) return;
  receive.is_open = false;
  receive.leave();
  --open_;
  if (receive.record >= 0) stop_direct(receive);
  for (const auto& peer : peers_) {
    if (peer->arriving.receive == &receive) {
      peer->arriving.receive = nullptr;
      peer->arriving.into = nullptr;
      peer->arriving.stays = false;
      // Its blocks go back with its last piece, not with the receive.
      peer->held_blocks -= receive.stored.blocks;
      receive.stored.first_block = -1;
    }
    for (Unexpected& message : peer->unexpected) {
      if (message.taker == &receive) message.taker = nullptr;
    }
    std::replace(peer->repeats.begin(), peer->repeats.end(), &receive,
                 static_cast<Receive*>(nullptr));
  }
}

void Endpoint::release(Stored& stored) {
  if (stored.first_block >= 0) {
    Peer& from = peer(stored.source);
    from.in.release_blocks(stored.first_block, stored.blocks);
    from.held_blocks -= stored.blocks;
    wake(*from.doorbell);
  }
  stored = {};
}

}  // namespace tabane::comm::shm
