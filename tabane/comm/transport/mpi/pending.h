// What the transport hands out for messages on their way, and for those that it keeps.
#pragma once

#include <mpi.h>

#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tabane/comm/transport/mpi/engine.h"
#include "tabane/comm/transport/mpi/receipt.h"
#include "tabane/comm/transport/transport.h"

namespace tabane::comm::mpi {

class Sent : public Pending {
 public:
  bool test() override { return true; }
  void wait() override {}
};

// MPI reads the user's memory until it is complete. One that is given up, because an exception
// passes, gets a moment; then the world has ended for this rank, and the receiver is told that what
// still comes is not to be trusted.
class Sending : public Pending {
 public:
  Sending(Engine& engine, MPI_Request request, int peer)
      : engine_(engine), request_(request), peer_(peer) {}
  ~Sending() override {
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

class Receiving : public Pending {
 public:
  // world_ranks: those of `from`; the group may end before the receive.
  Receiving(Engine& engine, std::shared_ptr<const std::vector<int>> world_ranks,
            const Receipt::From& from, std::span<std::byte> into)
      : engine_(engine), world_ranks_(std::move(world_ranks)), receipt_(from, into, false) {
    engine_.enlist(receipt_);
  }
  // A rank that is on its way out waits for nothing.
  ~Receiving() override {
    try {
      if (!engine_.broken() && std::uncaught_exceptions() == 0) receipt_.wait();
    } catch (const core::Error&) {  // the rank's next call throws it
    }
    engine_.strike(receipt_);
  }
  bool test() override {
    engine_.require_whole();
    engine_.progress();
    if (!receipt_.step()) {
      engine_.check_alive(receipt_.awaited());
      return false;
    }
    arrival = receipt_.arrival();
    return true;
  }
  void wait() override {
    receipt_.wait();
    arrival = receipt_.arrival();
  }
  void wait_until(const std::function<bool()>& ready) override {
    engine_.wait(receipt_.awaited(), ready);
  }
  Receipt& receipt() { return receipt_; }

 private:
  Engine& engine_;
  std::shared_ptr<const std::vector<int>> world_ranks_;
  Receipt receipt_;
};

class Kept : public Parcel {
 public:
  explicit Kept(std::unique_ptr<Receipt> receipt) : receipt_(std::move(receipt)) {
    arrival = receipt_->arrival();
    bytes = receipt_->kept();
  }

 private:
  std::unique_ptr<Receipt> receipt_;
};

}  // namespace tabane::comm::mpi
