#include "tabane/lab/commands/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>

namespace tabane::lab {
namespace {

struct Start {
  const Spawn& what;
  pid_t parent;
  sigset_t mask;
  int failed = 0;  // errno
};

bool connect(int descriptor, int as) {
  if (descriptor < 0) return true;
  return descriptor == as ? fcntl(as, F_SETFD, 0) == 0 : dup2(descriptor, as) == as;
}

// In the child, in the memory of the parent, which waits: nothing here may allocate or throw. The
// parent's handlers end with execve(); until then no signal knows this process.
int replace_with_program(void* argument) {
  Start& start = *static_cast<Start*>(argument);
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != start.parent) _exit(SIGKILL);  // it has ended before
  bool connected = true;
  for (int as = 0; as < 3; ++as)
    connected = connected && connect(start.what.streams[static_cast<std::size_t>(as)], as);
  if (connected) {
    sigprocmask(SIG_SETMASK, &start.mask, nullptr);
    execve(start.what.file, start.what.arguments, start.what.variables);
  }
  start.failed = errno;
  _exit(1);
}

}  // namespace

pid_t spawn(const Spawn& what) {
  constexpr std::size_t kStackBytes = 32768;
  alignas(64) std::byte stack[kStackBytes];
  Start start{.what = what, .parent = getpid(), .mask = {}};
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &start.mask);
  const pid_t pid =
      clone(replace_with_program, stack + kStackBytes, CLONE_VM | CLONE_VFORK | SIGCHLD, &start);
  if (pid < 0) start.failed = errno;
  pthread_sigmask(SIG_SETMASK, &start.mask, nullptr);
  if (start.failed == 0) return pid;
  while (pid > 0 && waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  errno = start.failed;
  return -1;
}

}  // namespace tabane::lab
