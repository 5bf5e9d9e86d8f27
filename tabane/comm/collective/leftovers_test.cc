#include "tabane/comm/collective/mismatches_test.h"
#include "tabane/comm/collectives.h"
#include "tabane/comm/runners_test.h"
#include "tabane/core/text_of_error_test.h"

namespace tabane::comm {
namespace {

using core::text_of_error;
using LeftoversOnRanks = OnRanks;

// As where a vector has its size on the root only.
TEST_P(LeftoversOnRanks, OfACallThatIsEmptyOnSomeRanksAreTold) {
  for (const std::size_t count : {1, 4, 500, 30'000}) {
    for (const Kind kind : mismatches::all_kinds()) {
      if (kind == Kind::barrier) continue;
      for (const int ranks : {2, 3, 4}) {
        for (const int full : {0, ranks - 1}) {
          const std::string text = text_of_error([&] {
            run(ranks, [&](Comm& comm) {
              comm.check_collectives(false);
              mismatches::call(comm, kind, 0, comm.rank() == full ? count : 0);
              mismatches::call(comm, kind, 0, count);
            });
          });
          EXPECT_NE(text.find(name_of(kind)), text.npos)
              << name_of(kind) << " of " << count << " on " << ranks << " ranks: " << text;
        }
      }
    }
  }
}

TEST_P(LeftoversOnRanks, OfACallThatDoesNotBlockAreTold) {
  const std::string text = text_of_error([] {
    GetParam().run(2, [](Comm& comm) {
      comm.check_collectives(false);
      std::vector<int> values(comm.rank() == 0 ? 4 : 0);
      ibroadcast(comm, values, 0).wait();
    });
  });
  EXPECT_NE(text.find("non-blocking"), text.npos) << text;
}

// The roots wait for nobody, so nothing need be told; but what they have sent is of that call only.
TEST_P(LeftoversOnRanks, OfDifferentRootsAreTakenByNoLaterCall) {
  for (const std::size_t count : {1, 4, 500, 30'000}) {
    for (const int ranks : {2, 3, 4}) {
      const std::string text = text_of_error([&] {
        run(ranks, [&](Comm& comm) {
          comm.check_collectives(false);
          std::vector<int> one(count, comm.rank()), other(count, comm.rank() == 0 ? 9 : 1);
          broadcast(comm, one, comm.rank() % 2);
          barrier(comm);
          barrier(comm);
          broadcast(comm, other, 0);
          if (other != std::vector(count, 9)) throw core::Error("it has taken a leftover");
        });
      });
      EXPECT_EQ(text.find("leftover"), text.npos)
          << count << " values on " << ranks << " ranks: " << text;
    }
  }
}

// A call that is empty everywhere is none to complain about, whatever lies around it.
TEST_P(LeftoversOnRanks, AreNoneOfCallsThatAreEmptyEverywhere) {
  run(3, [](Comm& comm) {
    comm.check_collectives(false);
    for (int i = 0; i < 50; ++i) {
      for (const Kind kind : mismatches::all_kinds()) {
        mismatches::call(comm, kind, i % 3, 0);
        mismatches::call(comm, kind, i % 3, mismatches::kCounts[i % 3]);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Transports, LeftoversOnRanks, testing::ValuesIn(kRunners), name_of_runner);

}  // namespace
}  // namespace tabane::comm
