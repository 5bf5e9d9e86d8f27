// How bytes move between the ranks of one group. A transport offers messages and may offer shared
// memory or collectives of its own; everything else is built on top of it, so that another
// transport (one on which time is simulated, say) is a few hundred lines.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tabane/comm/message.h"
#include "tabane/comm/operation.h"
#include "tabane/core/clock.h"

namespace tabane::comm {

// How a message is found: by its tag, besides who sent it. Then its type is compared; another type
// is an error.
struct Label {
  int tag = 0;         // users': 0 … kMostTag; negative ones belong to collectives
  TypeCode type = {};  // of the elements
};

// A message that was received.
struct Arrival {
  int source = 0;  // rank in this group
  int tag = 0;
  TypeCode type = {};
  std::size_t bytes = 0;
};

// A message that can be read where the transport has put it. The rank that received it ends it, in
// any order.
class Parcel {
 public:
  virtual ~Parcel() = default;  // releases
  std::span<const std::byte> bytes;
  Arrival arrival;
};

// One that is in what it keeps.
template <class Kept>
class KeptParcel : public Parcel {
 public:
  KeptParcel(const Arrival& from, std::span<const std::byte> in_kept, Kept&& kept)
      : kept_(std::move(kept)) {
    bytes = in_kept;
    arrival = from;
  }

 private:
  const Kept kept_;
};

// Calls f at the end of a scope, however it is left.
template <class F>
class AtEnd {
 public:
  explicit AtEnd(F f) : f_(std::move(f)) {}
  ~AtEnd() { f_(); }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;

 private:
  F f_;
};

// A message on its way.
class Pending {
 public:
  virtual ~Pending() = default;  // one that is not complete is waited for
  // Instead of delete: its memory may be kept for another one.
  virtual void release() noexcept { delete this; }
  // Makes progress. Returns whether it is complete. throws: as send() and recv().
  virtual bool test() = 0;
  virtual void wait() = 0;
  // Waits as wait() does, but until ready(), which test()s this one and others. Only of one that is
  // not complete.
  virtual void wait_until(const std::function<bool()>& ready) {
    while (!ready()) continue;
  }
  Arrival arrival;  // of a receive, once complete

 protected:
  // For destructors: waits, unless an exception takes the rank away, whose peers may be waiting for
  // it. What goes wrong the rank's next call throws, too.
  void wait_unless_thrown() noexcept {
    if (std::uncaught_exceptions() != exceptions_) return;
    try {
      wait();
    } catch (...) {
    }
  }
  int exceptions_ = std::uncaught_exceptions();  // on their way when it began
};

// A send that was complete at once.
class CompletedSend : public Pending {
 public:
  bool test() override { return true; }
  void wait() override {}
};

struct ReleasePending {
  ReleasePending() = default;
  ReleasePending(std::default_delete<Pending>) {}  // of one that keeps no memory
  void operator()(Pending* one) const noexcept { one->release(); }
};
using PendingPtr = std::unique_ptr<Pending, ReleasePending>;

// What became of a write into another rank's window, or a read of it. closed: it is not open any
// more, or what is to be written or read is outside it. refused: the system does not permit it.
enum class CopyResult : std::uint8_t { done, closed, refused };

// While the rank is in a call of that name, of static storage; within another call it says nothing,
// so a receive within a broadcast is a broadcast.
class InCall {
 public:
  // call: see Transport::call().
  InCall(std::atomic<const char*>& call, const char* name)
      : call_(call.load(std::memory_order_relaxed) == nullptr ? &call : nullptr) {
    if (call_ != nullptr) call_->store(name, std::memory_order_relaxed);
  }
  ~InCall() {
    if (call_ != nullptr) call_->store(nullptr, std::memory_order_relaxed);
  }
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;

 private:
  std::atomic<const char*>* call_;  // null: within another call
};

// Work that a rank does while it waits for something else.
class Background {
 public:
  virtual ~Background() = default;
  // Whether progress() does anything: polls are cheaper where none does. Always the same.
  virtual bool progresses() const { return true; }
  // Called again and again while the rank waits. May start and test messages; waits for none.
  virtual void progress() {}
  // Called each time before the rank yields or sleeps. What it throws ends the wait.
  virtual void look() {}
};

// For transports: those of one rank, in all of its groups. A wait inside a background calls none of
// them.
class Backgrounds {
 public:
  void enlist(Background& background) {
    all_.push_back(&background);
    if (background.progresses()) progressing_.push_back(&background);
  }
  // Also of one that is not enlisted any more.
  void strike(Background& background) {
    std::erase(all_, &background);
    std::erase(progressing_, &background);
  }

  bool progresses() const { return !progressing_.empty(); }
  void progress() {
    if (!progressing_.empty()) call(progressing_, &Background::progress);
  }
  void look() {
    if (!all_.empty()) call(all_, &Background::look);
  }

 private:
  // One that is called may strike itself, and enlist others.
  void call(const std::vector<Background*>& some, void (Background::*what)()) {
    if (std::exchange(calling_, true)) return;
    const AtEnd release([this] { calling_ = false; });
    for (std::size_t i = 0; i < some.size();) {
      Background* const one = some[i];
      (one->*what)();
      if (i < some.size() && some[i] == one) ++i;
    }
  }

  std::vector<Background*> all_, progressing_;
  bool calling_ = false;
};

// Memory that all ranks of a group map, perhaps at different addresses; zero at first. Through it,
// flags and values reach the other ranks without messages.
class GroupMemory {
 public:
  virtual ~GroupMemory() = default;
  virtual std::span<std::byte> bytes() = 0;  // starts at a page
  // Waits until ready() is true, which rank `peer` will bring about: spins, yields, then sleeps
  // until that rank calls notify. peer: any_source if it takes all ranks of the group. throws:
  // core::LostError as recv().
  virtual void wait(int peer, const std::function<bool()>& ready) = 0;
  // Throws the same at once, for a rank that does something else until ready() is true.
  virtual void check(int peer, const std::function<bool()>& ready) = 0;
  // For a rank that has written what others may wait for. cost: a load per rank that is awake.
  virtual void notify(int rank) = 0;
  virtual void notify_all() = 0;

  // A window is private memory of this rank that others may read or write: one a rank at a time.
  // Returns the key by which they know it, different from those of all windows of the group before.
  virtual std::uint64_t open(std::span<std::byte> /*bytes*/) { return 0; }
  // Returns when no rank uses it any more: a rank that does ends its copy, or dies. all_done: none
  // can use it, because all that know the key have said that they have read or written.
  virtual void close(bool /*all_done*/) noexcept {}
  // Copies into the window of another rank, from byte `offset` on, all or, unless it returns done,
  // perhaps a part, but never after that rank's close().
  virtual CopyResult write(int /*rank*/, std::uint64_t /*key*/, std::size_t /*offset*/,
                           std::span<const std::byte> /*bytes*/) {
    return CopyResult::refused;
  }
  // As write(), in the other direction.
  virtual CopyResult read(int /*rank*/, std::uint64_t /*key*/, std::size_t /*offset*/,
                          std::span<std::byte> /*into*/) {
    return CopyResult::refused;
  }
};

// How many bytes of memory a group asks to share: more than `most` is of no use to it, and less
// than `least` neither.
struct MemoryRequest {
  std::size_t least = 0, most = 0;
};

// Collectives that the transport does itself, as MPI does. The bytes are whole elements; combine
// says of what. Ranks are those of the group; all give the same sizes.
class NativeCollectives {
 public:
  virtual ~NativeCollectives() = default;
  // Whether it has this one. The same on all ranks.
  virtual bool offers(Kind /*kind*/) const { return true; }
  // The most bytes of all ranks together that gather, scatter, all_gather and all_to_all take. The
  // same on all ranks.
  virtual std::size_t most_bytes() const { return SIZE_MAX; }
  virtual void barrier() = 0;
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  // Returns false, on all ranks, if it does not know the operation.
  virtual bool reduce(std::span<std::byte> values, const Combine& combine, int root) = 0;
  virtual bool all_reduce(std::span<std::byte> values, const Combine& combine) = 0;
  // Equal blocks, in the order of ranks. cyclic: the root will sort their elements in turn.
  virtual void gather(std::span<const std::byte> block, std::span<std::byte> all, int root,
                      bool cyclic) = 0;
  virtual void scatter(std::span<const std::byte> all, std::span<std::byte> block, int root) = 0;
  virtual void all_gather(std::span<const std::byte> block, std::span<std::byte> all) = 0;
  virtual void all_to_all(std::span<const std::byte> out, std::span<std::byte> in) = 0;
};

// What a rank computes between its messages. kind: of static storage, for a machine that has other
// rates for it; empty: none.
struct Work {
  std::string_view kind = {};
  double operations = 0, bytes = 0;
};

// Messages of one pair under one tag arrive in the order in which they were sent. A rank can send
// to itself; that is complete at once. throws, all of these: core::LostError naming rank, pid and
// phase if a rank of the world is gone; MessageError if a message does not fit its receiver, in
// size or type (what arrived is taken). Arguments were checked by the caller: ranks exist, tags are
// legal.
class Transport {
 public:
  virtual ~Transport() = default;
  int rank() const { return rank_; }
  int size() const { return size_; }
  virtual std::string_view name() const = 0;  // "shm", "mpi"
  // Users' largest tag: less than kMostTag where MPI has fewer. The same on all ranks.
  virtual int most_tag() const { return kMostTag; }

  // Returns when the bytes may be changed. May wait for the receiver; pending messages make
  // progress meanwhile.
  virtual void send(int to, const Label& label, std::span<const std::byte> bytes) = 0;
  // from: a rank or any_source; label.tag: a tag or any_tag (never a collective's message then).
  virtual Arrival recv(int from, const Label& label, std::span<std::byte> into) = 0;
  virtual std::unique_ptr<Parcel> recv_parcel(int from, const Label& label) = 0;
  virtual std::unique_ptr<Pending> isend(int to, const Label& label,
                                         std::span<const std::byte> bytes) = 0;
  virtual std::unique_ptr<Pending> irecv(int from, const Label& label,
                                         std::span<std::byte> into) = 0;
  // Whether a message is there that recv() would take at once. throws: core::LostError if there is
  // none, and `from` has returned.
  virtual bool probe(int from, const Label& label, Arrival& arrival) = 0;

  // Makes progress of all that this rank has begun, in all of its groups.
  virtual void progress() = 0;
  // Waits until ready() is true, which rank `peer` (any_source: any) will bring about by messages.
  virtual void wait_until(int peer, const std::function<bool()>& ready) = 0;
  // From now on until strike(), in all waits of this rank, whatever their group.
  virtual void enlist(Background& background) = 0;
  virtual void strike(Background& background) = 0;

  // A group of some ranks of this one, in the order given, this rank among them. All of them call
  // it, with the same list and the same request, which the transport grants if it can. May use
  // messages with tags of collectives on this group.
  virtual std::unique_ptr<Transport> make_group(std::span<const int> members,
                                                const MemoryRequest& request) = 0;

  virtual GroupMemory* memory() { return nullptr; }             // null: it has none
  virtual NativeCollectives* collectives() { return nullptr; }  // null: it has none

  // Whether there are more ranks than PUs, so that they take turns. The same on all ranks.
  virtual bool crowded() const { return false; }

  // throws: core::LostError if a rank of the world is known to be gone.
  virtual void check_alive() {}

  // Ends all ranks of the world at once; does not return. throws: AbortError where this rank cannot
  // be ended so, because it is the launching process or a thread of it.
  virtual void abort_job(int code) = 0;

  // Seconds since some moment, the same for all ranks where it is simulated. Results ask this clock
  // and no other for the time of ranks.
  virtual double now() { return core::tick_clock().now(); }
  // Says what this rank has computed since the last call; where time is simulated, that takes time
  // now.
  virtual void compute(const Work& /*work*/) {}

  // Says what this rank is doing, for the message if it dies; empty: nothing known. text: of static
  // storage. cost: a store.
  virtual void set_phase(const char* /*text*/) {}
  // The same of the library's own calls, which counts where set_phase() has said nothing; null:
  // none. A place to write to, always the same one: calls are shorter than a virtual call is worth.
  virtual std::atomic<const char*>& call() = 0;

 protected:
  Transport(int rank, int size) : rank_(rank), size_(size) {}

 private:
  int rank_, size_;
};

// A transport on top of another one, for those that change or count some of its calls. Passes
// everything on but make_group(): what comes of that is to be on top, too.
class ForwardingTransport : public Transport {
 public:
  explicit ForwardingTransport(std::shared_ptr<Transport> below)
      : Transport(below->rank(), below->size()), below_(std::move(below)) {}

  std::string_view name() const override { return below_->name(); }
  int most_tag() const override { return below_->most_tag(); }
  void send(int to, const Label& label, std::span<const std::byte> bytes) override {
    below_->send(to, label, bytes);
  }
  Arrival recv(int from, const Label& label, std::span<std::byte> into) override {
    return below_->recv(from, label, into);
  }
  std::unique_ptr<Parcel> recv_parcel(int from, const Label& label) override {
    return below_->recv_parcel(from, label);
  }
  std::unique_ptr<Pending> isend(int to, const Label& label,
                                 std::span<const std::byte> bytes) override {
    return below_->isend(to, label, bytes);
  }
  std::unique_ptr<Pending> irecv(int from, const Label& label, std::span<std::byte> into) override {
    return below_->irecv(from, label, into);
  }
  bool probe(int from, const Label& label, Arrival& arrival) override {
    return below_->probe(from, label, arrival);
  }
  void progress() override { below_->progress(); }
  void wait_until(int peer, const std::function<bool()>& ready) override {
    below_->wait_until(peer, ready);
  }
  void enlist(Background& background) override { below_->enlist(background); }
  void strike(Background& background) override { below_->strike(background); }
  GroupMemory* memory() override { return below_->memory(); }
  NativeCollectives* collectives() override { return below_->collectives(); }
  bool crowded() const override { return below_->crowded(); }
  void check_alive() override { below_->check_alive(); }
  void abort_job(int code) override { below_->abort_job(code); }
  void set_phase(const char* text) override { below_->set_phase(text); }
  double now() override { return below_->now(); }
  void compute(const Work& work) override { below_->compute(work); }
  std::atomic<const char*>& call() override { return below_->call(); }

 protected:
  Transport& below() { return *below_; }

 private:
  std::shared_ptr<Transport> below_;
};

}  // namespace tabane::comm
