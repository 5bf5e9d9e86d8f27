// Waits for several children, whichever ends first, without a handler: signals and other children
// are the caller's own.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstddef>
#include <vector>

namespace tabane::team {

// As waitpid(), but no signal interrupts it.
pid_t wait_for(pid_t pid, int& status, int options);

class ChildEnds {
 public:
  struct End {
    int child = 0;   // in the order of add()
    pid_t got = -1;  // -1: another wait has taken it
    int status = 0;
  };

  ChildEnds() = default;
  ~ChildEnds();
  ChildEnds(const ChildEnds&) = delete;
  ChildEnds& operator=(const ChildEnds&) = delete;

  void add(pid_t pid);

  // Returns the next end. Only while there is one to come.
  End next();

 private:
  bool may_have_ended(std::size_t k) const;
  void sleep();
  void open_files();
  void remove(std::size_t k);

  std::vector<pid_t> pids_;  // 0: has ended
  int left_ = 0;
  std::vector<pollfd> files_;  // pidfds
  int unseen_ = 0;             // children that have none
};

}  // namespace tabane::team
