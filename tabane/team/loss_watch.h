// Sees the ends of all processes of a team, whoever is their parent: a parent that computes with
// blocked signals tells of no child.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <optional>
#include <vector>

#include "tabane/team/control.h"
#include "tabane/team/loss.h"

namespace tabane::team {

// How a process ended that nobody has waited for yet; nothing if it runs, or its end was taken.
// process of the answer: not set.
std::optional<Loss> end_of(pid_t pid);

class LossWatch {
 public:
  // all_gone: a pipe at whose end of file all processes are gone.
  LossWatch(Control& control, int all_gone);
  ~LossWatch();
  LossWatch(const LossWatch&) = delete;
  LossWatch& operator=(const LossWatch&) = delete;

  // Waits up to so long for news. Returns whether all are gone. Processes that ended without having
  // finished are told to the listener, and control knows of the first.
  bool wait(int milliseconds, const LossListener& listener);

 private:
  void open_files();

  Control& control_;
  std::vector<pollfd> files_;  // of the pipe, then pidfds by process; -1: none yet, or none more
  std::vector<bool> known_;    // whether the process has been looked for
};

}  // namespace tabane::team
