#include "tabane/team/fork.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "tabane/core/error.h"

namespace tabane::team {
namespace {

constexpr int kExitAfterException = 125;

[[noreturn]] void run_and_end(const std::function<int()>& body) noexcept {
  int status = kExitAfterException;
  try {
    status = body();
  } catch (...) {
    // No exception crosses fork(): the frames above belong to the parent's copy.
  }
  _exit(status);
}

}  // namespace

pid_t fork_child(const std::function<int()>& body) {
  const pid_t pid = fork();
  if (pid < 0) throw core::SystemError("fork", "a child process", errno);
  if (pid == 0) run_and_end(body);
  return pid;
}

pid_t wait_for(pid_t pid, int& status) {
  pid_t got;
  do {
    got = waitpid(pid, &status, 0);
  } while (got < 0 && errno == EINTR);
  return got;
}

int wait_for_child(pid_t pid) {
  int status = 0;
  // waitpid() of 0 or a negative pid would take any child.
  if (pid <= 0) throw core::SystemError("waitpid", std::to_string(pid), ECHILD);
  if (wait_for(pid, status) < 0) throw core::SystemError("waitpid", std::to_string(pid), errno);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace tabane::team
