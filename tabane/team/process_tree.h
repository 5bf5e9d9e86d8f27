// The processes of a team: forked in a tree, watched while they work, and gone afterwards whatever
// happened.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>

#include "tabane/core/file.h"
#include "tabane/team/control.h"
#include "tabane/team/fork.h"
#include "tabane/team/job.h"
#include "tabane/team/loss_watch.h"

namespace tabane::team {

// Makes orphaned descendants children of this process for a scope, so that they can be reaped.
// Scopes of several threads may overlap.
class AdoptOrphans {
 public:
  AdoptOrphans();
  ~AdoptOrphans();
  AdoptOrphans(const AdoptOrphans&) = delete;
  AdoptOrphans& operator=(const AdoptOrphans&) = delete;
};

class ProcessTree {
 public:
  // body(p) is the work of process p; it throws nothing. listener: may be null.
  ProcessTree(Control& control, ForkOrder order, const LossListener* listener,
              std::function<void(int process)> body);
  // Kills what is left.
  ~ProcessTree();
  ProcessTree(const ProcessTree&) = delete;
  ProcessTree& operator=(const ProcessTree&) = delete;

  // Forks the processes: the calling one is the root of the tree. throws: core::SystemError if the
  // system refuses a pipe; a refused fork is recorded in control.
  void start();

  // Looks without waiting whether a process was lost; then wait() ends the others. After start().
  bool has_lost();

  // Waits until all processes are gone and reaped. If one was lost, control knows it and the others
  // are killed; with a listener, those that still run after its grace.
  void wait();

 private:
  static void open_pipe(core::Descriptor& read_end, core::Descriptor& write_end);
  bool fork_child_of(int parent, int k);
  int live(int process, pid_t parent);
  void begin_below_caller();
  void wait_for_children();
  bool wait_for_loss();
  bool wait_listening();
  void sweep();
  void kill_all();
  void wait_until_all_closed();

  Control& control_;
  ForkOrder order_;
  const LossListener* listener_;
  std::function<void(int)> body_;
  AdoptOrphans adopt_;
  // Every process of the team holds the write end: its end of file says that all are gone.
  core::Descriptor all_gone_, alive_;
  // With a listener: the caller alone holds the write end.
  core::Descriptor caller_alive_, caller_end_;
  pid_t caller_ = 0;
  int children_ = 0;                 // of the caller
  std::optional<LossWatch> losses_;  // once the caller's children are forked
};

// Writes out what stdio and the standard streams hold.
void flush_output();

}  // namespace tabane::team
