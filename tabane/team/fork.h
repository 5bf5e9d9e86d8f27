// Processes that are forked, in which order, and memory that they share. Only this module calls
// fork.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace tabane::team {

// Forks a child and returns its pid. The child runs body and uses its return value as exit status;
// an exception ends it with status 125. It runs neither the caller's atexit handlers nor the
// destructors of static objects. throws: core::SystemError if the system refuses to fork.
pid_t fork_child(const std::function<int()>& body);

// As waitpid(), but no signal interrupts it.
pid_t wait_for(pid_t pid, int& status);

// Waits for the child. Returns its exit status, or 128 + signal.
// throws: core::SystemError if pid is not a child of this process.
int wait_for_child(pid_t pid);

// Owns an anonymous shared mapping, filled with zeros. Does not depend on /dev/shm or its size.
class SharedBlock {
 public:
  // all: the system sets memory aside for the whole block. touched: only for pages that are
  // touched; a large block is then not refused, but touching a page may fail (SIGBUS).
  enum class Reserve { all, touched };

  // what: the use, for the error message. throws: core::SystemError. cost: touches no page.
  SharedBlock(std::size_t bytes, const std::string& what, Reserve reserve = Reserve::all);
  ~SharedBlock();
  SharedBlock(const SharedBlock&) = delete;
  SharedBlock& operator=(const SharedBlock&) = delete;

  std::byte* data() const { return data_; }  // null for a block of no bytes
  std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Which process forks which.
enum class ForkOrder {
  tree,    // every process forks half of what is left to make: at most ceil(log2 P) forks each
  serial,  // one process forks all others
};

// Returns those of the processes 1 … P - 1 that process `self` forks, in this order; process 0
// exists already. Each process is forked once, and a process forks its largest subtree first. The
// caller of a team is process 0 of an order that is larger by one. cost: O(result).
std::vector<int> children_of(int self, int processes, ForkOrder order);

// Returns the k-th of them, k = 0, 1 …; -1 after the last. Allocates nothing.
// cost: O(log processes).
int child_of(int self, int processes, ForkOrder order, int k);

// Returns how many forks follow one another until the last process of a team exists, with the
// caller as root. For a tree this is ceil(log2(P + 1)), and no process makes more forks.
int fork_depth(int processes, ForkOrder order);

}  // namespace tabane::team
