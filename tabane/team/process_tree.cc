#include "tabane/team/process_tree.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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

namespace tabane::team {
namespace {

constexpr int kExitOrphan = 124;
constexpr int kExitChildLost = 123;
const int kParentDeath = SIGRTMAX - 1;

// The caller is the root of the plan: it is number 0 there, and process p is p + 1.
constexpr int kCaller = -1;

// The k-th process that a process or the caller forks; negative beyond the last.
int child_of_process(int process, int processes, ForkOrder order, int k) {
  return child_of(process + 1, processes + 1, order, k) - 1;
}

// What this process, if it is one of a team, knows of its children. Nothing here allocates: a fresh
// process pays a page copy for each page that it writes.
struct Watch {
  Control* control = nullptr;
  int process = 0;
  ForkOrder order = ForkOrder::tree;
  int count = 0;                           // of children
  const LossListener* listener = nullptr;  // null: a loss ends the team
  int caller_alive = -1;  // with a listener: a pipe whose other end the caller alone holds

  int child(int k) const { return child_of_process(process, control->processes(), order, k); }
};
Watch watch;

// Takes the end of a child.
void reap(ProcessRecord& record) {
  int status = 0;
  wait_for(record.pid.load(), status);
  record.reaped.store(true);
}

void tell(const LossListener& listener, const Loss& loss) { listener.lost(listener.context, loss); }

// Ends this process if the child was lost: its parent and the caller follow, and the kernel kills
// all below (PR_SET_PDEATHSIG). Where there is a listener, it is called instead. A child whose end
// was taken by the task is left to the caller, who sees it, too.
void look_at_ended_child(int child) {
  const pid_t pid = watch.control->process(child).pid.load();
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0) {
    if (errno != EINTR) return;
  }
  if (watch.control->process(child).finished.load()) return;
  const Loss loss{child, pid, info.si_code != CLD_EXITED, info.si_status};
  watch.control->lose(loss);
  if (watch.listener == nullptr) _exit(kExitChildLost);
  tell(*watch.listener, loss);
}

// The parent is gone: with the caller all end; alone it was lost, and who has become the parent
// tells so.
void on_parent_death(int) {
  // A caller of several threads ends bit by bit, the pipe not first.
  constexpr int kEndingMs = 100;
  const int kept = errno;
  pollfd caller{.fd = watch.caller_alive, .events = 0, .revents = 0};
  if (poll(&caller, 1, kEndingMs) > 0) _exit(kExitOrphan);
  errno = kept;
}

// Called by exit(), first of all handlers: those of the caller and the destructors of its static
// objects belong to the caller.
void leave_instead_of_exit(int status, void*) {
  const Worker* const worker = this_worker();
  if (worker != nullptr) {
    // A process that the task itself has forked is not of the team.
    if (watch.control->process(worker->process).pid.load() != getpid()) return;
    const Loss loss{worker->process, getpid(), false, status};
    watch.control->lose(loss, worker->thread);
    if (watch.listener != nullptr) tell(*watch.listener, loss);
  }
  _exit(status);
}

void set_handler(int signal_number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART | SA_NOCLDSTOP;
  sigaction(signal_number, &action, nullptr);
}

void unblock(int signal_number) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal_number);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
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

ProcessTree::ProcessTree(Control& control, ForkOrder order, const LossListener* listener,
                         std::function<void(int)> body)
    : control_(control), order_(order), listener_(listener), body_(std::move(body)) {}

ProcessTree::~ProcessTree() {
  if (children_ > 0) sweep();
}

void ProcessTree::start() {
  open_pipe(all_gone_, alive_);
  if (listener_ != nullptr) open_pipe(caller_alive_, caller_end_);
  flush_output();
  caller_ = getpid();
  while (fork_child_of(kCaller, children_)) ++children_;
  alive_.reset();
  // Without a listener the children say when to stop waiting.
  losses_.emplace(control_, order_, listener_ != nullptr ? all_gone_.get() : -1);
}

void ProcessTree::open_pipe(core::Descriptor& read_end, core::Descriptor& write_end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw core::SystemError("pipe2", "a team", errno);
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
}

// Returns false if there is no such child, or none any more.
bool ProcessTree::fork_child_of(int parent, int k) {
  const int child = child_of_process(parent, control_.processes(), order_, k);
  if (child < 0 || control_.stop().load()) return false;
  try {
    const pid_t self = getpid();
    const pid_t pid = fork_child([=, this] { return live(child, self); });
    control_.process(child).pid.store(pid);
    return true;
  } catch (const core::SystemError& error) {
    control_.fail_system(std::max(parent, 0), kFork,
                         "process " + std::to_string(child) + " of a team of " +
                             std::to_string(control_.processes()) + " processes",
                         error.code());
    return false;
  }
}

int ProcessTree::live(int process, pid_t parent) {
  ProcessRecord& own = control_.process(process);
  own.pid.store(getpid());
  own.begin_ns.store(fresh_now_ns());
  watch = {&control_, process, order_, 0, listener_, caller_alive_.get()};
  if (parent == caller_) begin_below_caller();
  die_with_parent(listener_ == nullptr ? SIGKILL : kParentDeath);
  if (getppid() != parent) return kExitOrphan;
  while (fork_child_of(process, watch.count)) ++watch.count;
  body_(process);
  flush_output();
  wait_for_children();
  own.finished.store(true);
  return 0;
}

// What all processes of the team inherit.
void ProcessTree::begin_below_caller() {
  adoption().scopes = 0;
  set_handler(SIGINT, SIG_DFL);
  set_handler(SIGTERM, SIG_DFL);
  // The caller's handler would wait for children that are not its own, and a child whose end is
  // ignored leaves no status.
  set_handler(SIGCHLD, SIG_DFL);
  if (listener_ != nullptr) {
    caller_end_.reset();
    set_handler(kParentDeath, on_parent_death);
    unblock(kParentDeath);
  }
  // Several threads may call exit() at once: each takes the next handler.
  for (int t = 0; t < control_.threads(); ++t) on_exit(leave_instead_of_exit, nullptr);
}

// From the last, whose subtree is the smallest.
void ProcessTree::wait_for_children() {
  while (watch.count > 0) {
    const int child = watch.child(watch.count - 1);
    look_at_ended_child(child);
    --watch.count;
    reap(control_.process(child));
  }
}

bool ProcessTree::has_lost() {
  losses_->wait(0, listener_);
  return losses_->lost();
}

void ProcessTree::wait() {
  const bool failed = listener_ == nullptr ? wait_for_loss() : wait_listening();
  if (failed) {
    sweep();
  } else {  // the children have all finished
    for (int k = 0; k < children_; ++k) {
      reap(control_.process(child_of_process(kCaller, control_.processes(), order_, k)));
    }
  }
  children_ = 0;
}

// Until all children of the caller have ended, and thus all below them. Returns true as soon as a
// process was lost.
bool ProcessTree::wait_for_loss() {
  constexpr int kUntilNews = -1;
  while (losses_->children_left() > 0 && !losses_->lost()) losses_->wait(kUntilNews, nullptr);
  // One that was forked and lost in the meantime.
  if (!losses_->lost()) losses_->look(nullptr);
  return losses_->lost();
}

// Until all processes have ended by themselves. After a failure they are given a grace, for it is
// they who were told. Returns whether there was one.
bool ProcessTree::wait_listening() {
  constexpr int kLookAgainMs = 20;
  const std::uint64_t grace_ns = static_cast<std::uint64_t>(listener_->grace_seconds * 1e9);
  std::uint64_t failed_ns = 0;
  for (;;) {
    losses_->wait(kLookAgainMs, listener_);
    if (!control_.failed()) {
      if (losses_->children_left() == 0) break;
      continue;
    }
    if (losses_->all_gone() || control_.refused()) break;  // refused: nobody knows of it
    if (failed_ns == 0) failed_ns = now_ns();
    if (now_ns() - failed_ns > grace_ns) break;
  }
  losses_->look(listener_);
  return control_.failed();
}

// A pid whose end was seen may be another's by now.
void ProcessTree::kill_all() {
  for (int p = 0; p < control_.processes(); ++p) {
    if (losses_ && losses_->has_seen_end(p)) continue;
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
    pollfd end{.fd = all_gone_.get(), .events = 0, .revents = 0};
    if (poll(&end, 1, kTryMs) > 0 && (end.revents & POLLHUP) != 0) return;
  }
}

// Ends what is left. Parents come before their children in number: when one is reaped, its children
// are ours or were reaped by it.
void ProcessTree::sweep() {
  control_.stop().store(true);
  alive_.reset();
  wait_until_all_closed();
  for (int p = 0; p < control_.processes(); ++p) {
    ProcessRecord& record = control_.process(p);
    if (record.pid.load() > 0 && !record.reaped.load()) reap(record);
  }
}

}  // namespace tabane::team
