// What the ranks of the reference transport share: mailboxes, groups, and who has ended how.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tabane/comm/transport/transport.h"
#include "tabane/core/error.h"

namespace tabane::comm::plain {

struct Message {
  Arrival arrival;
  std::vector<std::byte> bytes;
};

// A receive that waits for its message, in its rank's mailbox until that has come.
struct PostedReceive {
  int from = 0;
  Label label;
  std::optional<Message> message;
};

// No posted receive is for an arrived message.
class Mailbox {
 public:
  // Gives the message to the first posted receive that it fits, or keeps it.
  void put(Message message);
  // Gives the receive the first arrived message that fits it, or keeps it until cancel().
  void post(PostedReceive& posted);
  void cancel(PostedReceive& posted);
  const Message* find(int from, const Label& label) const;  // null: none

 private:
  std::list<Message> arrived_;
  std::list<PostedReceive*> posted_;
};

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};

// Memory of a rank that others may write; key 0: none.
struct Window {
  std::uint64_t key = 0;
  std::span<std::byte> bytes;
};

// What the ranks of one group share.
struct Shared {
  Shared(std::vector<int> world_ranks, const MemoryRequest& request);

  // Returns what a group of some ranks of this one shares. All of them call it, one after the
  // other; a rank that has joined a group with this list before begins a new one.
  std::shared_ptr<Shared> join(int rank, std::span<const int> group, const MemoryRequest& request);

  const std::vector<int> members;  // ranks of the world
  std::vector<Mailbox> mailboxes;
  std::vector<Window> windows;
  std::uint64_t last_key = 0;
  const std::size_t memory_bytes;
  const std::unique_ptr<std::byte, FreeMemory> memory;

 private:
  // A group that not all of its members have joined.
  struct Forming {
    std::vector<int> members;  // ranks of this group
    std::vector<int> joined;   // of these
    std::shared_ptr<Shared> shared;
  };
  std::list<Forming> forming_;
};

// What all ranks share. The mutex guards it and what groups share, except the phases and the bytes
// of the groups' memory.
class World {
 public:
  struct Failure {
    core::LostError lost;  // for the other ranks
    std::string what;      // the rank's own text
  };

  explicit World(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

  std::mutex mutex;

  void set_phase(int rank, const char* text) { at(rank).phase.store(text); }
  std::atomic<const char*>& call(int rank) { return at(rank).call; }
  // Only for its rank's thread; not under the mutex.
  Backgrounds& backgrounds(int rank) { return at(rank).backgrounds; }

  // What this rank may wait for has happened. Under the mutex, as all that follow.
  void changed(int rank);
  void changed_for_all();
  std::uint64_t changes(int rank) const { return ranks_[static_cast<std::size_t>(rank)].changes; }
  // Returns after the rank's next change. Before it sleeps, it does what it does besides, without
  // the lock.
  void wait(std::unique_lock<std::mutex>& lock, int rank);

  void leave(int rank);
  // The first failure counts: others are its consequences.
  void fail(int rank, const std::string& what);
  const std::optional<Failure>& failure() const { return failure_; }

  // throws: core::LostError.
  void throw_if_failed() const;
  // The same, also if `peer`, a rank of the group or any_source, has returned.
  void throw_if_in_vain(const Shared& shared, int self, int peer) const;

 private:
  struct Rank {
    std::condition_variable woken;
    std::uint64_t changes = 0;
    bool returned = false;
    std::atomic<const char*> phase, call;
    Backgrounds backgrounds;
  };

  Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  std::string phase(int rank);
  bool is_gone(const Shared& shared, int self, int peer) const;

  std::vector<Rank> ranks_;
  std::optional<Failure> failure_;
};

}  // namespace tabane::comm::plain
