#include <sys/mman.h>

#include <atomic>
#include <new>

#include "tabane/comm/collective/collective_checks_test.h"

namespace tabane::comm {
namespace {

// Memory that ranks share even where they are processes.
class Counted {
 public:
  Counted()
      : at_(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)),
        count_(*new (at_) std::atomic<int>(0)) {}
  ~Counted() { munmap(at_, 4096); }
  std::atomic<int>& operator*() { return count_; }

 private:
  void* at_;
  std::atomic<int>& count_;
};

TEST(Barriers, LetNobodyLeaveBeforeAllHaveCome) {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.kind != Kind::barrier) continue;
    for (const int ranks : {2, 3, 5, 8, 9}) {
      Counted counted;
      run(ranks, [&](Comm& comm) {
        if (!serves(comm, algorithm, 1, 0)) return;
        Delays delay(comm.rank(), 5);
        for (int round = 1; round <= 50; ++round) {
          delay();
          ++*counted;
          barrier(comm, {algorithm.name});
          require(*counted >= round * comm.size());
        }
      });
    }
  }
}

}  // namespace
}  // namespace tabane::comm
