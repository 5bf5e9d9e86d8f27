// Results of reductions: bits, ties, NaN.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>

#include "tabane/comm/collective/collective_checks_test.h"

namespace tabane::comm {
namespace {

// Those of this collective that serve values of this size.
std::vector<std::string_view> names_of(Comm& comm, Kind kind, std::size_t element_bytes,
                                       std::size_t count) {
  std::vector<std::string_view> names;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.kind != kind || algorithm.name == "native") continue;
    if (serves(comm, algorithm, element_bytes, count)) names.push_back(algorithm.name);
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

void require_same_bits(Comm& comm, std::size_t count, Operation operation,
                       std::string_view algorithm) {
  std::vector<double> first = rough_values(comm.rank(), count);
  first[0] = comm.rank() % 2 == 0 ? 0.0 : -0.0;
  std::vector<double> again = first;
  all_reduce(comm, first, operation, {algorithm});
  all_reduce(comm, again, operation, {algorithm});
  require(same_bits(first, again));
  require_same_on_all(comm, first);
}

TEST(Reductions, GiveTheSameBitsOnAllRanksAndEachTime) {
  run_each({2, 3, 5, 7, 8, 9}, [](Comm& comm) {
    for (const std::size_t count : {1, 5, 6, 1001}) {
      for (const std::string_view name : names_of(comm, Kind::all_reduce, sizeof(double), count)) {
        require_same_bits(comm, count, Operation::sum, name);
      }
    }
  });
}

TEST(Reductions, GiveTheSameBitsByTheChosenAlgorithm) {
  on_worlds([](Comm& comm) {
    for (const std::size_t count : {1, 5, 6, 7, 513, 9000}) {
      for (const Operation operation : {Operation::sum, Operation::min, Operation::max}) {
        require_same_bits(comm, count, operation, {});
      }
    }
  });
}

TEST(Reductions, TakeTheRanksInTheOrderThatIsDocumented) {
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
      for (const std::string_view name : names_of(comm, Kind::all_reduce, sizeof(double), count)) {
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

TEST(Reductions, DoNotDependOnTheRoot) {
  run(5, [](Comm& comm) {
    for (const std::string_view name : names_of(comm, Kind::reduce, 8, 6)) {
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

TEST(Reductions, OfOneValueReturnIt) {
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

TEST(Reductions, SayWhoHadTheLargestAndSmallest) {
  run_each({1, 2, 3, 4, 5, 8, 9}, [](Comm& comm) {
    const int p = comm.size(), self = comm.rank();
    for (const std::string_view name :
         names_of(comm, Kind::all_reduce, sizeof(Located<double>), 1)) {
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

// A NaN loses to every number, even to -inf; where all are NaN, the lowest rank has it.
TEST(Reductions, NaNIsNeverTheLargestOrSmallest) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  run_each({2, 3, 6}, [](Comm& comm) {
    for (const std::string_view name :
         names_of(comm, Kind::all_reduce, sizeof(Located<double>), 1)) {
      for (int number = 0; number < comm.size(); ++number) {
        const bool has = comm.rank() == number;
        require_located(all_reduce_max_loc(comm, has ? -kInf : kNaN, 5, {name}), -kInf, number, 5);
        require_located(all_reduce_min_loc(comm, has ? kInf : kNaN, 5, {name}), kInf, number, 5);
      }
      const Located<double> none = all_reduce_max_loc(comm, kNaN, comm.rank(), {name});
      require(std::isnan(none.value));
      require_equal(none.rank, 0);
    }
  });
}

// The same of arrays, element by element: rank i % p has the largest of element i.
TEST(Reductions, SayWhoHadTheLargestOfEachElement) {
  run(5, [](Comm& comm) {
    for (const std::size_t count : {0, 1, 2, 300}) {
      for (const std::string_view name :
           names_of(comm, Kind::all_reduce, sizeof(Located<float>), count)) {
        std::vector<float> values(count);
        std::vector<std::int64_t> indices(count);
        for (std::size_t i = 0; i < count; ++i) {
          values[i] = static_cast<int>(i % 5) == comm.rank() ? 9.0f : static_cast<float>(i % 4);
          indices[i] = static_cast<std::int64_t>(100 * i) + comm.rank();
        }
        const auto largest = all_reduce_max_loc(comm, values, indices, {name});
        for (float& value : values) value = -value;
        const auto smallest = all_reduce_min_loc(comm, values, {}, {name});
        require_equal(largest.size(), count);
        for (std::size_t i = 0; i < count; ++i) {
          const auto at = static_cast<std::int64_t>(i);
          require_located(largest[i], 9.0f, static_cast<int>(i % 5), 100 * at + at % 5);
          require_located(smallest[i], -9.0f, static_cast<int>(i % 5), at);
        }
      }
    }
    std::vector<double> two(2);
    const std::vector<std::int64_t> three(3);
    require_contains(error_of<core::UsageError>([&] { all_reduce_min_loc(comm, two, three); }),
                     "3 indices of 2 values");
  });
}

// Calls f with all algorithms of the collectives that combine values of this size.
void with_all(Comm& comm, std::size_t element_bytes, std::size_t count,
              const std::function<void(const Algorithm&)>& f) {
  for (const Algorithm& algorithm : algorithms()) {
    if (!combines(algorithm.kind) || algorithm.name == "native") continue;
    if (serves(comm, algorithm, element_bytes, count)) f(algorithm);
  }
}

// x -> factor x + summand, modulo 2^32: the composition of functions is associative, and not
// commutative.
struct Affine {
  std::uint32_t factor, summand;
  bool operator==(const Affine&) const = default;
};
Affine then(const Affine& first, const Affine& second) {
  return {first.factor * second.factor, first.summand * second.factor + second.summand};
}
Affine affine_of(int rank, std::size_t i) {
  return {static_cast<std::uint32_t>(2 * rank + 3), static_cast<std::uint32_t>(7 * rank + i)};
}

// What rank `self` must have of element i.
Affine composed(Kind kind, int ranks, int self, std::size_t i, std::size_t count) {
  if (kind == Kind::reduce_scatter) i += static_cast<std::size_t>(self) * count;
  if (kind == Kind::exscan && self == 0) return affine_of(0, i);
  Affine all = affine_of(0, i);
  const int end = kind == Kind::scan ? self + 1 : kind == Kind::exscan ? self : ranks;
  for (int rank = 1; rank < end; ++rank) all = then(all, affine_of(rank, i));
  return all;
}

TEST(Reductions, KeepTheOrderOfRanksForWhatDoesNotCommute) {
  run_each({1, 2, 3, 4, 5, 6, 7, 8, 9}, [](Comm& comm) {
    const int p = comm.size(), self = comm.rank(), root = p / 2;
    for (const std::size_t count : {1, 6, 7, 1500}) {
      with_all(comm, sizeof(Affine), count, [&](const Algorithm& algorithm) {
        const Kind kind = algorithm.kind;
        const bool of_all = kind == Kind::reduce_scatter;
        std::vector<Affine> own(count * static_cast<std::size_t>(of_all ? p : 1));
        for (std::size_t i = 0; i < own.size(); ++i) own[i] = affine_of(self, i);
        std::vector<Affine> got = own;
        if (of_all) got.resize(count);
        const CollectiveOptions by{algorithm.name};
        if (kind == Kind::reduce) reduce(comm, own, got, then, root, by);
        if (kind == Kind::all_reduce) all_reduce(comm, got, then, by);
        if (kind == Kind::scan) scan(comm, got, then, by);
        if (kind == Kind::exscan) exscan(comm, got, then, by);
        if (of_all) reduce_scatter(comm, own, got, then, by);
        if (kind == Kind::reduce && self != root) return require(got == own);
        for (std::size_t i = 0; i < count; ++i) {
          if (got[i] != composed(kind, p, self, i, count)) {
            throw core::Error(std::string(name_of(kind)) + " " + std::string(algorithm.name));
          }
        }
      });
    }
  });
}

// Whatever the algorithm: a NaN loses to every number, in whichever rank it is, and the sign of a 0
// is the lowest rank's.
TEST(Reductions, NaNLosesAndZerosAreTheLowestRanks) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  run_each({2, 3, 4, 7}, [](Comm& comm) {
    const int p = comm.size(), self = comm.rank();
    with_all(comm, sizeof(double), 5, [&](const Algorithm& algorithm) {
      if (algorithm.kind == Kind::exscan || algorithm.kind == Kind::reduce_scatter) return;
      for (int with_nan = 0; with_nan < p; ++with_nan) {
        const bool mine = self == with_nan;
        const double zero = mine ? -0.0 : 0.0;
        std::vector<double> values{mine ? kNaN : -5.0, mine ? -7.0 : kNaN, kNaN, zero, zero};
        const Operation operation = with_nan % 2 == 0 ? Operation::max : Operation::min;
        const CollectiveOptions by{algorithm.name};
        if (algorithm.kind == Kind::reduce) reduce(comm, values, operation, 0, by);
        if (algorithm.kind == Kind::all_reduce) all_reduce(comm, values, operation, by);
        if (algorithm.kind == Kind::scan) scan(comm, values, operation, by);
        const bool has_all = algorithm.kind == Kind::reduce ? self == 0
                             : algorithm.kind == Kind::scan ? self == p - 1
                                                            : true;
        if (!has_all) continue;
        require_equal(values[0], -5.0);
        require_equal(values[1], -7.0);
        require(std::isnan(values[2]));
        require_equal(std::signbit(values[3]), with_nan == 0);
        require_equal(std::signbit(values[4]), with_nan == 0);
      }
    });
  });
}

double in_order(int ranks, std::size_t i, std::size_t count) {
  double sum = rough_values(0, count)[i];
  for (int rank = 1; rank < ranks; ++rank) sum += rough_values(rank, count)[i];
  return sum;
}

TEST(Reductions, ThatAreReproducibleTakeTheRanksInOrder) {
  run_each({2, 3, 4, 7, 17}, [](Comm& comm) {
    const int p = comm.size(), self = comm.rank();
    const CollectiveOptions reproducible{.reproducible = true};
    for (const std::size_t count : {1, 20, 700, 9000}) {
      const std::size_t last = count - 1;
      std::vector<double> own = rough_values(self, count), all = own, part = own;
      all_reduce(comm, all, Operation::sum, reproducible);
      require_equal(all[last], in_order(p, last, count));
      scan(comm, part, Operation::sum, reproducible);
      require_equal(part[last], in_order(self + 1, last, count));
      reduce(comm, own, Operation::sum, p - 1, reproducible);
      if (self == p - 1) require_equal(own[last], in_order(p, last, count));
    }
    std::vector<double> blocks = rough_values(self, static_cast<std::size_t>(p)), block(1);
    reduce_scatter(comm, blocks, block, Operation::sum, reproducible);
    const auto place = static_cast<std::size_t>(self);
    require_equal(block[0], in_order(p, place, static_cast<std::size_t>(p)));
    require_contains(error_of<core::UsageError>([&] {
                       all_reduce(comm, block, Operation::sum, {"tree", true});
                     }),
                     "all_reduce: algorithm 'tree' is not reproducible");
  });
}

TEST(Reductions, OfScalars) {
  run(3, [](Comm& comm) {
    const int self = comm.rank();
    const auto largest = [](int a, int b) { return std::max(a, b); };
    require(reduce(comm, self + 1, Operation::product, 1) ==
            (self == 1 ? std::optional(6) : std::nullopt));
    require_equal(all_reduce(comm, 1u << self, Operation::bit_or), 7u);
    require_equal(all_reduce(comm, 10 * self, largest), 20);
    require_equal(scan(comm, 1.5, Operation::sum), 1.5 * (self + 1));
    require_equal(exscan(comm, std::size_t{4}, Operation::sum), 4u * static_cast<unsigned>(self));
    require_equal(exscan(comm, 7, Operation::min), self == 0 ? std::numeric_limits<int>::max() : 7);
    require_equal(exscan(comm, 7.0, Operation::max),
                  self == 0 ? -std::numeric_limits<double>::infinity() : 7.0);
    require_equal(exscan(comm, std::uint8_t{5}, Operation::bit_and),
                  self == 0 ? std::uint8_t{255} : std::uint8_t{5});
    require_equal(exscan(comm, 3.0f, Operation::product), self == 0   ? 1.0f
                                                          : self == 1 ? 3.0f
                                                                      : 9.0f);
    require_contains(error_of<core::UsageError>([&] { all_reduce(comm, 1.0, Operation::bit_and); }),
                     "bit_and needs integers");
    require_contains(error_of<core::UsageError>([&] { all_reduce(comm, 1.0, Operation::user); }),
                     "given as a function");
  });
}

// Products of types smaller than int, and of the largest values, wrap around as unsigned ones do.
TEST(Reductions, OfIntegersWrapAround) {
  run(2, [](Comm& comm) {
    require_equal(all_reduce(comm, std::uint16_t{65535}, Operation::product), std::uint16_t{1});
    require_equal(all_reduce(comm, std::numeric_limits<int>::max(), Operation::sum), -2);
    require_equal(all_reduce(comm, std::numeric_limits<std::int64_t>::min(), Operation::sum),
                  std::int64_t{0});
    require_equal(all_reduce(comm, std::uint64_t{1} << 63 | 5u, Operation::max),
                  std::uint64_t{1} << 63 | 5u);
    require_equal(all_reduce(comm, comm.rank() == 0, Operation::product), false);
  });
}

}  // namespace
}  // namespace tabane::comm
