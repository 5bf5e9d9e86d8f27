// Sees the ends of all processes of a team, whoever is their parent. Uses no signal: a handler
// would cut the sleeps of tasks short, and a task may replace it.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "tabane/team/control.h"
#include "tabane/team/fork.h"
#include "tabane/team/job.h"

namespace tabane::team {

// How a process ended that nobody has waited for yet; nothing if it runs, or its end was taken.
// process of the answer: not set.
std::optional<Loss> end_of(pid_t pid);

// For the caller, whose children are the first level of the tree. Where the system refuses a file
// for a process (pidfd_open: before Linux 5.3, in some sandboxes, with too many open files), it
// looks at that process again and again: every 20 ms, and where there are so many that this would
// use more than 5 % of a PU, as often as 5 % allow.
class LossWatch {
 public:
  // all_gone: a pipe at whose end of file all processes are gone; -1: none.
  LossWatch(Control& control, ForkOrder order, int all_gone);
  ~LossWatch();
  LossWatch(const LossWatch&) = delete;
  LossWatch& operator=(const LossWatch&) = delete;

  // Waits up to so long for news; -1: for as long as it takes. Processes that ended without having
  // finished are reported to the listener, which may be null; control records the first.
  void wait(int milliseconds, const LossListener* listener);
  // As wait(0, listener), but looks at those without a file whenever that was done last.
  void look(const LossListener* listener);

  // Whether a process was lost.
  bool lost() const { return lost_; }
  // The children of the caller that have not been seen to end.
  int children_left() const { return children_left_; }
  bool has_seen_end(int process) const {
    return watched_[static_cast<std::size_t>(process)] == Watched::ended;
  }
  // As of the last wait().
  bool all_gone() const { return (files_[0].revents & POLLHUP) != 0; }

 private:
  enum class Watched : char { unseen, seen, ended };

  void open_files();
  void forgo_files();
  void poll_files(int milliseconds);
  int interval(int milliseconds) const;
  void note_ends(bool without_files, const LossListener* listener);
  bool has_ended(int process) const;
  bool is_child(int process) const { return parents_[static_cast<std::size_t>(process)] < 0; }
  bool note_end(int process, const LossListener* listener);
  bool parent_is_to_blame(int process, const Loss& loss);

  Control& control_;
  std::vector<pollfd> files_;  // of the pipe, then pidfds by process; -1: none
  std::vector<pollfd> polled_;
  std::vector<Watched> watched_;
  std::vector<int> parents_;  // in the tree; -1: the caller
  bool lost_ = false;
  int children_left_ = 0;
  int unseen_ = 0;   // processes that may still be forked
  int refused_ = 0;  // that run and have no file
  std::uint64_t pause_ns_, next_look_ns_;
};

}  // namespace tabane::team
