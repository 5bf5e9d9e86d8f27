// Sends and receives under way.
#pragma once

#include <mpi.h>

#include <cstddef>
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
  ~PostedReceive();
  PostedReceive(const PostedReceive&) = delete;
  PostedReceive& operator=(const PostedReceive&) = delete;

  void post();
  // Instead of post(): the packet has already come.
  void open(std::unique_ptr<Packet> packet, const Arrival& arrival);

  // Makes progress; returns whether all is there.
  bool step();
  void wait();
  WaitTarget awaited() const { return {peer(), origin_.world_ranks}; }
  // Of a complete one. throws: MessageError if it did not fit.
  const Arrival& arrival() const;
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
  void open();
  void cancel();
  void leave_fetch();

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
    // As wait_unless_thrown(), but keeps what is thrown: withdraw() tells the receiver of it.
    try {
      if (!engine_.broken() && std::uncaught_exceptions() == exceptions_) wait();
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
    if (!engine_.broken()) wait_unless_thrown();
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

}  // namespace tabane::comm::mpi
