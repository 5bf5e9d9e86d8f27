// Sends and receives under way.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tabane/comm/transport/mpi/engine.h"
#include "tabane/comm/transport/mpi/outbox.h"
#include "tabane/comm/transport/transport.h"

namespace tabane::comm::mpi {

// A receive, from the posting to the last byte.
class PostedReceive {
 public:
  // Where it comes from.
  struct Origin {
    Engine* engine;
    MPI_Comm comm;
    std::span<const int> world_ranks;
    int self, source, tag;  // in the group
    bool internal;
    TypeCode type;
  };
  // into: null data and no size if the receive shall keep the elements itself.
  PostedReceive(const Origin& from, std::span<std::byte> into, bool keeps)
      : origin_(from), into_(into), keeps_(keeps) {}
  // One that is given up, because an exception passes.
  ~PostedReceive() {
    if (request_ != MPI_REQUEST_NULL) {
      if (stage_ == Stage::posted) cancel();
      if (stage_ == Stage::fetching) leave_fetch();
    }
    if (packet_) origin_.engine->outbox().give_back(std::move(packet_));
  }
  PostedReceive(const PostedReceive&) = delete;
  PostedReceive& operator=(const PostedReceive&) = delete;

  void post() {
    packet_ = origin_.engine->outbox().take_packet();
    const int source = origin_.source == any_source ? MPI_ANY_SOURCE : origin_.source;
    const int tag = origin_.tag == any_tag ? MPI_ANY_TAG : std::abs(origin_.tag);
    origin_.engine->check(MPI_Irecv(packet_->start(), kAboutBytes + kSmallBytes, MPI_BYTE, source,
                                    tag, origin_.comm, &request_),
                          "MPI_Irecv", peer());
  }
  // Instead of post(): the packet has already come.
  void open(std::unique_ptr<Packet> packet, const Arrival& arrival) {
    packet_ = std::move(packet);
    arrival_ = arrival;
    open();
  }

  // Makes progress; returns whether all is there.
  bool step() {
    if (stage_ == Stage::complete) return true;
    MPI_Status status;
    if (!origin_.engine->test(request_, peer(), &status)) return false;
    if (stage_ == Stage::posted) {
      const int tag = origin_.internal ? -status.MPI_TAG : status.MPI_TAG;
      arrival_ = {status.MPI_SOURCE, tag, {packet_->type}, packet_->bytes};
      open();
    } else {
      stage_ = Stage::complete;
      origin_.engine->check_not_withdrawn(world_source());
    }
    return stage_ == Stage::complete;
  }
  void wait() {
    origin_.engine->wait(awaited(), [this] { return step(); });
  }
  WaitTarget awaited() const { return {peer(), origin_.world_ranks}; }
  // Of a complete one. throws: MessageError if it did not fit.
  const Arrival& arrival() const {
    if (!fits_) {
      throw MessageError(describe_mismatch({arrival_.source, arrival_.type, arrival_.bytes},
                                           {origin_.self, origin_.type, into_.size()},
                                           arrival_.tag));
    }
    return arrival_;
  }
  std::span<const std::byte> kept() const { return kept_; }

 private:
  enum class Stage { posted, fetching, complete };
  int peer() const {
    return origin_.source == any_source
               ? any_source
               : origin_.world_ranks[static_cast<std::size_t>(origin_.source)];
  }
  int world_source() const {  // of what has come
    return origin_.world_ranks[static_cast<std::size_t>(arrival_.source)];
  }
  void open() {
    const std::size_t bytes = arrival_.bytes;
    fits_ = types_fit(arrival_.type, origin_.type) && (keeps_ || bytes <= into_.size());
    if (bytes <= kSmallBytes) {
      if (keeps_) {
        kept_ = std::span(packet_->elements).first(bytes);
      } else if (fits_ && bytes > 0) {
        std::memcpy(into_.data(), packet_->elements.data(), bytes);
      }
      stage_ = Stage::complete;
      return;
    }
    const int source = world_source();
    origin_.engine->check_not_withdrawn(source);
    std::byte* place = into_.data();
    if (keeps_ || !fits_) {
      own_ = allocate_aligned(bytes);
      place = own_.get();
      kept_ = {place, bytes};
    }
    const ByteCount count(bytes);
    origin_.engine->check(
        MPI_Irecv(place, count.count(), count.type(), source, static_cast<int>(packet_->bulk_tag),
                  origin_.engine->bulk(), &request_),
        "MPI_Irecv", source);
    stage_ = Stage::fetching;
  }
  // What MPI may still write to is left to it.
  void cancel() {
    int done = 0, cancelled = 0;
    MPI_Status status;
    MPI_Cancel(&request_);
    MPI_Test(&request_, &done, &status);
    if (!done) {
      MPI_Request_free(&request_);
      static_cast<void>(packet_.release());
      return;
    }
    MPI_Test_cancelled(&status, &cancelled);
    if (cancelled || packet_->bytes <= kSmallBytes || origin_.engine->broken()) return;
    // The packet has come, so the elements are fetched for nobody: their sender may wait.
    arrival_ = {status.MPI_SOURCE, 0, {packet_->type}, packet_->bytes};
    keeps_ = true;
    try {
      open();
    } catch (const core::Error&) {  // the rank's next call throws it
    }
  }
  void leave_fetch() {
    if (origin_.engine->settle(request_)) return;
    if (own_) {
      static_cast<void>(own_.release());
    } else {
      origin_.engine->leave_receive(world_source());
    }
  }

  Origin origin_;
  std::span<std::byte> into_;
  bool keeps_;
  Stage stage_ = Stage::posted;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::unique_ptr<Packet> packet_;
  AlignedBytes own_;
  std::span<const std::byte> kept_;
  Arrival arrival_;
  bool fits_ = true;
};

// MPI reads the user's memory until it is complete. One that is given up, because an exception
// passes, gets a moment; then the world has ended for this rank, and the receiver learns that what
// still comes is not to be trusted.
class SendPending : public Pending {
 public:
  SendPending(Engine& engine, MPI_Request request, int peer)
      : engine_(engine), request_(request), peer_(peer) {}
  ~SendPending() override {
    if (request_ == MPI_REQUEST_NULL) return;
    try {
      if (!engine_.broken() && std::uncaught_exceptions() == 0) wait();
    } catch (const core::LostError& error) {
      engine_.break_off(error);
    }
    if (!engine_.settle(request_)) engine_.withdraw(peer_);
  }
  bool test() override {
    engine_.require_whole();
    engine_.progress();
    if (engine_.test(request_, peer_)) return true;
    engine_.check_alive({peer_});
    return false;
  }
  void wait() override { engine_.complete(request_, {peer_}); }
  void wait_until(const std::function<bool()>& ready) override { engine_.wait({peer_}, ready); }

 private:
  Engine& engine_;
  MPI_Request request_;
  int peer_;
};

class ReceivePending : public Pending {
 public:
  // world_ranks: those of `from`; the group may end before the receive.
  ReceivePending(Engine& engine, std::shared_ptr<const std::vector<int>> world_ranks,
                 const PostedReceive::Origin& from, std::span<std::byte> into)
      : engine_(engine), world_ranks_(std::move(world_ranks)), receive_(from, into, false) {
    engine_.enlist(receive_);
  }
  // A rank that is on its way out waits for nothing.
  ~ReceivePending() override {
    try {
      if (!engine_.broken() && std::uncaught_exceptions() == 0) receive_.wait();
    } catch (const core::Error&) {  // the rank's next call throws it
    }
    engine_.strike(receive_);
  }
  bool test() override {
    engine_.require_whole();
    engine_.progress();
    if (!receive_.step()) {
      engine_.check_alive(receive_.awaited());
      return false;
    }
    arrival = receive_.arrival();
    return true;
  }
  void wait() override {
    receive_.wait();
    arrival = receive_.arrival();
  }
  void wait_until(const std::function<bool()>& ready) override {
    engine_.wait(receive_.awaited(), ready);
  }
  PostedReceive& receive() { return receive_; }

 private:
  Engine& engine_;
  std::shared_ptr<const std::vector<int>> world_ranks_;
  PostedReceive receive_;
};

class MpiParcel : public Parcel {
 public:
  explicit MpiParcel(std::unique_ptr<PostedReceive> receive) : receive_(std::move(receive)) {
    arrival = receive_->arrival();
    bytes = receive_->kept();
  }

 private:
  std::unique_ptr<PostedReceive> receive_;
};

}  // namespace tabane::comm::mpi
