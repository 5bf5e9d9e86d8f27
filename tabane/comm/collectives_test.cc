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

// Around the sizes at which other algorithms are chosen; long values do not need each root.
TEST(Collectives, WithChosenAlgorithms) {
  run_each({1, 2, 3, 4, 5, 6, 7, 8, 9}, [](Comm& comm) {
    Delays delay(comm.rank(), 11);
    unsigned number = 0;
    for (const std::size_t count : {0, 1, 2, 6, 12, 13, 100, 1000, 1025, 5000, 16'385, 70'001}) {
      for (int kind = 0; kind < kKinds; ++kind) {
        const Algorithm chosen{static_cast<Kind>(kind), {}, nullptr, nullptr};
        const bool few = kAreMpi && comm.size() > 3;
        const bool each_root = has_root(chosen.kind) && count <= (few ? 13 : 1025);
        for (int root = each_root ? 0 : comm.size() / 2; root < comm.size(); ++root) {
          delay();
          check_call<std::int32_t>(comm, chosen, count, root, ++number);
          if (!each_root) break;
        }
      }
    }
  });
}

template <class... Types>
void reduce_types(Comm& comm) {
  unsigned number = 0;
  for (const std::size_t count : {1, 3, 50}) {
    for (int operation = 0; operation < 7; ++operation) {
      (check_reduce<Types>(comm, "", operation_for<Types>("", number), count, any_source, number),
       ...);
      ++number;
    }
  }
}

TEST(Collectives, OfEveryTypeOfNumber) {
  on_worlds([](Comm& comm) {
    reduce_types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                 std::uint32_t, std::int64_t, std::uint64_t, float, double, long double>(comm);
    require(all_reduce(comm, true, Operation::sum));
    require(all_reduce(comm, comm.rank() == 0, Operation::max));
    require(!all_reduce(comm, comm.rank() != 0, Operation::min));
  });
}

TEST(Collectives, HandOutByHand) {
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

TEST(Collectives, OfPartsWhoseSizesOnlyTheirRanksKnow) {
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

TEST(Collectives, ReduceIntoAnotherRange) {
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

TEST(Collectives, RefuseWhatCannotBe) {
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
    const bool has_memory = comm.transport().memory() != nullptr;
    require_contains(usage_error([&] { all_reduce(comm, seven, Operation::sum, {"flags"}); }),
                     has_memory ? "all_reduce: algorithm 'flags' is for at most 48 bytes"
                                : "all_reduce: algorithm 'flags' ");
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

}  // namespace
}  // namespace tabane::comm
