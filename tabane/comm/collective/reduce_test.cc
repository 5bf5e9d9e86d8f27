// Results of reductions: bits, ties, NaN.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "tabane/comm/collective/collective_checks_test.h"

namespace tabane::comm {
namespace {

class Reductions : public OnRanks {};

std::vector<std::string_view> names_of(Kind kind) {
  std::vector<std::string_view> names;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.kind == kind) names.push_back(algorithm.name);
  }
  return names;
}

// Of sizes so different that the order of addition shows.
std::vector<double> rough_values(int rank, std::size_t count) {
  std::mt19937_64 random(static_cast<unsigned>(rank) + 17);
  std::vector<double> values(count);
  for (double& value : values) {
    value = std::ldexp(static_cast<double>(random()) - 9e18, static_cast<int>(random() % 40));
  }
  return values;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

// Sends what rank 0 has to the others, without a collective, and compares.
void require_same_on_all(Comm& comm, const std::vector<double>& values) {
  if (comm.rank() == 0) {
    for (int rank = 1; rank < comm.size(); ++rank) comm.send(rank, values);
  } else {
    std::vector<double> of_0(values.size());
    comm.recv(0, of_0);
    require(same_bits(of_0, values));
  }
}

TEST_P(Reductions, GiveTheSameBitsOnAllRanksAndEachTime) {
  for (const int ranks : {2, 3, 5, 7, 8, 9}) {
    run(ranks, [](Comm& comm) {
      for (const std::string_view name : names_of(Kind::all_reduce)) {
        for (const std::size_t count : {1, 5, 6, 1001}) {
          const Algorithm& algorithm = *find_algorithm(Kind::all_reduce, name);
          if (!serves(comm, algorithm, sizeof(double), count)) continue;
          std::vector<double> first = rough_values(comm.rank(), count), again = first;
          all_reduce(comm, first, Operation::sum, {name});
          all_reduce(comm, again, Operation::sum, {name});
          require(same_bits(first, again));
          require_same_on_all(comm, first);
        }
      }
    });
  }
}

TEST_P(Reductions, TakeTheRanksInTheOrderThatIsDocumented) {
  run(7, [](Comm& comm) {
    for (const std::size_t count : {1, 6, 1001}) {
      std::vector<double> in_order = rough_values(0, count), in_groups(count), in_pairs(count);
      std::array<std::vector<double>, 7> v;
      for (int rank = 0; rank < 7; ++rank)
        v[static_cast<std::size_t>(rank)] = rough_values(rank, count);
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t rank = 1; rank < 7; ++rank) in_order[i] += v[rank][i];
        in_groups[i] = ((v[0][i] + v[1][i] + v[2][i]) + (v[3][i] + v[4][i] + v[5][i])) + v[6][i];
        in_pairs[i] = ((v[0][i] + v[1][i]) + (v[2][i] + v[3][i])) + ((v[4][i] + v[5][i]) + v[6][i]);
      }
      for (const std::string_view name : names_of(Kind::all_reduce)) {
        if (name == "native") continue;
        const Algorithm& algorithm = *find_algorithm(Kind::all_reduce, name);
        if (!serves(comm, algorithm, sizeof(double), count)) continue;
        const bool pairs = name == "tree" || name == "recursive_doubling";
        const std::vector<double>& expected = pairs                 ? in_pairs
                                              : name == "two_level" ? in_groups
                                                                    : in_order;
        std::vector<double> values = rough_values(comm.rank(), count);
        all_reduce(comm, values, Operation::sum, {name});
        if (!same_bits(values, expected)) throw core::Error(std::string(name));
      }
    }
  });
}

TEST_P(Reductions, DoNotDependOnTheRoot) {
  run(5, [](Comm& comm) {
    for (const std::string_view name : names_of(Kind::reduce)) {
      if (name == "native" || !serves(comm, *find_algorithm(Kind::reduce, name), 8, 6)) continue;
      std::vector<double> at_0(6);
      for (int root = 0; root < 5; ++root) {
        std::vector<double> values = rough_values(comm.rank(), 6);
        reduce(comm, values, Operation::sum, root, {name});
        if (comm.rank() == root && root != 0) comm.send(0, values);
        if (comm.rank() != 0) continue;
        if (root == 0) {
          at_0 = values;
        } else {
          comm.recv(root, values);
          require(same_bits(values, at_0));
        }
      }
    }
  });
}

TEST_P(Reductions, OfOneValueReturnIt) {
  run(4, [](Comm& comm) {
    require_equal(all_reduce(comm, comm.rank() + 1, Operation::sum), 10);
    require_equal(all_reduce(comm, static_cast<std::int8_t>(-comm.rank()), Operation::min),
                  std::int8_t{-3});
    require_equal(all_reduce(comm, 0.5f * static_cast<float>(comm.rank()), Operation::max), 1.5f);
    require_equal(all_reduce(comm, static_cast<long double>(comm.rank()), Operation::sum), 6.0L);
  });
}

template <class T>
void require_located(const Located<T>& got, T value, int rank, std::int64_t index) {
  require_equal(got.value, value);
  require_equal(got.rank, rank);
  require_equal(got.index, index);
}

TEST_P(Reductions, SayWhoHadTheLargestAndSmallest) {
  for (const int ranks : {1, 2, 3, 4, 5, 8, 9}) {
    run(ranks, [](Comm& comm) {
      const int p = comm.size(), self = comm.rank();
      for (const std::string_view name : names_of(Kind::all_reduce)) {
        if (!serves(comm, *find_algorithm(Kind::all_reduce, name), sizeof(Located<double>), 1)) {
          continue;
        }
        const CollectiveOptions by{name};
        for (int best = 0; best < p; ++best) {
          const double value = self == best ? 7.5 : -self;
          require_located(all_reduce_max_loc(comm, value, 10 * self, by), 7.5, best,
                          std::int64_t{10} * best);
          require_located(all_reduce_min_loc(comm, -value, 10 * self, by), -7.5, best,
                          std::int64_t{10} * best);
          // Of equal ones the lowest rank's: all from `best` on have the largest.
          require_located(all_reduce_max_loc(comm, self >= best ? 3 : 1, -self, by), 3, best,
                          std::int64_t{-best});
        }
      }
    });
  }
}

// A NaN loses to every number, even to -inf; where all are NaN, the lowest rank has it.
TEST_P(Reductions, NaNIsNeverTheLargestOrSmallest) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const int ranks : {2, 3, 6}) {
    run(ranks, [](Comm& comm) {
      for (const std::string_view name : names_of(Kind::all_reduce)) {
        if (!serves(comm, *find_algorithm(Kind::all_reduce, name), sizeof(Located<double>), 1)) {
          continue;
        }
        for (int number = 0; number < comm.size(); ++number) {
          const bool has = comm.rank() == number;
          require_located(all_reduce_max_loc(comm, has ? -kInf : kNaN, 5, {name}), -kInf, number,
                          5);
          require_located(all_reduce_min_loc(comm, has ? kInf : kNaN, 5, {name}), kInf, number, 5);
        }
        const Located<double> none = all_reduce_max_loc(comm, kNaN, comm.rank(), {name});
        require(std::isnan(none.value));
        require_equal(none.rank, 0);
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Runners, Reductions, testing::ValuesIn(kRunners), name_of_runner);

}  // namespace
}  // namespace tabane::comm
