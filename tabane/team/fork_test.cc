#include "tabane/team/fork.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
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

int ceil_log2(int processes) { return std::bit_width(static_cast<unsigned>(processes) - 1); }

// Forks in a row until everything below `self` exists, by walking the plan.
int walk_depth(int self, int processes, ForkOrder order) {
  int deepest = 0;
  int made = 0;
  for (const int child : children_of(self, processes, order)) {
    ++made;
    deepest = std::max(deepest, made + walk_depth(child, processes, order));
  }
  return deepest;
}

TEST(ChildrenOf, IsTheHandDrawnTreeOfEight) {
  using List = std::vector<int>;
  EXPECT_EQ(children_of(0, 8, ForkOrder::tree), (List{4, 2, 1}));
  EXPECT_EQ(children_of(4, 8, ForkOrder::tree), (List{6, 5}));
  EXPECT_EQ(children_of(2, 8, ForkOrder::tree), (List{3}));
  EXPECT_EQ(children_of(6, 8, ForkOrder::tree), (List{7}));
  for (const int leaf : {1, 3, 5, 7}) EXPECT_TRUE(children_of(leaf, 8, ForkOrder::tree).empty());
}

TEST(ChildrenOf, LetsTheFirstForkAllOthersInSerialOrder) {
  EXPECT_EQ(children_of(0, 4, ForkOrder::serial), (std::vector<int>{1, 2, 3}));
  for (int self = 1; self < 4; ++self) {
    EXPECT_TRUE(children_of(self, 4, ForkOrder::serial).empty());
  }
}

TEST(ChildrenOf, NamesEveryProcessOnceAndParentsBeforeTheirChildren) {
  for (const ForkOrder order : {ForkOrder::tree, ForkOrder::serial}) {
    for (int processes = 1; processes <= 130; ++processes) {
      std::vector<int> times_made(static_cast<std::size_t>(processes), 0);
      for (int self = 0; self < processes; ++self) {
        for (const int child : children_of(self, processes, order)) {
          ASSERT_GT(child, self);
          ASSERT_LT(child, processes);
          ++times_made[static_cast<std::size_t>(child)];
        }
      }
      EXPECT_EQ(times_made[0], 0);
      EXPECT_TRUE(
          std::all_of(times_made.begin() + 1, times_made.end(), [](int n) { return n == 1; }))
          << processes << " processes";
    }
  }
}

TEST(ChildrenOf, MakesAtMostTheLogarithmOfForksInATree) {
  for (int processes = 1; processes <= 1030; ++processes) {
    for (int self = 0; self < processes; ++self) {
      ASSERT_LE(children_of(self, processes, ForkOrder::tree).size(),
                static_cast<std::size_t>(ceil_log2(processes)));
    }
  }
}

TEST(ChildrenOf, ForksTheLargestSubtreeFirst) {
  const auto size_below = [](auto& self, int root, int processes) -> int {
    int size = 1;
    for (const int child : children_of(root, processes, ForkOrder::tree)) {
      size += self(self, child, processes);
    }
    return size;
  };
  for (const int processes : {2, 3, 5, 13, 64, 100}) {
    int before = processes;
    for (const int child : children_of(0, processes, ForkOrder::tree)) {
      const int size = size_below(size_below, child, processes);
      EXPECT_LE(size, before);
      before = size;
    }
  }
}

TEST(ChildrenOf, IsEmptyOutsideTheTeam) {
  EXPECT_TRUE(children_of(0, 1, ForkOrder::tree).empty());
  EXPECT_TRUE(children_of(-1, 4, ForkOrder::tree).empty());
  EXPECT_TRUE(children_of(4, 4, ForkOrder::serial).empty());
  EXPECT_TRUE(children_of(0, 0, ForkOrder::tree).empty());
}

TEST(ChildOf, GivesTheChildrenOneByOne) {
  EXPECT_EQ(child_of(0, 8, ForkOrder::tree, 0), 4);
  EXPECT_EQ(child_of(0, 8, ForkOrder::tree, 2), 1);
  EXPECT_EQ(child_of(0, 8, ForkOrder::tree, 3), -1);
  EXPECT_EQ(child_of(0, 8, ForkOrder::tree, -1), -1);
  EXPECT_EQ(child_of(0, 3, ForkOrder::serial, 1), 2);
  EXPECT_EQ(child_of(0, 3, ForkOrder::serial, 2), -1);
  EXPECT_EQ(child_of(1, 3, ForkOrder::serial, 0), -1);
}

TEST(ForkDepth, IsTheLogarithmWithTheCallerInATreeAndTheNumberInALoop) {
  EXPECT_EQ(fork_depth(0, ForkOrder::tree), 0);
  EXPECT_EQ(fork_depth(1, ForkOrder::tree), 1);
  EXPECT_EQ(fork_depth(2, ForkOrder::tree), 2);
  EXPECT_EQ(fork_depth(5, ForkOrder::tree), 3);
  EXPECT_EQ(fork_depth(8, ForkOrder::tree), 4);
  EXPECT_EQ(fork_depth(65535, ForkOrder::tree), 16);
  EXPECT_EQ(fork_depth(65536, ForkOrder::tree), 17);
  EXPECT_EQ(fork_depth(8, ForkOrder::serial), 8);
}

TEST(ForkDepth, IsWhatTheWalkedPlanNeeds) {
  for (const ForkOrder order : {ForkOrder::tree, ForkOrder::serial}) {
    for (int processes = 1; processes <= 70; ++processes) {
      EXPECT_EQ(fork_depth(processes, order), walk_depth(0, processes + 1, order)) << processes;
    }
  }
}

}  // namespace
}  // namespace tabane::team
