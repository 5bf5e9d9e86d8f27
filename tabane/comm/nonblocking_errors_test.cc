// What becomes of calls that do not block when something is wrong.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tabane/comm/collective/mismatches_test.h"
#include "tabane/comm/ends_test.h"
#include "tabane/comm/runners_test.h"

namespace tabane::comm {
namespace {

// Of which nothing is on record any more.
TEST(NonBlocking, OtherCallsOfOthersAreToldManyCallsLater) {
  for (const bool waits : {false, true}) {
    const std::string text = error_of<core::Error>([&] {
      run(2, [&](Comm& comm) {
        comm.check_collectives(false);
        std::vector<int> values(2);
        if (comm.rank() == 0) {
          Request met = ibarrier(comm);
          for (int i = 0; i < 8; ++i) ibroadcast(comm, values, 0).wait();
          comm.send(1, 1);
          met.wait();
        } else {
          comm.recv<int>(0);
          waits ? barrier(comm) : broadcast(comm, values, 1);
        }
      });
    });
    EXPECT_EQ(missing_in(text, {"", "non-blocking", waits ? "barrier" : "broadcast", {}, {}}), "");
  }
}

TEST(NonBlocking, EndsWithTheLossOfARank) {
  Ends ends(3);
  const std::string error = error_of<core::Error>([&] {
    run(3, [&](Comm& comm) {
      if (comm.rank() == 2) {
        for (const int other : {0, 1}) comm.recv<int>(other);  // that have begun, too
        throw core::Error("no such file");
      }
      comm.send(2, 1);
      std::vector<double> values(100'000, 1);
      error_of<core::LostError>([&] { iall_reduce(comm, values, Operation::sum).wait(); });
      ends.note(comm.rank(), Ends::finished);
    });
  });
  EXPECT_EQ(error, "rank 2: no such file");
  EXPECT_EQ(ends.count(Ends::finished), 2);
}

// Both expect the other to be the root, and both live on after the error: no message must be waited
// for then, and none may come.
TEST(NonBlocking, LeavesTheValuesAloneAfterAnError) {
  Ends ends(2);
  run(2, [&](Comm& comm) {
    std::vector<int> values(100'000, comm.rank());
    {
      Request mistaken = ibroadcast(comm, values, 1 - comm.rank());
      error_of<core::Error>([&] { mistaken.wait(); });
      std::ranges::fill(values, 7);
    }
    comm.send(1 - comm.rank(), 1);
    comm.recv<int>(1 - comm.rank());
    require_equal(std::ranges::count(values, 7), std::ssize(values));
    ends.note(comm.rank(), Ends::finished);
  });
  EXPECT_EQ(ends.count(Ends::finished), 2);
}

// More than have lines at once. The others have the values of the rank that has left its calls.
TEST(NonBlocking, CallsThatAnExceptionPassesDisturbNoLaterOnes) {
  run(3, [](Comm& comm) {
    for (int round = 0; round < 30; ++round) {
      std::array<int, 12> ones;
      ones.fill(1);
      try {
        std::vector<Request> sums;
        for (int& one : ones) sums.push_back(iall_reduce(comm, std::span(&one, 1), Operation::sum));
        if (comm.rank() == round % 4) throw core::Error("on purpose");
        wait_all(sums);
        require_equal(std::ranges::count(ones, 3), std::ssize(ones));
      } catch (const core::Error&) {
        if (comm.rank() != round % 4) throw;
      }
      if (round % 2 == 1) barrier(comm);
      for (int i = 0; i < 20; ++i) {
        int value = i;
        iall_reduce(comm, std::span(&value, 1), Operation::sum).wait();
        require_equal(value, 3 * i);
      }
    }
  });
}

TEST(NonBlocking, ALateMessageDoesNotChangeTheValuesAfterAnError) {
  run(3, [&](Comm& comm) {
    std::vector<int> values(4, comm.rank() == 1 ? 9 : 0);
    if (comm.rank() == 2) error_of<core::Error>([&] { ibarrier(comm).wait(); });
    if (comm.rank() == 0) {
      Request broadcast = ibroadcast(comm, values, 1);
      error_of<core::Error>([&] { broadcast.wait(); });
      std::ranges::fill(values, 7);
      comm.send(1, 1);
      comm.recv<int>(1, 3);
      require_equal(values, std::vector<int>(4, 7));
    }
    if (comm.rank() == 1) {
      comm.recv<int>(0);
      ibroadcast(comm, values, 1).wait();  // the root only sends
      comm.send(0, 1, 3);
    }
  });
}

}  // namespace
}  // namespace tabane::comm
