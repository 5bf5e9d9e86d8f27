// Messages through memory that the ranks of one launch share.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tabane/comm/transport/shm/endpoint.h"
#include "tabane/comm/transport/shm/group_memory.h"
#include "tabane/comm/transport/transport.h"

namespace tabane::comm::shm {

// The group of all ranks, in the process of one of them after World::enter(). All ranks call it,
// with the same request; it sends messages. world lives longer than all that came of it.
std::unique_ptr<Transport> make_shm_transport(World& world, int rank, const MemoryRequest& request);

// The ranks of a group.
struct Members {
  // self: in the world, as world_ranks.
  Members(std::vector<int> world_ranks, int ranks_in_world, int self);

  std::vector<int> in_world;  // by rank in the group
  std::vector<int> in_group;  // by rank in the world; -1: not a member
  int self;                   // in the group
};

class ShmTransport : public Transport {
 public:
  // Tells groups apart in the world; the first member's rank is in it.
  using Context = std::uint64_t;

  ShmTransport(std::shared_ptr<Endpoint> endpoint, std::shared_ptr<const Members> members,
               Context context, std::unique_ptr<GroupMemory> memory);

  std::string_view name() const override { return "shm"; }
  void send(int to, const Label& label, std::span<const std::byte> bytes) override;
  Arrival recv(int from, const Label& label, std::span<std::byte> into) override;
  std::unique_ptr<Parcel> recv_parcel(int from, const Label& label) override;
  std::unique_ptr<Pending> isend(int to, const Label& label,
                                 std::span<const std::byte> bytes) override;
  std::unique_ptr<Pending> irecv(int from, const Label& label, std::span<std::byte> into) override;
  bool probe(int from, const Label& label, Arrival& arrival) override;
  void progress() override { endpoint_->progress(false); }
  void wait_until(int peer, const std::function<bool()>& ready) override;
  void enlist(Background& background) override { endpoint_->backgrounds().enlist(background); }
  void strike(Background& background) override { endpoint_->backgrounds().strike(background); }
  std::unique_ptr<Transport> make_group(std::span<const int> members,
                                        const MemoryRequest& request) override;
  GroupMemory* memory() override { return memory_.get(); }
  bool crowded() const override { return endpoint_->world().crowded(); }
  void check_alive() override { endpoint_->world().check_failed(endpoint_->rank()); }
  void abort_job(int code) override;
  void set_phase(const char* text) override;
  std::atomic<const char*>& call() override { return endpoint_->world().call(endpoint_->rank()); }

 private:
  int in_world(int rank) const { return members_->in_world[static_cast<std::size_t>(rank)]; }
  Envelope envelope(const Label& label, std::size_t bytes) const {
    return {context_, label.tag, label.type.code, bytes};
  }
  void aim(Receive& receive, int from, const Label& label) const;

  std::shared_ptr<Endpoint> endpoint_;
  std::shared_ptr<const Members> members_;
  Context context_;
  std::unique_ptr<GroupMemory> memory_;
};

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
  void wait_until(const std::function<bool()>& ready) override {
    endpoint_->wait_until(any_source, ready);
  }

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
  void wait_until(const std::function<bool()>& ready) override {
    endpoint_->wait_until(any_source, ready);
  }

 private:
  std::shared_ptr<Endpoint> endpoint_;
  std::shared_ptr<const Members> members_;
  PostedReceive receive_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace tabane::comm::shm
