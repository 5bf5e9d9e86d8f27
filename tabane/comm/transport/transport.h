// How bytes move between the ranks of one group. A transport offers messages and may offer shared
// memory or collectives of its own; everything else is built on top of it, so that another
// transport (one on which time is simulated, say) is a few hundred lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "tabane/comm/message.h"
#include "tabane/comm/operation.h"

namespace tabane::comm {

// What must fit for a message to be received: who, and under which tag. The type is compared then,
// and an error if it differs.
struct Label {
  int tag = 0;         // of the user: 0 … kMostTag; negative ones belong to collectives
  TypeCode type = {};  // of the elements
};

// A message that was received.
struct Arrival {
  int source = 0;  // rank in this group
  int tag = 0;
  TypeCode type = {};
  std::size_t bytes = 0;
};

// A message that can be read where it lies. The owner ends it: release() once, from the rank that
// received it, in any order.
class Parcel {
 public:
  virtual ~Parcel() = default;  // releases
  std::span<const std::byte> bytes;
  Arrival arrival;
};

// A message on its way.
class Pending {
 public:
  virtual ~Pending() = default;  // one that is not complete is waited for
  // Makes progress. Returns whether it is complete. throws: as send() and recv().
  virtual bool test() = 0;
  virtual void wait() = 0;
  Arrival arrival;  // of a receive, once complete
};

// Memory that all ranks of a group map, zero at first; at different addresses perhaps. With it,
// flags and values reach the others without messages.
class GroupMemory {
 public:
  virtual ~GroupMemory() = default;
  virtual std::span<std::byte> bytes() = 0;  // starts at a page
  // Waits until ready() is true, which rank `peer` will bring about: spins, yields, then sleeps
  // until it has called notify. peer: any_source for what needs all ranks of the group. throws:
  // core::LostError as recv().
  virtual void wait(int peer, const std::function<bool()>& ready) = 0;
  // After a rank has written what another may wait for. cost: a load each unless it sleeps.
  virtual void notify(int rank) = 0;
  virtual void notify_all() = 0;
  // Copies to memory of a rank's own, where it waits for that. Returns false, on all ranks or on
  // some, if the system does not let us.
  virtual bool write(int /*rank*/, std::byte* /*there*/, std::span<const std::byte> /*bytes*/) {
    return false;
  }
};

// Collectives that the transport does itself, as MPI does. The bytes are whole elements; combine
// says which. Ranks of the group; all have the same sizes.
class NativeCollectives {
 public:
  virtual ~NativeCollectives() = default;
  virtual void barrier() = 0;
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  // Returns false, on all ranks, if it does not know the operation.
  virtual bool reduce(std::span<std::byte> values, const Combine& combine, int root) = 0;
  virtual bool all_reduce(std::span<std::byte> values, const Combine& combine) = 0;
  // Equal blocks, in the order of ranks.
  virtual void gather(std::span<const std::byte> block, std::span<std::byte> all, int root) = 0;
  virtual void scatter(std::span<const std::byte> all, std::span<std::byte> block, int root) = 0;
  virtual void all_gather(std::span<const std::byte> block, std::span<std::byte> all) = 0;
  virtual void all_to_all(std::span<const std::byte> out, std::span<std::byte> in) = 0;
};

// Messages of one pair under one tag arrive in the order in which they were sent. Sending to
// oneself works, and is complete at once.
// throws, all of these: core::LostError naming rank, pid and phase if a rank of the world is gone;
// MessageError if a message does not fit its receiver, in size or type (what arrived is taken).
// Arguments were checked by the caller: ranks exist, tags are legal.
class Transport {
 public:
  virtual ~Transport() = default;
  int rank() const { return rank_; }
  int size() const { return size_; }
  virtual std::string_view name() const = 0;  // "shm", "mpi"

  // Returns when the bytes may be changed. May wait for the receiver, and makes the progress of
  // pending messages meanwhile.
  virtual void send(int to, const Label& label, std::span<const std::byte> bytes) = 0;
  // from: a rank or any_source; label.tag: a tag or any_tag (never a collective's message then).
  virtual Arrival recv(int from, const Label& label, std::span<std::byte> into) = 0;
  virtual std::unique_ptr<Parcel> recv_parcel(int from, const Label& label) = 0;
  virtual std::unique_ptr<Pending> isend(int to, const Label& label,
                                         std::span<const std::byte> bytes) = 0;
  virtual std::unique_ptr<Pending> irecv(int from, const Label& label,
                                         std::span<std::byte> into) = 0;
  // Whether a message is there that recv() would take at once; false also if none can come any
  // more.
  virtual bool probe(int from, const Label& label, Arrival& arrival) = 0;

  // A group of some ranks of this one, in the order given, this rank among them. All of them call
  // it, with the same list. May use messages with tags of collectives on this group.
  virtual std::unique_ptr<Transport> make_group(std::span<const int> members) = 0;

  virtual GroupMemory* memory() { return nullptr; }             // null: it has none
  virtual NativeCollectives* collectives() { return nullptr; }  // null: it has none

  // Whether the world has more ranks than PUs, so that they take turns. The same on all ranks.
  virtual bool crowded() const { return false; }

  // throws: core::LostError if a rank of the world is known to be gone.
  virtual void check_alive() {}

  // What this rank does, for the message when it dies; empty: nothing known. text: of static
  // storage. cost: a store.
  virtual void set_phase(const char* /*text*/) {}

 protected:
  Transport(int rank, int size) : rank_(rank), size_(size) {}

 private:
  int rank_, size_;
};

}  // namespace tabane::comm
