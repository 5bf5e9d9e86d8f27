// For tests of teams: memory that children can write to, and a check that nothing of a team is
// left.
#pragma once

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <string>

#include "tabane/team/fork.h"

namespace tabane::team {

// Values that the caller and its children see alike; zero at first.
template <class T>
class SharedValues {
 public:
  explicit SharedValues(std::size_t count) : block_(count * sizeof(std::atomic<T>), "test") {
    for (std::size_t i = 0; i < count; ++i) new (data() + i) std::atomic<T>(0);
  }
  std::atomic<T>& operator[](std::size_t i) { return data()[i]; }
  std::size_t size() const { return block_.size() / sizeof(std::atomic<T>); }
  T sum() {
    T total = 0;
    for (std::size_t i = 0; i < size(); ++i) total += data()[i].load();
    return total;
  }

 private:
  std::atomic<T>* data() { return reinterpret_cast<std::atomic<T>*>(block_.data()); }
  SharedBlock block_;
};

// Handles SIGCHLD by taking the ends of all children.
inline void take_any_end(int) {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

struct Leftovers {
  std::ptrdiff_t files = 0, shared_mappings = 0;
  int adopts_orphans = 0;
  bool children = false;

  static Leftovers now() {
    Leftovers left;
    left.files = std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                               std::filesystem::directory_iterator());
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      left.shared_mappings += line.find("/dev/zero (deleted)") != std::string::npos ||
                              line.find("/memfd:") != std::string::npos;
    }
    prctl(PR_GET_CHILD_SUBREAPER, &left.adopts_orphans, 0, 0, 0);
    siginfo_t info{};
    left.children = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
    return left;
  }
};

// Every test ends with what it began with: open files, mappings, and no child, dead or alive.
class LeavesNothing : public testing::Test {
 protected:
  void TearDown() override {
    const Leftovers after = Leftovers::now();
    EXPECT_EQ(after.files, before_.files);
    EXPECT_EQ(after.shared_mappings, before_.shared_mappings);
    EXPECT_EQ(after.adopts_orphans, before_.adopts_orphans);
    EXPECT_FALSE(after.children);
  }

 private:
  Leftovers before_ = Leftovers::now();
};

}  // namespace tabane::team
