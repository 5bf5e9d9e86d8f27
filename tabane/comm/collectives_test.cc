#include "tabane/comm/collectives.h"

#include "tabane/comm/collective/collective_checks_test.h"

namespace tabane::comm {
namespace {

template <class R>
concept TakesResults = requires(Comm& comm, R&& range, const std::vector<int>& in) {
  broadcast(comm, range, 0);
  all_reduce(comm, range, Operation::sum);
  gather(comm, in, range, 0);
  all_to_all(comm, in, range);
  comm.recv(0, range);
};
static_assert(TakesResults<std::vector<int>&> && TakesResults<const std::span<int>&>);

template <class R>
concept TakesSome = requires(Comm& comm, R&& range) {
  broadcast(comm, range, 0);
}
|| requires(Comm& comm, R&& range, const std::vector<int>& in) { gather(comm, in, range, 0); }
|| requires(Comm& comm, R&& range) { comm.recv(0, range); };
static_assert(!TakesSome<const std::vector<int>&> && !TakesSome<std::span<const int>>);

class Collectives : public OnRanks {};

TEST_P(Collectives, WithChosenAlgorithms) {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    run(ranks, [](Comm& comm) {
      Delays delay(comm.rank(), 11);
      unsigned number = 0;
      for (const std::size_t count : {0, 1, 12, 13, 1000, 70000}) {
        for (int kind = 0; kind < kKinds; ++kind) {
          delay();
          const Algorithm chosen{static_cast<Kind>(kind), {}, nullptr, nullptr};
          check_call<std::int32_t>(comm, chosen, count, comm.size() / 2, ++number);
        }
      }
    });
  }
}

TEST_P(Collectives, HandOutByHand) {
  run(3, [](Comm& comm) {
    const std::vector<int> all{0, 1, 2, 3, 4, 5};
    std::array<int, 2> part{};
    scatter(comm, all, part, 1, Layout::cyclic);
    require_equal(part, (std::array{comm.rank(), comm.rank() + 3}));
    scatter(comm, all, part, 1);
    require_equal(part, (std::array{2 * comm.rank(), 2 * comm.rank() + 1}));
    std::vector<int> back(6);
    all_gather(comm, part, back);
    require_equal(back, all);
    all_gather(comm, part, back, Layout::cyclic);
    require_equal(back, (std::vector{0, 2, 4, 1, 3, 5}));
    double value = comm.rank() == 2 ? 2.5 : 0;
    broadcast(comm, value, 2);
    require_equal(value, 2.5);
  });
}

TEST_P(Collectives, OfPartsWhoseSizesOnlyTheirRanksKnow) {
  run(4, [](Comm& comm) {
    const auto self = static_cast<std::size_t>(comm.rank());
    const std::vector<int> part(self, comm.rank());  // of rank 0 nothing
    const std::vector<int> wanted{1, 2, 2, 3, 3, 3};
    const std::vector<std::size_t> counts{0, 1, 2, 3};
    const Parts<int> at_root = gather_varying(comm, part, 2);
    require_equal(at_root.values, self == 2 ? wanted : std::vector<int>());
    require_equal(at_root.counts, self == 2 ? counts : std::vector<std::size_t>());
    const Parts<int> all = all_gather_varying(comm, part);
    require_equal(all.values, wanted);
    require_equal(all.counts, counts);
    require_equal(scatter_varying(comm, at_root.values, at_root.counts, 2), part);
    require_equal(gather(comm, 10 * comm.rank(), 3),
                  self == 3 ? std::vector{0, 10, 20, 30} : std::vector<int>());
    require_equal(all_gather(comm, 10 * comm.rank()), (std::vector{0, 10, 20, 30}));
  });
}

TEST_P(Collectives, ReduceIntoAnotherRange) {
  run(3, [](Comm& comm) {
    const std::vector<int> values{comm.rank(), 1};
    std::vector<int> result;
    if (comm.rank() == 1) result.resize(2);
    reduce(comm, values, result, Operation::sum, 1);
    require_equal(result, comm.rank() == 1 ? std::vector{3, 3} : std::vector<int>());
    require_equal(values, (std::vector{comm.rank(), 1}));
    std::vector<int> three(3);
    require_contains(error_of<core::UsageError>(
                         [&] { reduce(comm, values, three, Operation::sum, comm.rank()); }),
                     "2 elements in and 3 for the result");
  });
}

TEST_P(Collectives, RefuseWhatCannotBe) {
  run(3, [](Comm& comm) {
    const auto usage_error = [](const auto& f) { return error_of<core::UsageError>(f); };
    std::vector<int> four(4), two(2);
    require_contains(usage_error([&] { broadcast(comm, four, 3); }),
                     "broadcast: root 3 does not exist: the group has ranks 0 to 2");
    require_contains(usage_error([&] { broadcast(comm, four, -1); }), "root -1");
    require_contains(usage_error([&] { all_gather(comm, two, four); }),
                     "4 values are not 3 ranks times a block of 2");
    require_contains(usage_error([&] { gather(comm, two, four, comm.rank()); }), "3 ranks");
    require_contains(usage_error([&] { scatter(comm, four, two, comm.rank()); }), "3 ranks");
    require_contains(usage_error([&] { all_to_all(comm, four, four); }), "3 equal blocks");
    require_contains(usage_error([&] { all_to_all(comm, four, two); }), "3 equal blocks");
    require_contains(usage_error([&] { barrier(comm, {"fast"}); }),
                     "barrier has no algorithm 'fast': give one of flags, counter");
    require_contains(usage_error([&] { all_reduce(comm, four, Operation::max_loc); }),
                     "call all_reduce_min_loc or all_reduce_max_loc");
    std::vector<double> seven(7);
    std::vector<int> seven_ints(7);
    require_contains(usage_error([&] { all_reduce(comm, seven, Operation::sum, {"flags"}); }),
                     "all_reduce: algorithm 'flags' is for at most 48 bytes");
    const std::vector<std::size_t> counts{1, 2, 1}, two_counts{2, 2};
    require_contains(usage_error([&] { all_gather_varying(comm, two, four, two_counts); }),
                     "all_gather_varying: 2 counts for 3 ranks");
    require_contains(usage_error([&] { all_gather_varying(comm, two, seven_ints, counts); }),
                     "7 elements of all, but the counts sum up to 4");
    require_contains(usage_error([&] { all_gather_varying(comm, seven_ints, four, counts); }),
                     "7 elements of rank");
    require_contains(usage_error([&] { reduce_scatter(comm, four, two, Operation::sum); }),
                     "reduce_scatter: 4 values are not 3 ranks times a block of");
    if (comm.transport().collectives() == nullptr) {
      require_contains(usage_error([&] { barrier(comm, {"native"}); }), "collectives of its own");
    }
    barrier(comm);  // nothing of it has disturbed the group
  });
}

// Runs f on ranks of which one at least must throw a MessageError.
std::string mismatch(const Runner& runner, int ranks, const std::function<void(Comm&)>& f) {
  return error_of<core::Error>([&] { runner.run(ranks, f); });
}

TEST_P(Collectives, DifferentSizesOrTypesAreNamed) {
  const auto both = [&](std::string_view algorithm, const auto& f) {
    return mismatch(GetParam(), 2, [&](Comm& comm) {
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

TEST_P(Collectives, DifferentCallsAreNamedWhereTheyAreCompared) {
  const auto compared = [&](const std::function<void(Comm&)>& f) {
    return mismatch(GetParam(), 3, [&](Comm& comm) {
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

INSTANTIATE_TEST_SUITE_P(Runners, Collectives, testing::ValuesIn(kRunners), name_of_runner);

}  // namespace
}  // namespace tabane::comm
