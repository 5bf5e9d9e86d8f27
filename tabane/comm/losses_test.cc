// What becomes of the calls of a rank when another one throws, or has returned.
#include <string>
#include <vector>

#include "tabane/comm/ends_test.h"
#include "tabane/comm/runners_test.h"

namespace tabane::comm {
namespace {

TEST(Losses, ThrowsWhatARankThrewWithItsNumber) {
  const std::string error = error_of<core::Error>([&] {
    run(3, [](Comm& comm) {
      comm.set_phase("the sum");
      if (comm.rank() == 1) throw core::Error("no such file");
      comm.recv<int>(1);
    });
  });
  EXPECT_EQ(error, "rank 1: no such file");
}

TEST(Losses, FailsTheCallsOfOthersWhenARankThrows) {
  run(1, [](Comm&) {});
  Ends ends(3);
  const std::string error = error_of<core::Error>([&] {
    run(3, [&](Comm& comm) {
      Comm alone = comm.split(comm.rank()).value();
      if (comm.rank() == 2) {
        for (const int other : {0, 1}) comm.recv<int>(other);
        comm.set_phase("the sum");
        throw core::Error("no such file");
      }
      comm.send(2, 1);
      const std::string lost = error_of<core::LostError>([&] { comm.recv<int>(any_source); });
      require(lost.starts_with("process 2 (pid "));
      require(lost.ends_with(") was lost during the sum: threw: no such file"));
      error_of<core::LostError>([&] { comm.send(1 - comm.rank(), 1); });
      error_of<core::LostError>([&] { comm.probe(any_source); });
      error_of<core::LostError>([&] { barrier(alone); });
      error_of<core::LostError>([&] { ibarrier(alone); });
      ends.note(comm.rank(), Ends::finished);
    });
  });
  EXPECT_EQ(error, "rank 2: no such file");
  EXPECT_EQ(ends.count(Ends::finished), 2);
}

TEST(Losses, DoesNotWaitForARankThatHasReturned) {
  const std::string error = error_of<core::Error>([&] {
    run(2, [](Comm& comm) {
      if (comm.rank() == 0) comm.send(1, 1);
      if (comm.rank() == 1) require_equal(comm.recv<int>(0), 1);
      if (comm.rank() == 1) comm.recv<int>(any_source);
    });
  });
  EXPECT_NE(error.find("returned from"), error.npos) << error;
}

TEST(Losses, DoesNotProbeForWhatARankThatHasReturnedWillNotSend) {
  const std::string error = error_of<core::Error>([&] {
    run(2, [](Comm& comm) {
      if (comm.rank() == 0) return comm.send(1, 1);
      while (!comm.probe(0)) continue;
      comm.recv<int>(0);
      while (!comm.probe(0)) continue;
    });
  });
  EXPECT_NE(error.find("rank 0 has returned from"), error.npos) << error;
}

TEST(Losses, EndsWithReceivesThatNobodyWaitedFor) {
  const std::string error = error_of<core::Error>([&] {
    run(2, [](Comm& comm) {
      std::vector<int> value(1);
      const Request request = comm.irecv(1 - comm.rank(), value);
      if (comm.rank() == 0) throw core::Error("on the way out");
    });
  });
  EXPECT_EQ(error, "rank 0: on the way out");
}

}  // namespace
}  // namespace tabane::comm
