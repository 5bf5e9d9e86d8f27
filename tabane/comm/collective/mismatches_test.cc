#include "tabane/comm/collective/mismatches_test.h"

#include "tabane/comm/collective/group.h"
#include "tabane/core/text_of_error_test.h"

namespace tabane::comm {
namespace {

TEST(MismatchesOnRanks, AreAllToldWithBothSides) {
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
TEST(MismatchesOnRanks, DoNotHangWhereRanksShareMemory) {
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

TEST(MismatchesOnRanks, LeaveAGroupThatIsSplitOffAfterwardsAlone) {
  std::vector<Mismatch> all = mismatches::of_non_blocking();
  mismatches::add_orders(all);
  for (const Mismatch& one : all) {
    SCOPED_TRACE(one.name);
    run(3, [&](Comm& comm) {
      error_of<MessageError>([&] { mismatch(comm, one); });
      Comm again = comm.split(0).value();
      for (int i = 0; i < 20; ++i) {
        int sum = 1;
        iall_reduce(again, std::span(&sum, 1), Operation::sum).wait();
        require_equal(all_reduce(again, sum, Operation::max), 3);
      }
    });
  }
}

TEST(MismatchesOnRanks, DoNotDisturbCallsThatAreTheSame) {
  run(3, [](Comm& comm) {
    comm.check_collectives(true);
    Comm part = comm.split(comm.rank() == 1 ? 1 : 0).value();
    require(part.group().compares_calls());
    for (int i = 0; i < 200; ++i) {
      const Kind kind = static_cast<Kind>(i * 5 % kKinds);
      mismatches::call(comm, kind, i % 3, mismatches::kCounts[i % 3]);
      mismatches::call(part, kind, 0, mismatches::kCounts[i % 2]);
    }
  });
}

// Of the same sum, and each rank's own is right: nothing else differs.
TEST(MismatchesOnRanks, OfTheSizesOfPartsAreTold) {
  for (const std::size_t unit : {1, 1000}) {
    const std::string text = error_of<core::Error>([&] {
      run(3, [&](Comm& comm) {
        comm.check_collectives(true);
        const bool is_first = comm.rank() == 0;
        const std::size_t counts[] = {2 * unit, (is_first ? 1 : 3) * unit,
                                      (is_first ? 3 : 1) * unit};
        const std::vector<int> part(comm.rank() == 0 ? 2 * unit : counts[comm.rank()]);
        std::vector<int> all(6 * unit);
        all_gather_varying(comm, part, all, counts);
      });
    });
    EXPECT_NE(text.find("sizes of parts"), std::string::npos) << text;
  }
}

// Each rank picks its own out of what all see: with checks or without, it may not be another's.
TEST(MismatchesOnRanks, OfLayoutsGiveNobodyAnothersPart) {
  for (const bool checked : {false, true}) {
    for (const std::size_t count : {1, 13, 500, 3000}) {
      const std::string text = error_of<core::Error>([&] {
        run(3, [&](Comm& comm) {
          comm.check_collectives(checked);
          std::vector<int> all(3 * count), part(count);
          for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i % 3);
          scatter(comm, all, part, 0, comm.rank() == 2 ? Layout::block : Layout::cyclic);
          if (part != std::vector(count, comm.rank())) throw core::Error("it has another's part");
          barrier(comm);
          throw core::Error("nothing is wrong");
        });
      });
      EXPECT_TRUE(!checked || text.find("cyclic") != text.npos) << count << " values: " << text;
      EXPECT_EQ(text.find("another's part"), text.npos) << count << " values: " << text;
    }
  }
}

// Of ranks of which one at least must throw.
std::string error_of_ranks(int ranks, const RankFunction& f) {
  return error_of<core::Error>([&] { run(ranks, f); });
}

TEST(MismatchesOnRanks, OfSizesOrTypesAreNamedByEachAlgorithm) {
  const auto both = [&](std::string_view algorithm, const auto& f) {
    return error_of_ranks(2, [&](Comm& comm) {
      comm.group().compare_calls(false);
      f(comm, CollectiveOptions{algorithm});
    });
  };
  for (const std::string_view name : {"flags", "counter", "two_level", "recursive_doubling"}) {
    const std::string text = both(name, [](Comm& comm, const CollectiveOptions& by) {
      if (comm.rank() == 0) {
        all_reduce(comm, 1.0, Operation::sum, by);
      } else {
        all_reduce(comm, 1, Operation::sum, by);
      }
    });
    require_contains(text, "float64");
    require_contains(text, "int32");
  }
  for (const std::string_view name : {"flags", "binomial"}) {
    require_contains(both(name,
                          [](Comm& comm, const CollectiveOptions& by) {
                            std::vector<int> values(comm.rank() == 0 ? 2 : 4);
                            broadcast(comm, values, 0, by);
                            barrier(comm, {"messages"});
                          }),
                     "8 bytes of int32");
  }
  for (const std::string_view name : {"flags", "direct", "binomial"}) {
    require_contains(both(name,
                          [](Comm& comm, const CollectiveOptions& by) {
                            std::vector<int> part(comm.rank() == 0 ? 4 : 2), all(8);
                            gather(comm, part, all, 0, Layout::block, by);
                          }),
                     "16 bytes of int32");
  }
}

TEST(MismatchesOnRanks, OfCallsAreNamedWhereTheyAreCompared) {
  const auto compared = [&](const std::function<void(Comm&)>& f) {
    return error_of_ranks(3, [&](Comm& comm) {
      comm.group().compare_calls(true);
      barrier(comm);
      f(comm);
    });
  };
  const std::string kinds = compared([](Comm& comm) {
    if (comm.rank() == 1) return barrier(comm);
    all_reduce(comm, 1.0, Operation::sum);
  });
  require_contains(kinds, "barrier (call 2");
  require_contains(kinds, "all_reduce of 8 bytes of float64, sum (call 2");
  const std::string roots = compared([](Comm& comm) {
    int value = 0;
    broadcast(comm, value, comm.rank() == 2 ? 1 : 0);
  });
  require_contains(roots, "root 0");
  require_contains(roots, "root 1");
  const std::string operations = compared(
      [](Comm& comm) { all_reduce(comm, 1, comm.rank() == 0 ? Operation::max : Operation::min); });
  require_contains(operations, "int32, max");
  require_contains(operations, "int32, min");
}

using core::text_of_error;
// As where a vector has its size on the root only.
TEST(LeftoversOnRanks, OfACallThatIsEmptyOnSomeRanksAreTold) {
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

TEST(LeftoversOnRanks, OfACallThatDoesNotBlockAreTold) {
  const std::string text = text_of_error([] {
    run(2, [](Comm& comm) {
      comm.check_collectives(false);
      std::vector<int> values(comm.rank() == 0 ? 4 : 0);
      ibroadcast(comm, values, 0).wait();
    });
  });
  EXPECT_NE(text.find("non-blocking"), text.npos) << text;
}

// Has a name of its own because the roots write the same chunk at once, each its own values: for
// the reason why no later call sees that, see cmake/tsan_suppressions.txt, which names it.
[[gnu::noinline]] void broadcast_from_different_roots(Comm& comm, std::size_t count) {
  std::vector<int> values(count, comm.rank());
  broadcast(comm, values, comm.rank() % 2);
}

// The roots wait for nobody, so nothing need be told; but what they have sent is of that call only.
TEST(LeftoversOnRanks, OfDifferentRootsAreTakenByNoLaterCall) {
  for (const std::size_t count : {1, 4, 500, 30'000}) {
    for (const int ranks : {2, 3, 4}) {
      const std::string text = text_of_error([&] {
        run(ranks, [&](Comm& comm) {
          comm.check_collectives(false);
          broadcast_from_different_roots(comm, count);
          std::vector<int> other(count, comm.rank() == 0 ? 9 : 1);
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
TEST(LeftoversOnRanks, AreNoneOfCallsThatAreEmptyEverywhere) {
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

}  // namespace

}  // namespace tabane::comm
