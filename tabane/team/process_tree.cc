#include "tabane/team/process_tree.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ext/stdio_sync_filebuf.h>
#include <iostream>
#include <mutex>
#include <string>
#include <typeinfo>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/team/fork.h"
#include "tabane/team/worker_loop.h"

namespace tabane::team {
namespace {

constexpr int kExitOrphan = 124;
constexpr int kExitChildLost = 123;

// What this process, if it is one of a team, knows of its children. The signal handler reads it.
// Nothing here allocates: a fresh process pays a page copy for each page that it writes.
struct Watch {
  Control* control = nullptr;
  int process = 0;
  ForkOrder order = ForkOrder::tree;
  std::atomic<int> count{0};  // of children that the handler may look at: the first ones

  int child(int k) const { return child_of(process, control->processes(), order, k); }
};
Watch watch;

static_assert(std::atomic<int>::is_always_lock_free);

// Ends this process if a child was lost: its parent and the caller follow, and the kernel kills all
// below (PR_SET_PDEATHSIG). Async-signal-safe. WNOWAIT: whoever waits for the child still can.
void look_after_children() {
  const int count = watch.count.load();
  for (int k = 0; k < count; ++k) {
    const int child = watch.child(k);
    ProcessRecord& record = watch.control->process(child);
    if (record.finished.load()) continue;
    const pid_t pid = record.pid.load();
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid != pid || record.finished.load()) {
      continue;
    }
    watch.control->lose(child, -1, pid, info.si_code != CLD_EXITED, info.si_status);
    _exit(kExitChildLost);
  }
}

void on_child_signal(int) {
  const int kept = errno;
  look_after_children();
  errno = kept;
}

// Called by exit(), first of all handlers: those of the caller and the destructors of its static
// objects belong to the caller.
void leave_instead_of_exit(int status, void*) {
  const Worker* const worker = this_worker();
  if (worker != nullptr) {
    // A process that the task itself has forked is not of the team.
    if (watch.control->process(worker->process).pid.load() != getpid()) return;
    watch.control->lose(worker->process, worker->thread, getpid(), false, status);
  }
  _exit(status);
}

void set_default(int signal_number) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(signal_number, &action, nullptr);
}

void watch_children() {
  struct sigaction action {};
  action.sa_handler = on_child_signal;
  action.sa_flags = SA_RESTART | SA_NOCLDSTOP;
  sigaction(SIGCHLD, &action, nullptr);
  sigset_t child_signal;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  pthread_sigmask(SIG_UNBLOCK, &child_signal, nullptr);
}

// Returns whether the child was ours to wait for; then its status is set.
bool reap(pid_t pid, int& status) {
  pid_t got;
  do {
    got = waitpid(pid, &status, 0);
  } while (got < 0 && errno == EINTR);
  return got == pid;
}

struct Adoption {
  std::mutex mutex;
  int scopes = 0;
  int before = 0;
};
Adoption& adoption() {
  static Adoption one;
  return one;
}

}  // namespace

AdoptOrphans::AdoptOrphans() {
  Adoption& now = adoption();
  const std::lock_guard lock(now.mutex);
  if (now.scopes++ > 0) return;
  prctl(PR_GET_CHILD_SUBREAPER, &now.before, 0, 0, 0);
  if (now.before == 0) prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

AdoptOrphans::~AdoptOrphans() {
  Adoption& now = adoption();
  const std::lock_guard lock(now.mutex);
  if (--now.scopes == 0 && now.before == 0) prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}

void flush_output() {
  for (std::ostream* const stream : {&std::cout, &std::cerr, &std::clog}) {
    const std::streambuf& buffer = *stream->rdbuf();
    // A stream over stdio holds nothing, and even to ask it to flush costs a fresh process the
    // copies of several pages.
    if (typeid(buffer) != typeid(__gnu_cxx::stdio_sync_filebuf<char>)) stream->flush();
  }
  std::fflush(nullptr);
}

ProcessTree::ProcessTree(Control& control, ForkOrder order, std::function<void(int)> body)
    : control_(control), order_(order), body_(std::move(body)) {}

ProcessTree::~ProcessTree() {
  if (root_ != 0) {
    control_.stop().store(true);
    kill(root_, SIGKILL);
    int status = 0;
    reap(root_, status);
    sweep();
  }
  if (all_gone_ >= 0) close(all_gone_);
  if (alive_ >= 0) close(alive_);
}

void ProcessTree::start() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw core::SystemError("pipe2", "a team", errno);
  all_gone_ = ends[0];
  alive_ = ends[1];
  flush_output();
  const pid_t caller = getpid();
  root_ = fork_child([=, this] { return live(0, caller); });
  control_.process(0).pid.store(root_);
  close(std::exchange(alive_, -1));
}

int ProcessTree::live(int process, pid_t parent) {
  control_.process(process).pid.store(getpid());
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (getppid() != parent) return kExitOrphan;
  begin_process(process);
  fork_children(process);
  body_(process);
  flush_output();
  wait_for_children();
  control_.process(process).finished.store(true);
  return 0;
}

void ProcessTree::begin_process(int process) {
  control_.process(process).begin_ns.store(now_ns());
  watch.count.store(0);
  watch.control = &control_;
  watch.process = process;
  watch.order = order_;
  if (process != 0) return;
  // What follows is inherited by all processes of the team.
  close(all_gone_);
  adoption().scopes = 0;
  set_default(SIGINT);
  set_default(SIGTERM);
  on_exit(leave_instead_of_exit, nullptr);
}

void ProcessTree::fork_children(int process) {
  if (watch.child(0) < 0) return;
  watch_children();
  const pid_t self = getpid();
  for (int child; (child = watch.child(watch.count.load())) >= 0 && !control_.stop().load();) {
    try {
      const pid_t pid = fork_child([=, this] { return live(child, self); });
      control_.process(child).pid.store(pid);
      watch.count.fetch_add(1);
    } catch (const core::SystemError& error) {
      control_.fail_system(process, "fork",
                           "process " + std::to_string(child) + " of a team of " +
                               std::to_string(control_.processes()) + " processes",
                           error.code());
    }
  }
  // One that died before it was on the list has been overlooked by the handler.
  look_after_children();
}

// From the last, whose subtree is the smallest.
void ProcessTree::wait_for_children() {
  while (watch.count.load() > 0) {
    const int child = watch.child(watch.count.load() - 1);
    ProcessRecord& record = control_.process(child);
    const pid_t pid = record.pid.load();
    siginfo_t info{};
    while (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    // A task may have blocked the signal.
    look_after_children();
    watch.count.fetch_sub(1);
    int status = 0;
    reap(pid, status);
    record.reaped.store(true);
  }
}

bool ProcessTree::running() const {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(root_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

void ProcessTree::wait() {
  int status = 0;
  const bool known = reap(root_, status);
  const pid_t root = std::exchange(root_, 0);
  control_.process(0).reaped.store(true);
  // A process finishes only after its children were reaped.
  if (control_.process(0).finished.load()) return;
  if (known) {
    const bool by_signal = WIFSIGNALED(status);
    control_.lose(0, -1, root, by_signal, by_signal ? WTERMSIG(status) : WEXITSTATUS(status));
  } else {
    control_.fail_system(0, "waitpid", "process 0 of a team: its end was taken by another wait",
                         ECHILD);
  }
  sweep();
}

void ProcessTree::kill_all() {
  for (int p = 1; p < control_.processes(); ++p) {
    ProcessRecord& record = control_.process(p);
    if (record.pid.load() > 0 && !record.reaped.load()) kill(record.pid.load(), SIGKILL);
  }
}

// A process that was just forked may not yet have said its pid: the end of file comes after that.
// Something that a task forked may hold the pipe open, so the wait has an end.
void ProcessTree::wait_until_all_closed() {
  constexpr int kTries = 50;
  constexpr int kTryMs = 40;
  for (int i = 0; i < kTries; ++i) {
    kill_all();
    pollfd end{.fd = all_gone_, .events = 0, .revents = 0};
    if (poll(&end, 1, kTryMs) > 0 && (end.revents & POLLHUP) != 0) return;
  }
}

// Process 0 is gone. Parents come before their children in number: when one is reaped, its children
// are ours or were reaped by it.
void ProcessTree::sweep() {
  control_.stop().store(true);
  wait_until_all_closed();
  for (int p = 1; p < control_.processes(); ++p) {
    ProcessRecord& record = control_.process(p);
    if (record.pid.load() <= 0 || record.reaped.load()) continue;
    int status = 0;
    reap(record.pid.load(), status);
    record.reaped.store(true);
  }
}

}  // namespace tabane::team
