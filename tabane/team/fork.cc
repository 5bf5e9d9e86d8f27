#include "tabane/team/fork.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cerrno>

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

SharedBlock::SharedBlock(std::size_t bytes, const std::string& what, Reserve reserve)
    : size_(bytes) {
  if (bytes == 0) return;
  const int flags = MAP_SHARED | MAP_ANONYMOUS | (reserve == Reserve::touched ? MAP_NORESERVE : 0);
  void* const place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (place == MAP_FAILED) {
    throw core::SystemError("mmap", std::to_string(bytes) + " bytes of " + what, errno);
  }
  data_ = static_cast<std::byte*>(place);
}

SharedBlock::~SharedBlock() {
  if (data_ != nullptr) munmap(data_, size_);
}

namespace {

// Processes [self, end) that a process of the tree is responsible for when it is made.
int end_of_subtree(int self, int processes) {
  int begin = 0;
  int end = processes;
  while (begin != self) {
    const int middle = begin + (end - begin + 1) / 2;
    (self >= middle ? begin : end) = middle;
  }
  return end;
}

}  // namespace

int child_of(int self, int processes, ForkOrder order, int k) {
  if (self < 0 || self >= processes || k < 0) return -1;
  if (order == ForkOrder::serial) return self == 0 && k < processes - 1 ? k + 1 : -1;
  int end = end_of_subtree(self, processes);
  for (int i = 0; end - self > 1; ++i) {
    end = self + (end - self + 1) / 2;
    if (i == k) return end;
  }
  return -1;
}

std::vector<int> children_of(int self, int processes, ForkOrder order) {
  std::vector<int> children;
  for (int k = 0; child_of(self, processes, order, k) >= 0; ++k) {
    children.push_back(child_of(self, processes, order, k));
  }
  return children;
}

int fork_depth(int processes, ForkOrder order) {
  if (processes < 1) return 0;
  return order == ForkOrder::serial ? processes : std::bit_width(static_cast<unsigned>(processes));
}

}  // namespace tabane::team
