#include "tabane/comm/transport/plain_transport_test.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tabane/comm/collective/group.h"
#include "tabane/comm/transport/plain_world_test.h"

namespace tabane::comm {
namespace {

using plain::Mailbox;
using plain::Message;
using plain::PostedReceive;
using plain::Shared;
using plain::World;

// ready() may send and receive, so it is called without the lock. If nothing has changed since
// then, it is still false. check: throws if it never will be.
template <class Check>
void wait_until(World& world, int rank, const std::function<bool()>& ready, Check&& check) {
  std::unique_lock lock(world.mutex);
  for (;;) {
    const std::uint64_t seen = world.changes(rank);
    lock.unlock();
    if (ready()) return;
    lock.lock();
    world.throw_if_failed();
    if (world.changes(rank) != seen) continue;
    check();
    world.wait(lock, rank);
  }
}

class PlainMemory : public GroupMemory {
 public:
  PlainMemory(World& world, Shared& shared, int rank)
      : world_(world), shared_(shared), rank_(rank) {}

  std::span<std::byte> bytes() override { return {shared_.memory.get(), shared_.memory_bytes}; }

  void wait(int peer, const std::function<bool()>& ready) override {
    comm::wait_until(world_, in_world(rank_), ready, [&] { throw_if_in_vain(peer); });
  }
  void check(int peer, const std::function<bool()>& ready) override {
    std::unique_lock lock(world_.mutex);
    const std::uint64_t seen = world_.changes(in_world(rank_));
    lock.unlock();
    if (ready()) return;
    lock.lock();
    world_.throw_if_failed();
    if (world_.changes(in_world(rank_)) == seen) throw_if_in_vain(peer);
  }
  void notify(int rank) override {
    const std::lock_guard lock(world_.mutex);
    world_.changed(in_world(rank));
  }
  std::uint64_t open(std::span<std::byte> bytes) override {
    const std::lock_guard lock(world_.mutex);
    window(rank_) = {++shared_.last_key, bytes};
    return shared_.last_key;
  }
  void close(bool) noexcept override {
    const std::lock_guard lock(world_.mutex);
    window(rank_) = {};
  }
  CopyResult write(int rank, std::uint64_t key, std::size_t offset,
                   std::span<const std::byte> bytes) override {
    return at_window(rank, key, offset, bytes.size(),
                     [&](std::byte* there) { std::ranges::copy(bytes, there); });
  }
  CopyResult read(int rank, std::uint64_t key, std::size_t offset,
                  std::span<std::byte> into) override {
    return at_window(rank, key, offset, into.size(),
                     [&](std::byte* there) { std::copy_n(there, into.size(), into.data()); });
  }
  void notify_all() override {
    const std::lock_guard lock(world_.mutex);
    for (const int member : shared_.members) world_.changed(member);
  }

 private:
  int in_world(int rank) const { return shared_.members[static_cast<std::size_t>(rank)]; }
  // Under the mutex.
  void throw_if_in_vain(int peer) {
    for (int other = 0; other < static_cast<int>(shared_.members.size()); ++other) {
      if (other != rank_ && (peer == any_source || other == peer)) {
        world_.throw_if_in_vain(shared_, rank_, other);
      }
    }
  }
  // Under the mutex, so that no close() returns meanwhile.
  template <class Copy>
  CopyResult at_window(int rank, std::uint64_t key, std::size_t offset, std::size_t bytes,
                       const Copy& copy) {
    const std::lock_guard lock(world_.mutex);
    const plain::Window& theirs = window(rank);
    if (theirs.key != key || offset > theirs.bytes.size() || bytes > theirs.bytes.size() - offset) {
      return CopyResult::closed;
    }
    copy(theirs.bytes.data() + offset);
    return CopyResult::done;
  }
  plain::Window& window(int rank) { return shared_.windows[static_cast<std::size_t>(rank)]; }

  World& world_;
  Shared& shared_;
  int rank_;
};

class PlainSent : public Pending {
 public:
  bool test() override { return true; }
  void wait() override {}
};

struct Taken : Parcel {
  explicit Taken(Message message) : kept(std::move(message.bytes)) {
    bytes = kept;
    arrival = message.arrival;
  }
  const std::vector<std::byte> kept;
};

class PlainTransport : public Transport {
 public:
  PlainTransport(std::shared_ptr<World> world, std::shared_ptr<Shared> shared, int rank)
      : Transport(rank, static_cast<int>(shared->members.size())),
        world_(std::move(world)),
        shared_(std::move(shared)),
        memory_(*world_, *shared_, rank) {}

  std::string_view name() const override { return "plain"; }

  void send(int to, const Label& label, std::span<const std::byte> bytes) override;
  Arrival recv(int from, const Label& label, std::span<std::byte> into) override;
  std::unique_ptr<Parcel> recv_parcel(int from, const Label& label) override;
  std::unique_ptr<Pending> isend(int to, const Label& label,
                                 std::span<const std::byte> bytes) override;
  std::unique_ptr<Pending> irecv(int from, const Label& label, std::span<std::byte> into) override;
  bool probe(int from, const Label& label, Arrival& arrival) override;
  std::unique_ptr<Transport> make_group(std::span<const int> members,
                                        const MemoryRequest& request) override;

  void progress() override { backgrounds().progress(); }
  void wait_until(int peer, const std::function<bool()>& ready) override;
  void enlist(Background& background) override { backgrounds().enlist(background); }
  void strike(Background& background) override { backgrounds().strike(background); }

  GroupMemory* memory() override { return &memory_; }
  void check_alive() override {
    const std::lock_guard lock(world_->mutex);
    world_->throw_if_failed();
  }
  void abort_job(int code) override { throw AbortError(rank_in_world(), code); }
  void set_phase(const char* text) override { world_->set_phase(rank_in_world(), text); }
  std::atomic<const char*>& call() override { return world_->call(rank_in_world()); }

  Mailbox& mailbox() { return mailbox_of(rank()); }
  // What outlives this one.
  PlainTransport copy() const { return {world_, shared_, rank()}; }
  World& world() { return *world_; }
  const Shared& shared() const { return *shared_; }
  int rank_in_world() const { return shared_->members[static_cast<std::size_t>(rank())]; }

  // Waits for its message; whatever happens, it is not posted afterwards.
  Message wait_for(std::unique_lock<std::mutex>& lock, PostedReceive& posted);
  Arrival put(Message message, TypeCode type, std::span<std::byte> into) const;

 private:
  Backgrounds& backgrounds() { return world_->backgrounds(rank_in_world()); }
  Mailbox& mailbox_of(int rank) { return shared_->mailboxes[static_cast<std::size_t>(rank)]; }
  void check_type(const Message& message, TypeCode type) const;

  std::shared_ptr<World> world_;
  std::shared_ptr<Shared> shared_;
  PlainMemory memory_;
};

class PlainReceive : public Pending {
 public:
  PlainReceive(const PlainTransport& transport, int from, const Label& label,
               std::span<std::byte> into)
      : transport_(transport.copy()), posted_{from, label, {}}, into_(into) {
    const std::lock_guard lock(transport_.world().mutex);
    transport_.world().throw_if_failed();
    transport_.mailbox().post(posted_);
  }
  // A rank that is on its way out waits for nothing.
  ~PlainReceive() override {
    if (complete_) return;
    if (std::uncaught_exceptions() == 0) {
      try {
        wait();
      } catch (const core::Error&) {  // the rank's next call throws it
      }
    }
    const std::lock_guard lock(transport_.world().mutex);
    transport_.mailbox().cancel(posted_);
  }

  bool test() override {
    {
      const std::lock_guard lock(transport_.world().mutex);
      if (!complete_ && !posted_.message) {
        transport_.world().throw_if_in_vain(transport_.shared(), transport_.rank(), posted_.from);
        return false;
      }
    }
    wait();
    return true;
  }
  void wait() override {
    if (std::exchange(complete_, true)) return;
    std::unique_lock lock(transport_.world().mutex);
    Message message = transport_.wait_for(lock, posted_);
    lock.unlock();
    arrival = transport_.put(std::move(message), posted_.label.type, into_);
  }
  void wait_until(const std::function<bool()>& ready) override {
    transport_.wait_until(posted_.from, ready);
  }

 private:
  PlainTransport transport_;  // the group may end before the receive
  PostedReceive posted_;
  std::span<std::byte> into_;
  bool complete_ = false;
};

Message PlainTransport::wait_for(std::unique_lock<std::mutex>& lock, PostedReceive& posted) {
  try {
    while (!posted.message) {
      world_->throw_if_in_vain(*shared_, rank(), posted.from);
      world_->wait(lock, rank_in_world());
    }
  } catch (...) {
    mailbox().cancel(posted);
    throw;
  }
  return std::move(*posted.message);
}

void PlainTransport::check_type(const Message& message, TypeCode type) const {
  const Arrival& got = message.arrival;
  check_fits({got.source, got.type, got.bytes}, {rank(), type, got.bytes}, got.tag);
}

Arrival PlainTransport::put(Message message, TypeCode type, std::span<std::byte> into) const {
  const Arrival& got = message.arrival;
  check_fits({got.source, got.type, got.bytes}, {rank(), type, into.size()}, got.tag);
  std::copy(message.bytes.begin(), message.bytes.end(), into.begin());
  return got;
}

void PlainTransport::send(int to, const Label& label, std::span<const std::byte> bytes) {
  Message message{{rank(), label.tag, label.type, bytes.size()}, {bytes.begin(), bytes.end()}};
  const std::lock_guard lock(world_->mutex);
  world_->throw_if_failed();
  mailbox_of(to).put(std::move(message));
  world_->changed(shared_->members[static_cast<std::size_t>(to)]);
}

std::unique_ptr<Pending> PlainTransport::isend(int to, const Label& label,
                                               std::span<const std::byte> bytes) {
  send(to, label, bytes);
  return std::make_unique<PlainSent>();
}

Arrival PlainTransport::recv(int from, const Label& label, std::span<std::byte> into) {
  PlainReceive receive(*this, from, label, into);
  receive.wait();
  return receive.arrival;
}

std::unique_ptr<Pending> PlainTransport::irecv(int from, const Label& label,
                                               std::span<std::byte> into) {
  return std::make_unique<PlainReceive>(*this, from, label, into);
}

std::unique_ptr<Parcel> PlainTransport::recv_parcel(int from, const Label& label) {
  PostedReceive posted{from, label, {}};
  std::unique_lock lock(world_->mutex);
  world_->throw_if_failed();
  mailbox().post(posted);
  Message message = wait_for(lock, posted);
  check_type(message, label.type);
  return std::make_unique<Taken>(std::move(message));
}

bool PlainTransport::probe(int from, const Label& label, Arrival& arrival) {
  const std::lock_guard lock(world_->mutex);
  world_->throw_if_failed();
  const Message* const found = mailbox().find(from, label);
  if (found == nullptr) {
    if (from != any_source) world_->throw_if_in_vain(*shared_, rank(), from);
    return false;
  }
  arrival = found->arrival;
  return true;
}

void PlainTransport::wait_until(int peer, const std::function<bool()>& ready) {
  comm::wait_until(*world_, rank_in_world(), ready,
                   [&] { world_->throw_if_in_vain(*shared_, rank(), peer); });
}

std::unique_ptr<Transport> PlainTransport::make_group(std::span<const int> members,
                                                      const MemoryRequest& request) {
  const std::lock_guard lock(world_->mutex);
  world_->throw_if_failed();
  const auto own = std::ranges::find(members, rank()) - members.begin();
  return std::make_unique<PlainTransport>(world_, shared_->join(rank(), members, request),
                                          static_cast<int>(own));
}

std::string text_of_current_exception() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

void live(World& world, int rank, Comm& comm, const std::function<void(Comm&)>& f) {
  try {
    f(comm);
    const std::lock_guard lock(world.mutex);
    world.leave(rank);
  } catch (...) {
    const std::lock_guard lock(world.mutex);
    world.fail(rank, text_of_current_exception());
  }
}

}  // namespace

void run_plain(int ranks, const std::function<void(Comm&)>& f) {
  const auto world = std::make_shared<World>(ranks);
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  const auto shared = std::make_shared<Shared>(all, board_request(ranks));
  std::vector<std::thread> threads;
  for (const int rank : all) {
    threads.emplace_back([&, rank] {
      Comm comm(std::make_unique<PlainTransport>(world, shared, rank));
      live(*world, rank, comm, f);
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (const auto& failure = world->failure()) {
    throw core::Error("rank {}: {}", failure->lost.rank(), failure->what);
  }
}

}  // namespace tabane::comm
