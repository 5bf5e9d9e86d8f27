#include "tabane/comm/nonblocking.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "tabane/comm/nonblocking_checks_test.h"
#include "tabane/comm/runners_test.h"

namespace tabane::comm {
namespace {

class NonBlocking : public OnRanks {
 protected:
  static void check(void (*f)(Comm&)) {
    for (const int ranks : {1, 2, 3, 5}) run(ranks, f);
  }
};

TEST_P(NonBlocking, GivesEveryRankTheResult) { check(checks::results_of_every_size_and_root); }
TEST_P(NonBlocking, BarrierIsCompleteOnlyWhenAllHaveCome) { check(checks::barrier_waits_for_all); }
TEST_P(NonBlocking, SeveralEndInAnyOrder) { check(checks::several_end_in_any_order); }
TEST_P(NonBlocking, GoesOnWhileTheRankWaitsForSomethingElse) { check(checks::other_waits_help); }
TEST_P(NonBlocking, MixesWithMessagesAndGroups) { check(checks::mixes_with_messages_and_groups); }
TEST_P(NonBlocking, ComparesCallsWhereTheGroupDoes) { check(checks::compared_ones_give_results); }
TEST_P(NonBlocking, RefusesWhatCannotBe) { check(checks::refuses_what_cannot_be); }

TEST_P(NonBlocking, OtherCallsOfOthersAreTold) {
  for (const Mismatch& one : checks::mismatches_of_non_blocking()) {
    SCOPED_TRACE(one.name);
    const std::string text =
        error_of<core::Error>([&] { run(3, [&](Comm& comm) { mismatch(comm, one); }); });
    EXPECT_EQ(missing_in(text, one), "");
  }
}

TEST_P(NonBlocking, EndsWithTheLossOfARank) {
  const std::string error = error_of<core::Error>([&] {
    run(3, [](Comm& comm) {
      if (comm.rank() == 2) throw core::Error("no such file");
      std::vector<double> values(100'000, 1);
      Request sum = iall_reduce(comm, values, Operation::sum);
      error_of<core::LostError>([&] { sum.wait(); });
    });
  });
  EXPECT_EQ(error, "rank 2: no such file");
}

INSTANTIATE_TEST_SUITE_P(Runners, NonBlocking, testing::ValuesIn(kRunners), name_of_runner);

}  // namespace
}  // namespace tabane::comm
