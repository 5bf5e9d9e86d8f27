#include "tabane/comm/collective/mismatches_test.h"

#include "tabane/comm/collective/group.h"
#include "tabane/comm/runners_test.h"

namespace tabane::comm {
namespace {

using MismatchesOnRanks = OnRanks;

TEST_P(MismatchesOnRanks, AreAllToldWithBothSides) {
  for (const int ranks : {2, 3}) {
    for (const Mismatch& one : all_mismatches()) {
      SCOPED_TRACE(one.name);
      const std::string text =
          error_of<core::Error>([&] { run(ranks, [&](Comm& comm) { mismatch(comm, one); }); });
      EXPECT_EQ(missing_in(text, one), "") << ranks << " ranks";
    }
  }
}

// Nobody compares before the call, so some pass unnoticed; but a rank that waits looks around.
TEST_P(MismatchesOnRanks, DoNotHangWhereRanksShareMemory) {
  std::vector<Mismatch> all;
  mismatches::add_kinds(all);
  std::size_t told = 0;
  for (const Mismatch& one : all) {
    SCOPED_TRACE(one.name);
    try {
      run(3, [&](Comm& comm) { mismatch(comm, one, false); });
    } catch (const core::Error& error) {
      EXPECT_EQ(missing_in(error.what(), one), "");
      ++told;
    }
  }
  EXPECT_GT(told, all.size() / 2);
}

TEST_P(MismatchesOnRanks, DoNotDisturbCallsThatAreTheSame) {
  run(3, [](Comm& comm) {
    comm.check_collectives(true);
    Comm part = comm.split(comm.rank() == 1 ? 1 : 0).value();
    require(part.group().compares_calls());
    for (int i = 0; i < 200; ++i) {
      const Kind kind = mismatches::kAllKinds[i * 7 % 8];
      mismatches::call(comm, kind, i % 3, mismatches::kCounts[i % 3]);
      mismatches::call(part, kind, 0, mismatches::kCounts[i % 2]);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Transports, MismatchesOnRanks, testing::ValuesIn(kRunners),
                         name_of_runner);

}  // namespace
}  // namespace tabane::comm
