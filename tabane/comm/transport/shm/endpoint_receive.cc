#include <algorithm>
#include <cstring>
#include <utility>

#include "tabane/comm/transport/shm/endpoint.h"
#include "tabane/team/job.h"

namespace tabane::comm::shm {

std::byte* store_on_heap(Stored& stored, std::size_t bytes) {
  stored.heap = std::make_unique_for_overwrite<std::byte[]>(bytes);
  stored.bytes = {stored.heap.get(), bytes};
  return stored.heap.get();
}

std::byte* make_room(Receive& receive) {
  return receive.keeps ? store_on_heap(receive.stored, receive.envelope.bytes)
                       : receive.into.data();
}

void Endpoint::start(Receive& receive) {
  world_.check_failed(rank_);
  receive.is_open = true;
  ++open_;
  if (unexpected_ > 0) {
    const int ranks = world_.ranks();
    const bool any = receive.source == any_source;
    for (int i = 0; i < (any ? ranks : 1); ++i) {
      const int from = any ? (polled_first_ + i) % ranks : receive.source;
      if (!take_unexpected(receive, from)) continue;
      if (any) polled_first_ = (from + 1) % ranks;
      return;
    }
  }
  posted_.push_back(receive);
}

bool Endpoint::take_unexpected(Receive& receive, int from) {
  Peer& peer = this->peer(from);
  const auto message = std::ranges::find_if(peer.unexpected, [&](const Unexpected& one) {
    return one.taker == nullptr && receive.fits(from, one.envelope);
  });
  if (message == peer.unexpected.end()) return false;
  receive.from = from;
  receive.envelope = message->envelope;
  if (!message->complete) {
    message->taker = &receive;
    return true;
  }
  if (message->record >= 0) {
    open_direct(peer, receive, message->record);
  } else {
    hand_over(receive, *message);
  }
  peer.unexpected.erase(message);
  --unexpected_;
  return true;
}

void Endpoint::note_taste(const Receive& receive) {
  if (receive.envelope.bytes > kDirectBytes && receive.from != rank_) {
    peer(receive.from).in.take_views(receive.keeps);
  }
}

std::uint64_t Endpoint::begin_ns(Peer& peer, std::size_t bytes) {
  if (peer.times.begins_anew(bytes)) peer.in.choose_way(bytes, Way::undecided);
  return peer.times.wants(bytes) ? team::now_ns() : 0;
}

void Endpoint::note_way(Peer& peer, std::size_t bytes, Way way, std::uint64_t begin_ns,
                        double factor) {
  const auto ns = factor * static_cast<double>(team::now_ns() - begin_ns);
  const Way faster = peer.times.note(bytes, way, ns);
  if (faster != Way::undecided) peer.in.choose_way(bytes, faster);
}

void Endpoint::hand_over(Receive& receive, Unexpected& message) {
  note_taste(receive);
  if (!matches(receive)) {
    release(message.stored);
  } else if (receive.keeps) {
    receive.stored = std::exchange(message.stored, {});
  } else {
    std::copy_n(message.stored.bytes.data(), message.stored.bytes.size(), receive.into.data());
    release(message.stored);
  }
  complete(receive);
}

bool Endpoint::probe(Receive& pattern) {
  world_.check_failed(rank_);
  bool found = finds(pattern);
  if (!found && pattern.source != any_source) {  // or this rank itself may still send one
    world_.check(rank_, pattern.source, [&] { return found = finds(pattern); });
  }
  return found || (world_.crowded() && waiter_.give_way([&] { return finds(pattern); }));
}

bool Endpoint::finds(Receive& pattern) {
  const auto find = [&](int from) {
    for (const Unexpected& one : peer(from).unexpected) {
      if (one.taker != nullptr || !pattern.fits(from, one.envelope)) continue;
      pattern.from = from;
      pattern.envelope = one.envelope;
      return true;
    }
    return false;
  };
  progress(false);
  if (unexpected_ == 0) return false;
  if (pattern.source != any_source) return find(pattern.source);
  for (int i = 0; i < world_.ranks(); ++i) {
    if (find((polled_first_ + i) % world_.ranks())) return true;
  }
  return false;
}

Receive* Endpoint::match(int from, const Envelope& envelope) {
  Receive* const receive =
      posted_.find([&](const Receive& one) { return one.fits(from, envelope); });
  if (receive == nullptr) return nullptr;
  receive->leave();
  receive->from = from;
  receive->envelope = envelope;
  return receive;
}

Unexpected& Endpoint::add_unexpected(Peer& peer, Unexpected message) {
  ++unexpected_;
  return peer.unexpected.emplace_back(std::move(message));
}

template <class Copy>
void Endpoint::arrive_whole(int from, const Envelope& envelope, const Copy& copy) {
  if (Receive* const receive = match(from, envelope)) {
    if (matches(*receive)) copy(make_room(*receive));
    return complete(*receive);
  }
  copy(store_on_heap(add_unexpected(peer(from), {envelope}).stored, envelope.bytes));
}

void Endpoint::send_to_self(Send& send) {
  send.complete = true;
  arrive_whole(rank_, send.envelope,
               [&](std::byte* into) { std::copy_n(send.bytes, send.envelope.bytes, into); });
}

bool Endpoint::poll(int from) {
  Peer& peer = this->peer(from);
  const Line* const line = peer.in.next();
  if (line == nullptr) return false;
  std::uint32_t lines = 1;
  switch (line->kind) {
    case LineKind::inline_bytes:
      lines = lines_for(line->bytes());
      arrive_whole(from, envelope_of(*line),
                   [&](std::byte* into) { peer.in.copy_inline(*line, into); });
      break;
    case LineKind::direct:
      arrive_direct(peer, from, *line);
      break;
    case LineKind::more:
      take_piece(peer, *line);
      break;
    default:
      arrive_in_pieces(peer, from, *line);
  }
  if (peer.in.consume(lines)) wake(*peer.doorbell);
  return true;
}

void Endpoint::arrive_direct(Peer& peer, int from, const Line& line) {
  const Envelope envelope = envelope_of(line);
  if (Receive* const receive = match(from, envelope)) {
    return open_direct(peer, *receive, line.block);
  }
  add_unexpected(peer, {.envelope = envelope, .record = line.block});
}

namespace {

// Of a message in pieces, whose first one is that line: how much of it the sender has copied
// before.
double part_there(const Receiver& in, const Line& line) {
  const std::uint64_t each = line.piece_bytes(), pieces = (line.bytes() + each - 1) / each;
  return in.lines_there(static_cast<std::uint32_t>(pieces)) / static_cast<double>(pieces);
}

}  // namespace

void Endpoint::arrive_in_pieces(Peer& peer, int from, const Line& line) {
  Arriving& arriving = peer.arriving;
  arriving = {.kind = line.kind, .first_block = line.block, .total = line.bytes()};
  if (line.kind == LineKind::repeat) {
    expect_repeat(peer, line);
  } else {
    choose_place(peer, from, envelope_of(line));
  }
  const bool goes_to_buffer = arriving.receive != nullptr && arriving.into != nullptr;
  if (goes_to_buffer && arriving.kind != LineKind::repeat && arriving.total > kDirectBytes) {
    arriving.begin_ns = begin_ns(peer, arriving.total);
    if (arriving.begin_ns != 0) arriving.factor = 1 + part_there(peer.in, line);
  }
  take_piece(peer, line);
}

void Endpoint::expect_repeat(Peer& peer, const Line& line) {
  Arriving& arriving = peer.arriving;
  const std::int32_t record = arriving.record = line.tag;
  arriving.receive = std::exchange(peer.repeats[static_cast<std::size_t>(record)], nullptr);
  // The sender may have seen the refusal first.
  if (arriving.receive == nullptr) {
    arriving.receive = direct_receives_.find([&](const Receive& one) {
      return one.record == record && peers_[static_cast<std::size_t>(one.from)].get() == &peer;
    });
    if (arriving.receive != nullptr) {
      arriving.receive->leave();
      arriving.receive->record = -1;
    }
  }
  if (Receive* const receive = arriving.receive) {
    if (matches(*receive)) arriving.into = make_room(*receive);
    return;
  }
  for (Unexpected& message : peer.unexpected) {
    if (message.record != record) continue;
    message.record = -1;
    message.complete = false;
    arriving.unexpected = &message;
    arriving.into = store_on_heap(message.stored, line.bytes());
  }
}

void Endpoint::choose_place(Peer& peer, int from, const Envelope& envelope) {
  Arriving& arriving = peer.arriving;
  arriving.receive = match(from, envelope);
  Stored* stored = nullptr;
  if (Receive* const receive = arriving.receive) {
    note_taste(*receive);
    if (!matches(*receive)) return;  // dropped
    if (!receive->keeps) {
      arriving.into = receive->into.data();
      return;
    }
    stored = &receive->stored;
  } else {
    arriving.unexpected = &add_unexpected(peer, {.envelope = envelope, .complete = false});
    stored = &arriving.unexpected->stored;
  }
  const std::uint32_t blocks = peer.in.blocks_for(envelope.bytes);
  if (arriving.kind == LineKind::run && peer.held_blocks + blocks <= peer.in.block_count() / 2) {
    peer.held_blocks += blocks;
    arriving.stays = true;
    *stored = {.source = from,
               .first_block = arriving.first_block,
               .blocks = blocks,
               .bytes = {peer.in.block(arriving.first_block), envelope.bytes}};
  } else {
    arriving.into = store_on_heap(*stored, envelope.bytes);
  }
}

void Endpoint::take_piece(Peer& peer, const Line& line) {
  Arriving& arriving = peer.arriving;
  const std::size_t size = line.piece_bytes();
  const bool is_run = arriving.kind == LineKind::run;
  if (arriving.into != nullptr) {
    const std::byte* const piece =
        is_run ? peer.in.block(arriving.first_block) + arriving.done : peer.in.block(line.block);
    std::memcpy(arriving.into + arriving.done, piece, size);
  }
  arriving.done += size;
  if (!is_run) {
    peer.in.release_blocks(line.block, peer.in.blocks_for(size));
    wake(*peer.doorbell);
  }
  if (arriving.done == arriving.total) finish_arriving(peer);
}

void Endpoint::finish_arriving(Peer& peer) {
  const Arriving arriving = std::exchange(peer.arriving, {});
  if (arriving.begin_ns != 0) {
    note_way(peer, arriving.total, Way::blocks, arriving.begin_ns, arriving.factor);
  }
  if (arriving.kind == LineKind::run && !arriving.stays) {
    peer.in.release_blocks(arriving.first_block, peer.in.blocks_for(arriving.total));
    wake(*peer.doorbell);
  }
  if (arriving.record >= 0) {
    peer.in.release_record(arriving.record);
    wake(*peer.doorbell);
  }
  if (arriving.receive != nullptr) return complete(*arriving.receive);
  if (arriving.unexpected == nullptr) return;
  arriving.unexpected->complete = true;
  if (Receive* const taker = arriving.unexpected->taker) {
    hand_over(*taker, *arriving.unexpected);
    peer.unexpected.remove_if([&](const Unexpected& one) { return &one == arriving.unexpected; });
    --unexpected_;
  }
}

void Endpoint::open_direct(Peer& peer, Receive& receive, int index) {
  note_taste(receive);
  DirectCopy& record = peer.in.record(index);
  std::byte* const into = matches(receive) ? make_room(receive) : nullptr;
  std::uint32_t announced = kAnnounced;
  if (!record.open.compare_exchange_strong(announced, kClaimed)) {  // withdrawn
    peer.repeats[static_cast<std::size_t>(index)] = &receive;
    return;
  }
  // From here on the sender waits for the end, so nothing may throw.
  if (!matches(receive)) return finish_direct(peer, receive, index);
  record.to = into;
  record.receiver = world_.pid(rank_);
  shm::begin(record);
  receive.record = index;
  receive.begin_ns = begin_ns(peer, record.bytes);
  direct_receives_.push_back(receive);
  if (record.bytes >= kSharedCopyBytes) {
    peer.in.call_sender(index);
    wake(*peer.doorbell);
  }
  advance_direct(receive);
}

void Endpoint::advance_direct(Receive& receive) {
  Peer& peer = this->peer(receive.from);
  DirectCopy& record = peer.in.record(receive.record);
  const bool shared = record.bytes >= kSharedCopyBytes;
  if (shared) {
    work_as_receiver(record);
  } else {
    copy_alone(record);
  }
  if (is_done(record)) {
    finish_direct(peer, receive, receive.record);
  } else if (has_failed(record)) {
    if (!shared) peer.in.call_sender(receive.record);
    receive.leave();
    peer.repeats[static_cast<std::size_t>(receive.record)] = &receive;
    receive.record = -1;
    wake(*peer.doorbell);
  }
}

void Endpoint::finish_direct(Peer& peer, Receive& receive, int record) {
  if (receive.begin_ns != 0) {
    note_way(peer, receive.envelope.bytes, Way::direct, receive.begin_ns, 1);
  }
  receive.leave();
  receive.record = -1;
  peer.in.release_record(record);
  wake(*peer.doorbell);
  complete(receive);
}

void Endpoint::complete(Receive& receive) {
  receive.complete = true;
  receive.is_open = false;
  --open_;
}

}  // namespace tabane::comm::shm
