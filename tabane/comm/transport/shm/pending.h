// Receives, sends and parcels that end well, whatever happens.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include "tabane/comm/transport/shm/endpoint.h"
#include "tabane/comm/transport/transport.h"

namespace tabane::comm::shm {

struct Members;

// throws: MessageError if what was received does not fit.
Arrival arrival_of(const Receive& receive, const Members& members);

// A receive that is abandoned, if it is not complete, at its end.
class PostedReceive {
 public:
  explicit PostedReceive(Endpoint& endpoint) : endpoint_(endpoint) {}
  ~PostedReceive() {
    if (receive_.is_open) endpoint_.abandon(receive_);
    if (receive_.stored.first_block >= 0) endpoint_.release(receive_.stored);
  }
  PostedReceive(const PostedReceive&) = delete;
  PostedReceive& operator=(const PostedReceive&) = delete;

  Receive* operator->() { return &receive_; }
  Receive& operator*() { return receive_; }
  void start() { endpoint_.start(receive_); }
  void wait() { endpoint_.wait(receive_); }
  void start_and_wait() {
    if (endpoint_.take_next(receive_)) return;
    start();
    wait();
  }

 private:
  Endpoint& endpoint_;
  Receive receive_;
};

class ShmParcel : public Parcel {
 public:
  ShmParcel(std::shared_ptr<Endpoint> endpoint, const Arrival& arrived, Stored stored)
      : endpoint_(std::move(endpoint)), stored_(std::move(stored)) {
    bytes = stored_.bytes;
    arrival = arrived;
  }
  ~ShmParcel() override { endpoint_->release(stored_); }

 private:
  std::shared_ptr<Endpoint> endpoint_;
  Stored stored_;
};

class SendPending : public Pending {
 public:
  SendPending(std::shared_ptr<Endpoint> endpoint, int to, const Envelope& envelope,
              const std::byte* bytes);
  ~SendPending() override;
  bool test() override;
  void wait() override { endpoint_->wait(*send_); }
  void wait_until(const std::function<bool()>& ready) override { endpoint_->wait_until(ready); }

 private:
  std::shared_ptr<Endpoint> endpoint_;
  std::unique_ptr<Send> send_;
  int exceptions_ = std::uncaught_exceptions();
};

class ReceivePending : public Pending {
 public:
  // The receive is to be filled in and started.
  ReceivePending(std::shared_ptr<Endpoint> endpoint, std::shared_ptr<const Members> members);
  ~ReceivePending() override;
  PostedReceive& receive() { return receive_; }
  bool test() override;
  void wait() override;
  void wait_until(const std::function<bool()>& ready) override { endpoint_->wait_until(ready); }

 private:
  std::shared_ptr<Endpoint> endpoint_;
  std::shared_ptr<const Members> members_;
  PostedReceive receive_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace tabane::comm::shm
