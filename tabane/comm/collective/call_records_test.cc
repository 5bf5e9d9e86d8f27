// Numbers of calls that go round, as after days of them.
#include "tabane/comm/collective/call_records.h"

#include "tabane/comm/collective/mismatches_test.h"
#include "tabane/comm/runners_test.h"

namespace tabane::comm {
namespace {

// Calls before the ones that a test makes.
constexpr std::array<std::uint32_t, 5> kCallsBefore{0, 0x7fff'fff0, 0x8000'0000, 0xffff'fff0,
                                                    0xffff'fffd};

TEST(CallRecordsOnRanks, HaveNumbersOtherThan0) {
  run(1, [](Comm& comm) {
    require_equal(comm.group().next_call(), 1U);
    comm.group().set_calls(0xffff'fffe);
    require_equal(comm.group().next_call(), 0xffff'ffffU);
    require_equal(comm.group().next_call(), 1U);
  });
}

// The roots of the broadcast wait for nobody, so that they differ shows only later.
TEST(CallRecordsOnRanks, ShowADifferenceOfACallBeforeAfterAnyNumberOfCalls) {
  for (const std::uint32_t calls : kCallsBefore) {
    const std::string text = error_of<core::Error>([&] {
      run(2, [&](Comm& comm) {
        comm.check_collectives(false);
        comm.group().set_calls(calls);
        barrier(comm);
        int value = 1;
        broadcast(comm, value, comm.rank());
        if (comm.rank() == 1) barrier(comm);
      });
    });
    EXPECT_NE(text.find("root 0"), text.npos) << calls << " calls before: " << text;
    EXPECT_NE(text.find("root 1"), text.npos) << calls << " calls before: " << text;
  }
}

TEST(CallRecordsOnRanks, AreComparedAfterAnyNumberOfCalls) {
  for (const std::uint32_t calls : kCallsBefore) {
    run(3, [&](Comm& comm) {
      comm.group().set_calls(calls);
      comm.check_collectives(false);
      barrier(comm);
      comm.check_collectives(true);
      for (int i = 0; i < 40; ++i) {
        mismatches::call(comm, static_cast<Kind>(i * 5 % kKinds), i % 3, 500);
      }
      compared_calls_give_results(comm);
    });
    const std::string text = error_of<core::Error>([&] {
      run(3, [&](Comm& comm) {
        comm.group().set_calls(calls);
        comm.check_collectives(true);
        for (int i = 0; i < 20; ++i) {
          mismatches::call(comm, Kind::broadcast, i == 13 ? comm.rank() : 0, 500);
        }
      });
    });
    EXPECT_NE(text.find("ranks are in different collectives"), text.npos) << text;
  }
}

}  // namespace
}  // namespace tabane::comm
