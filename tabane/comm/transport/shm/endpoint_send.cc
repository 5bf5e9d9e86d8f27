#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "tabane/comm/transport/shm/endpoint.h"

namespace tabane::comm::shm {

void Endpoint::send_slowly(int to, const Envelope& envelope, const std::byte* bytes) {
  Send send;
  send.to = to;
  send.envelope = envelope;
  send.bytes = bytes;
  start(send);
  try {
    wait(send);
  } catch (...) {
    withdraw(send);
    throw;
  }
}

void Endpoint::start(Send& send) {
  world_.check_failed(rank_);
  if (send.to == rank_) return send_to_self(send);
  ++open_;
  Peer& to = peer(send.to);
  enqueue(to, send);
  advance_queue(send.to);
}

void Endpoint::enqueue(Peer& peer, Send& send) {
  peer.queue.push_back(send);
  ++queued_;
}

void Endpoint::advance_queue(int to) {
  Peer& peer = this->peer(to);
  while (!peer.queue.empty()) {
    Send& send = peer.queue.front();
    if (!advance(peer, send)) return;
    send.leave();
    --queued_;
    if (send.record >= 0) {
      direct_sends_.push_back(send);
    } else {
      complete(send);
    }
  }
}

bool Endpoint::advance(Peer& peer, Send& send) {
  if (!send.started) {
    if (send.envelope.bytes <= kInlineBytes) {
      if (!peer.out.put_inline(send.envelope, send.bytes)) return false;
      wake(*peer.doorbell);
      return true;
    }
    if (!begin(peer, send)) return false;
    if (send.record >= 0) return true;
  }
  while (send.done < send.envelope.bytes) {
    if (!put_piece(peer, send)) return false;
  }
  return true;
}

bool Endpoint::begin(Peer& peer, Send& send) {
  Sender& out = peer.out;
  if (!out.has_lines(1)) return false;
  if (send.kind == LineKind::run) {  // not if a direct copy was refused
    const std::size_t bytes = send.envelope.bytes;
    if (bytes > kDirectBytes && may_copy_directly(peer, send.to) && wants_direct(peer, send) &&
        announce_direct(peer, send)) {
      return true;
    }
    const std::uint32_t half = out.block_count() / 2;
    send.kind = LineKind::scattered;
    if (bytes <= half * out.block_bytes()) {
      send.first_block = out.take_blocks(out.blocks_for(bytes));
      if (send.first_block >= 0) {
        send.kind = LineKind::run;
      } else if (out.free_blocks() < half) {
        // The receiver holds at most half of the blocks, so more will come back.
        send.kind = LineKind::run;
        return false;
      }
    }
  }
  send.started = true;
  return true;
}

bool Endpoint::wants_direct(Peer& peer, Send& send) {
  const std::size_t bytes = send.envelope.bytes;
  if (peer.out.receiver_takes_views()) {
    const std::size_t half = peer.out.block_count() / 2 * peer.out.block_bytes();
    return bytes > std::max<std::size_t>(half, 16 * 1024);
  }
  if (bytes > kMostTriedBytes) return true;
  if (send.way == Way::undecided) send.way = peer.tries.next(bytes, peer.out.way(bytes));
  return send.way == Way::direct;
}

bool Endpoint::may_copy_directly(Peer& peer, int to) {
  if (peer.direct == Direct::unknown) {
    if (world_.state(to) == RankState::starting) return false;  // it has no pid yet
    // Of memory that nobody writes any more.
    const bool can = can_copy_directly(world_.pid(to), &peer.doorbell->writers_fence);
    peer.direct = can ? Direct::possible : Direct::refused;
  }
  return peer.direct == Direct::possible;
}

bool Endpoint::announce_direct(Peer& peer, Send& send) {
  const int index = peer.out.take_record();
  if (index < 0) return false;
  DirectCopy& record = peer.out.record(index);
  record.open.store(kAnnounced, std::memory_order_relaxed);
  record.error.store(0, std::memory_order_relaxed);
  record.taken.store(0, std::memory_order_relaxed);
  record.ended.store(0, std::memory_order_relaxed);
  record.sender = world_.pid(rank_);
  record.from = send.bytes;
  record.bytes = send.envelope.bytes;
  send.record = index;
  send.started = true;
  peer.out.put(send.envelope, LineKind::direct, index, 0);
  wake(*peer.doorbell);
  return true;
}

bool Endpoint::put_piece(Peer& peer, Send& send) {
  Sender& out = peer.out;
  if (!out.has_lines(1)) return false;
  const bool is_run = send.kind == LineKind::run;
  const std::size_t left = send.envelope.bytes - send.done;
  std::size_t size = std::min(left, kPieceBytes);
  int block = send.first_block;
  std::byte* place = nullptr;
  if (is_run) {
    place = out.block(block) + send.done;
  } else {
    std::uint32_t blocks = 0;
    block = out.take_some_blocks(out.blocks_for(size), blocks);
    if (block < 0) return false;
    size = std::min(left, blocks * out.block_bytes());
    place = out.block(block);
  }
  copy_to_other(place, send.bytes + send.done, size);
  out.put(send.envelope, send.done == 0 ? send.kind : LineKind::more, block,
          static_cast<std::uint32_t>(size));
  send.done += size;
  wake(*peer.doorbell);
  return true;
}

void Endpoint::advance_direct(Send& send) {
  Peer& peer = this->peer(send.to);
  Sender& out = peer.out;
  if (!out.is_released(send.record)) {
    if (!out.is_called(send.record)) return;
    DirectCopy& record = out.record(send.record);
    if (record.open.load(std::memory_order_acquire) == kOpen) {  // with the store in begin()
      work_as_sender(record);
      wake(*peer.doorbell);
    }
    if (has_failed(record)) {
      if (record.error.load() != ECANCELED) peer.direct = Direct::refused;
      return repeat_in_pieces(peer, send);
    }
    if (!out.is_released(send.record)) return;
  }
  out.leave_record(send.record);
  send.record = -1;
  send.leave();
  complete(send);
}

// The receiver knows the message by its record, which it keeps until then.
void Endpoint::repeat_in_pieces(Peer& peer, Send& send) {
  peer.out.leave_record(send.record);
  send.leave();
  send.envelope.tag = send.record;
  send.record = -1;
  send.kind = LineKind::repeat;
  send.started = false;
  enqueue(peer, send);
}

void Endpoint::complete(Send& send) {
  send.complete = true;
  --open_;
}

// What is in blocks is never complete: the channel's next message begins with its first piece.
void Endpoint::withdraw(Send& send) noexcept {
  if (!send.waits()) return;
  if (send.record >= 0) {
    stop_direct(send);
  } else {
    --queued_;
  }
  send.leave();
  --open_;
}

// The receiver may be reading memory that is about to change: its last piece must have ended. What
// it has not claimed yet it never will.
void Endpoint::stop_direct(Send& send) noexcept {
  Peer& to = peer(send.to);
  DirectCopy& record = to.out.record(send.record);
  const auto is_read = [&] {
    if (to.out.is_released(send.record)) return false;
    if (record.open.load() != kOpen) return true;  // begin() would forget that it is withdrawn
    shm::withdraw(record);
    return !has_failed(record);
  };
  std::uint32_t announced = kAnnounced;
  if (!record.open.compare_exchange_strong(announced, kWithdrawn)) {
    while (is_read() && world_.may_be_in_a_call(send.to)) usleep(100);
  }
  to.out.leave_record(send.record);
  send.record = -1;
  wake(*to.doorbell);
}

void Endpoint::abandon(std::unique_ptr<Send> send) noexcept {
  if (!send->waits()) return;
  if (world_.failed()) return withdraw(*send);
  Peer& peer = this->peer(send->to);
  if (send->record >= 0) {
    DirectCopy& record = peer.out.record(send->record);
    std::uint32_t announced = kAnnounced;
    if (!record.open.compare_exchange_strong(announced, kWithdrawn)) {
      try {  // The receiver copies right now: that ends.
        wait(*send);
      } catch (...) {
        withdraw(*send);
      }
      return;
    }
    repeat_in_pieces(peer, *send);
  }
  send->own = std::make_unique_for_overwrite<std::byte[]>(send->envelope.bytes);
  std::copy_n(send->bytes, send->envelope.bytes, send->own.get());
  send->bytes = send->own.get();
  std::erase_if(abandoned_, [](const auto& old) { return old->complete; });
  abandoned_.push_back(std::move(send));
}

}  // namespace tabane::comm::shm
