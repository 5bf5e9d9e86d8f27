#include "tabane/team/fork.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>

#include "tabane/core/error.h"

namespace tabane::team {
namespace {

// One int that parent and child both see.
class SharedInt {
 public:
  SharedInt()
      : page_(static_cast<int*>(mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~SharedInt() { munmap(page_, sizeof(int)); }
  SharedInt(const SharedInt&) = delete;
  SharedInt& operator=(const SharedInt&) = delete;
  int& value() { return *page_; }

 private:
  int* page_;
};

int* exits_seen = nullptr;
void count_exit() {
  if (exits_seen != nullptr) ++*exits_seen;
}

TEST(ForkChild, EndsWithTheReturnValueOfItsBody) {
  for (const int status : {0, 1, 42, 255}) {
    EXPECT_EQ(wait_for_child(fork_child([=] { return status; })), status);
  }
}

TEST(ForkChild, RunsInAnotherProcessThatSeesTheCallersData) {
  SharedInt child_pid;
  int local = 7;
  const pid_t pid = fork_child([&] {
    child_pid.value() = getpid();
    const int seen = local;
    local = 8;
    return seen;
  });
  EXPECT_EQ(wait_for_child(pid), 7);
  EXPECT_EQ(child_pid.value(), pid);
  EXPECT_NE(pid, getpid());
  EXPECT_EQ(local, 7);
}

TEST(ForkChild, EndsWithStatus125AfterAnException) {
  EXPECT_EQ(wait_for_child(fork_child([]() -> int { throw std::runtime_error("no"); })), 125);
  EXPECT_EQ(wait_for_child(fork_child([]() -> int { throw 5; })), 125);
}

TEST(ForkChild, DoesNotRunTheCallersExitHandlers) {
  SharedInt handlers_run;
  exits_seen = &handlers_run.value();
  ASSERT_EQ(std::atexit(count_exit), 0);
  EXPECT_EQ(wait_for_child(fork_child([] { return 0; })), 0);
  EXPECT_EQ(wait_for_child(fork_child([]() -> int { throw 1; })), 125);
  EXPECT_EQ(handlers_run.value(), 0);
  exits_seen = nullptr;
}

TEST(ForkChild, TakesNestedChildren) {
  const pid_t pid = fork_child([] { return wait_for_child(fork_child([] { return 9; })) + 1; });
  EXPECT_EQ(wait_for_child(pid), 10);
}

TEST(WaitForChild, Gives128PlusTheSignalThatEndedTheChild) {
  const pid_t pid = fork_child([] {
    kill(getpid(), SIGKILL);
    return 0;
  });
  EXPECT_EQ(wait_for_child(pid), 128 + SIGKILL);
}

TEST(WaitForChild, LeavesNoZombie) {
  const pid_t pid = fork_child([] { return 0; });
  wait_for_child(pid);
  errno = 0;
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(WaitForChild, RefusesAProcessThatIsNotAChild) {
  const pid_t pid = fork_child([] { return 0; });
  wait_for_child(pid);
  EXPECT_THROW(wait_for_child(pid), core::SystemError);
  EXPECT_THROW(wait_for_child(getpid()), core::SystemError);
}

TEST(WaitForChild, NeverTakesAnotherChildForZeroOrMinusOne) {
  const pid_t pid = fork_child([] { return 3; });
  EXPECT_THROW(wait_for_child(0), core::SystemError);
  EXPECT_THROW(wait_for_child(-1), core::SystemError);
  EXPECT_EQ(wait_for_child(pid), 3);
}

TEST(WaitForChild, GoesOnAfterAnInterruption) {
  struct sigaction action {};
  action.sa_handler = [](int) {};  // without SA_RESTART waitpid() returns EINTR
  struct sigaction old {};
  ASSERT_EQ(sigaction(SIGUSR1, &action, &old), 0);
  const pid_t parent = getpid();
  const pid_t pid = fork_child([=] {
    for (int i = 0; i < 20; ++i) {
      kill(parent, SIGUSR1);
      usleep(500);
    }
    return 4;
  });
  EXPECT_EQ(wait_for_child(pid), 4);
  sigaction(SIGUSR1, &old, nullptr);
}

}  // namespace
}  // namespace tabane::team
