#include "conformance_collectives.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

namespace tabane::conformance {
namespace {

using comm::Operation;

constexpr std::array kLayouts{Layout::block, Layout::cyclic};
constexpr std::array kOperations{Operation::sum, Operation::min, Operation::max};
constexpr std::array kBitOperations{Operation::product, Operation::bit_and, Operation::bit_or,
                                    Operation::bit_xor};

// Of rank's element i: small enough for sums of many ranks to be exact in every type.
template <class T>
T value_of(int rank, std::size_t i) {
  return static_cast<T>((static_cast<std::size_t>(rank) * 31 + i * 7) % 13);
}

template <class T>
std::vector<T> values_of(int rank, std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = value_of<T>(rank, i);
  return values;
}

template <class T>
T combined(T a, T b, Operation operation) {
  if constexpr (std::is_integral_v<T>) {
    if (operation == Operation::bit_and) return static_cast<T>(a & b);
    if (operation == Operation::bit_or) return static_cast<T>(a | b);
    if (operation == Operation::bit_xor) return static_cast<T>(a ^ b);
    if (operation == Operation::product) {
      return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    }
  }
  return operation == Operation::sum   ? static_cast<T>(a + b)
         : operation == Operation::min ? std::min(a, b)
                                       : std::max(a, b);
}

// Of element i of the ranks up to `ranks`.
template <class T>
T combined(int ranks, std::size_t i, Operation operation) {
  T result = value_of<T>(0, i);
  for (int rank = 1; rank < ranks; ++rank) {
    result = combined(result, value_of<T>(rank, i), operation);
  }
  return result;
}

// first: which element values[0] is.
template <class T>
void require_combined(const std::vector<T>& values, int ranks, Operation operation,
                      std::size_t first = 0) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T wanted = combined<T>(ranks, first + i, operation);
    require(values[i] == wanted, "operation {}: element {} of {} is {}, not {}",
            static_cast<int>(operation), i, values.size(), values[i], wanted);
  }
}

template <class T>
std::vector<Operation> operations_of(const CollectiveOptions& options) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    std::vector<Operation> all(kOperations.begin(), kOperations.end());
    all.insert(all.end(), kBitOperations.begin(), kBitOperations.end());
    return all;
  }
  // Native algorithms leave the other ones of floating-point numbers to ours.
  if (options.algorithm == "native") return {Operation::sum};
  return {kOperations.begin(), kOperations.end()};
}

template <class T>
void all_reduce_of(Comm& comm, std::size_t count, const CollectiveOptions& options) {
  for (const Operation operation : operations_of<T>(options)) {
    std::vector<T> values = values_of<T>(comm.rank(), count);
    comm::all_reduce(comm, values, operation, options);
    require_combined(values, comm.size(), operation);
  }
}

// Where element i of rank's part is in the whole.
std::size_t place(Layout layout, std::size_t count, int ranks, int rank, std::size_t i) {
  const auto r = static_cast<std::size_t>(rank);
  return layout == Layout::block ? r * count + i : i * static_cast<std::size_t>(ranks) + r;
}

std::vector<std::int32_t> whole(Layout layout, std::size_t count, int ranks) {
  std::vector<std::int32_t> all(count * static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < count; ++i) {
      all[place(layout, count, ranks, rank, i)] = rank * 1'000'000 + static_cast<std::int32_t>(i);
    }
  }
  return all;
}

std::vector<std::int32_t> part_of(std::size_t count, int rank) {
  std::vector<std::int32_t> part(count);
  for (std::size_t i = 0; i < count; ++i) {
    part[i] = rank * 1'000'000 + static_cast<std::int32_t>(i);
  }
  return part;
}

void require_same(const std::vector<std::int32_t>& seen, const std::vector<std::int32_t>& wanted,
                  std::string_view what) {
  require_equal(seen.size(), wanted.size(), what);
  const auto [at, expected] = std::ranges::mismatch(seen, wanted);
  require(at == seen.end(), "{}: element {} of {} is {}, not {}", what, at - seen.begin(),
          seen.size(), at == seen.end() ? 0 : *at, expected == wanted.end() ? 0 : *expected);
}

}  // namespace

// The last rank comes late: nobody may leave before it has come.
void call_barrier(Comm& comm, const CollectiveOptions& options) {
  const int late = comm.size() - 1;
  const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch().count(); };
  long came = 0;
  if (comm.rank() == late) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    came = now();
  }
  comm::barrier(comm, options);
  const long left = now();
  // Clocks are only compared within a rank where ranks may be on several hosts.
  if (comm.transport().name() == "mpi" || comm.size() == 1) return;
  if (comm.rank() == late) {
    for (int rank = 0; rank < late; ++rank) comm.send(rank, came, 1);
    return;
  }
  came = comm.recv<long>(late, 1);
  require(left >= came, "the barrier was left {} ns before rank {} came", came - left, late);
}

void call_broadcast(Comm& comm, std::size_t count, int root, const CollectiveOptions& options) {
  const Bytes wanted = pattern(count, key_of(root, 0, static_cast<int>(count)));
  Bytes bytes(count);
  if (comm.rank() == root) bytes = wanted;
  comm::broadcast(comm, bytes, root, options);
  const auto at = std::ranges::mismatch(bytes, wanted).in1;
  require(at == bytes.end(), "broadcast of {} bytes from rank {}: byte {} is wrong", count, root,
          at - bytes.begin());
}

void call_reduce(Comm& comm, std::size_t count, int root, const CollectiveOptions& options) {
  const auto own = values_of<std::int64_t>(comm.rank(), count);
  for (const Operation operation : operations_of<std::int64_t>(options)) {
    auto values = own;
    comm::reduce(comm, values, operation, root, options);
    if (comm.rank() == root) require_combined(values, comm.size(), operation);
    require(comm.rank() == root || values == own, "reduce changed the values of rank {}",
            comm.rank());
  }
}

void call_scan(Comm& comm, comm::Kind kind, std::size_t count, const CollectiveOptions& options) {
  for (const Operation operation : operations_of<std::int32_t>(options)) {
    auto values = values_of<std::int32_t>(comm.rank(), count);
    if (kind == comm::Kind::scan) {
      comm::scan(comm, values, operation, options);
      require_combined(values, comm.rank() + 1, operation);
    } else {
      comm::exscan(comm, values, operation, options);
      if (comm.rank() > 0) require_combined(values, comm.rank(), operation);
    }
  }
}

void call_reduce_scatter(Comm& comm, std::size_t count, const CollectiveOptions& options) {
  const auto p = static_cast<std::size_t>(comm.size());
  for (const Operation operation : operations_of<std::int32_t>(options)) {
    std::vector<std::int32_t> block(count, -1);
    comm::reduce_scatter(comm, values_of<std::int32_t>(comm.rank(), count * p), block, operation,
                         options);
    require_combined(block, comm.size(), operation, static_cast<std::size_t>(comm.rank()) * count);
  }
}

void call_all_reduce(Comm& comm, std::size_t count, const CollectiveOptions& options) {
  all_reduce_of<std::int32_t>(comm, count, options);
  all_reduce_of<double>(comm, count, options);
}

void call_scatter(Comm& comm, std::size_t count, int root, Layout layout,
                  const CollectiveOptions& options) {
  std::vector<std::int32_t> all, part(count, -1);
  if (comm.rank() == root) all = whole(layout, count, comm.size());
  comm::scatter(comm, all, part, root, layout, options);
  require_same(part, part_of(count, comm.rank()), "scatter");
}

void call_gather(Comm& comm, std::size_t count, int root, Layout layout,
                 const CollectiveOptions& options) {
  const auto wanted = whole(layout, count, comm.size());
  std::vector<std::int32_t> all(comm.rank() == root ? wanted.size() : 0, -1);
  comm::gather(comm, part_of(count, comm.rank()), all, root, layout, options);
  if (comm.rank() == root) require_same(all, wanted, "gather");
}

void call_all_gather(Comm& comm, std::size_t count, Layout layout,
                     const CollectiveOptions& options) {
  const auto wanted = whole(layout, count, comm.size());
  std::vector<std::int32_t> all(wanted.size(), -1);
  comm::all_gather(comm, part_of(count, comm.rank()), all, layout, options);
  require_same(all, wanted, "all_gather");
}

void call_varying(Comm& comm, comm::Kind kind, std::size_t count, int root,
                  const CollectiveOptions& options) {
  std::vector<std::size_t> counts;
  std::vector<std::int32_t> wanted;
  for (int rank = 0; rank < comm.size(); ++rank) {
    counts.push_back(count * static_cast<std::size_t>((rank + root) % 3) / 2);
    const auto part = part_of(counts.back(), rank);
    wanted.insert(wanted.end(), part.begin(), part.end());
  }
  const auto own = part_of(counts[static_cast<std::size_t>(comm.rank())], comm.rank());
  std::vector<std::int32_t> all(wanted.size(), -1), part(own.size(), -1);
  if (kind == comm::Kind::all_gather_varying) {
    comm::all_gather_varying(comm, own, all, counts, options);
    return require_same(all, wanted, "all_gather_varying");
  }
  if (comm.rank() != root) counts.clear();
  if (kind == comm::Kind::gather_varying) {
    comm::gather_varying(comm, own, all, counts, root, options);
    if (comm.rank() == root) require_same(all, wanted, "gather_varying");
  } else {
    comm::scatter_varying(comm, wanted, counts, part, root, options);
    require_same(part, own, "scatter_varying");
  }
}

void call_all_to_all(Comm& comm, std::size_t count, const CollectiveOptions& options) {
  const auto value = [&](int from, int to, std::size_t i) {
    return from * 1'000'000 + to * 10'000 + static_cast<std::int32_t>(i % 10'000);
  };
  std::vector<std::int32_t> out, wanted;
  for (int rank = 0; rank < comm.size(); ++rank) {
    for (std::size_t i = 0; i < count; ++i) {
      out.push_back(value(comm.rank(), rank, i));
      wanted.push_back(value(rank, comm.rank(), i));
    }
  }
  std::vector<std::int32_t> in(out.size(), -1);
  comm::all_to_all(comm, out, in, options);
  require_same(in, wanted, "all_to_all");
}

void on_groups(Comm& world, const std::function<void(Comm&)>& f) {
  f(world);
  if (world.size() == 1) return;
  if (world.size() > 3) {
    auto half = world.split(world.rank() % 2);
    f(*half);
  }
  auto most = world.split(world.rank() + 1 < world.size() ? 0 : -1, -world.rank());
  if (most) f(*most);
  auto alone = world.split(world.rank());
  f(*alone);
}

namespace {

std::vector<std::size_t> counts_of(const Settings& settings) {
  std::vector<std::size_t> counts{0, 1, 2, 6, 7, 12, 13, 100, 1'000, 1'025};
  if (!settings.quick) counts.insert(counts.end(), {5'000, 16'385, 70'001});
  return counts;
}

void barriers(Comm& world, const Settings& settings) {
  on_groups(world, [&](Comm& comm) {
    for (int i = 0; i < (settings.quick ? 5 : 20); ++i) call_barrier(comm, {});
    for (int i = 0; i < (settings.quick ? 100 : 1'000); ++i) comm::barrier(comm);
  });
}

void every_root(Comm& world, const Settings& settings) {
  on_groups(world, [&](Comm& comm) {
    for (const std::size_t count : counts_of(settings)) {
      for (int root = 0; root < comm.size(); ++root) {
        call_broadcast(comm, count * 4, root, {});
        call_reduce(comm, count, root, {});
        for (const Layout layout : kLayouts) {
          call_scatter(comm, count, root, layout, {});
          call_gather(comm, count, root, layout, {});
        }
        call_varying(comm, comm::Kind::gather_varying, count, root, {});
        call_varying(comm, comm::Kind::scatter_varying, count, root, {});
      }
    }
  });
}

void to_all(Comm& world, const Settings& settings) {
  on_groups(world, [&](Comm& comm) {
    for (const std::size_t count : counts_of(settings)) {
      call_all_reduce(comm, count, {});
      for (const Layout layout : kLayouts) call_all_gather(comm, count, layout, {});
      call_all_to_all(comm, count / static_cast<std::size_t>(comm.size()), {});
      call_scan(comm, comm::Kind::scan, count, {});
      call_scan(comm, comm::Kind::exscan, count, {});
      call_reduce_scatter(comm, count / static_cast<std::size_t>(comm.size()), {});
      call_varying(comm, comm::Kind::all_gather_varying, count, 1, {});
    }
  });
}

void broadcast_around_borders(Comm& world, const Settings& settings) {
  for (const std::size_t size : sizes_around_borders(settings)) {
    call_broadcast(world, size, world.size() - 1, {});
  }
}

void every_number_type(Comm& world, const Settings&) {
  on_groups(world, [](Comm& comm) {
    for (const std::size_t count : {1, 3, 50}) {
      all_reduce_of<std::int8_t>(comm, count, {});
      all_reduce_of<std::uint8_t>(comm, count, {});
      all_reduce_of<std::int16_t>(comm, count, {});
      all_reduce_of<std::uint16_t>(comm, count, {});
      all_reduce_of<std::uint32_t>(comm, count, {});
      all_reduce_of<std::int64_t>(comm, count, {});
      all_reduce_of<std::uint64_t>(comm, count, {});
      all_reduce_of<float>(comm, count, {});
      all_reduce_of<long double>(comm, count, {});
    }
    require(comm::all_reduce(comm, true, Operation::sum), "a sum of true is not true");
    require(comm::all_reduce(comm, comm.rank() == 0, Operation::max), "no rank's true was found");
    require(comm::all_reduce(comm, comm.rank() != 0, Operation::min) == false,
            "rank 0's false was not found");
  });
}

// The bits of all ranks, compared on rank 0.
void require_same_bits(Comm& comm, const std::vector<double>& values, std::string_view what) {
  if (comm.rank() != 0) return comm.send(0, values, 1);
  for (int rank = 1; rank < comm.size(); ++rank) {
    const auto others = comm.recv_view<double>(rank, 1);
    for (std::size_t i = 0; i < values.size(); ++i) {
      require(std::bit_cast<std::uint64_t>(values[i]) == std::bit_cast<std::uint64_t>(others[i]),
              "{}: element {} has other bits on rank {}: {} and {}", what, i, rank, values[i],
              others[i]);
    }
  }
}

void same_bits_on_all_ranks(Comm& world, const Settings& settings) {
  std::mt19937_64 random(settings.seed + static_cast<std::uint64_t>(world.rank()));
  std::uniform_real_distribution<double> exponent(-300, 300), digits(-1, 1);
  on_groups(world, [&](Comm& comm) {
    for (const std::size_t count : {1, 5, 6, 7, 513, 9'000}) {
      std::vector<double> own(count);
      for (double& value : own)
        value = std::ldexp(digits(random), static_cast<int>(exponent(random)));
      own[0] = comm.rank() % 2 == 0 ? 0.0 : -0.0;
      for (const Operation operation : kOperations) {
        std::vector<double> first = own, second = own;
        comm::all_reduce(comm, first, operation);
        comm::all_reduce(comm, second, operation);
        const std::string what =
            fmt::format("operation {} of {} values", static_cast<int>(operation), count);
        require_same_bits(comm, first, what);
        require(std::ranges::equal(first, second,
                                   [](double a, double b) {
                                     return std::bit_cast<std::uint64_t>(a) ==
                                            std::bit_cast<std::uint64_t>(b);
                                   }),
                "{}: the same call gave other bits", what);
      }
    }
  });
}

// Of values so different in size that the order of addition shows.
void reproducible_sums(Comm& world, const Settings& settings) {
  const auto value = [&](int rank, std::size_t i) {
    std::mt19937_64 random(settings.seed + 1000 * static_cast<std::uint64_t>(rank) + i);
    return std::ldexp(static_cast<double>(random()) - 9e18, static_cast<int>(random() % 40));
  };
  on_groups(world, [&](Comm& comm) {
    for (const std::size_t count : {1, 5, 7, 600, 9'000}) {
      std::vector<double> values(count), wanted(count);
      for (std::size_t i = 0; i < count; ++i) {
        values[i] = value(comm.rank(), i);
        wanted[i] = value(0, i);
        for (int rank = 1; rank < comm.size(); ++rank) wanted[i] += value(rank, i);
      }
      comm::all_reduce(comm, values, Operation::sum, {.reproducible = true});
      const auto same = [](double a, double b) {
        return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
      };
      require(std::ranges::equal(values, wanted, same),
              "a reproducible sum of {} values does not take the ranks in order", count);
    }
  });
}

// Wherever it is, and whoever does the reduction.
void nan_loses(Comm& world, const Settings&) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  on_groups(world, [](Comm& comm) {
    for (int with = 0; with < comm.size(); ++with) {
      for (const std::size_t count : {1, 7, 2'000}) {
        const bool mine = comm.rank() == with && comm.size() > 1;
        std::vector<double> largest(count, mine ? kNaN : -3.0), smallest = largest;
        std::vector<float> only(count, comm.rank() == with ? 2.5f : std::nanf(""));
        comm::all_reduce(comm, largest, Operation::max);
        comm::all_reduce(comm, smallest, Operation::min);
        comm::all_reduce(comm, only, Operation::max);
        require(largest.back() == -3.0 && smallest.back() == -3.0 && only.back() == 2.5f,
                "with a NaN on rank {}: max {}, min {}, of one number {}", with, largest.back(),
                smallest.back(), only.back());
      }
    }
  });
}

struct Affine {
  std::uint32_t factor, summand;
};

// Functions x -> factor x + summand, whose composition does not commute.
void operations_of_users(Comm& world, const Settings&) {
  const auto then = [](const Affine& first, const Affine& second) {
    return Affine{first.factor * second.factor, first.summand * second.factor + second.summand};
  };
  const auto of_rank = [](int rank, std::size_t i) {
    return Affine{static_cast<std::uint32_t>(2 * rank + 3), static_cast<std::uint32_t>(i) + 1};
  };
  on_groups(world, [&](Comm& comm) {
    for (const std::size_t count : {1, 6, 7, 900}) {
      std::vector<Affine> values(count);
      for (std::size_t i = 0; i < count; ++i) values[i] = of_rank(comm.rank(), i);
      auto before = values;
      comm::all_reduce(comm, values, then);
      comm::scan(comm, before, then);
      for (std::size_t i = 0; i < count; ++i) {
        Affine all = of_rank(0, i), own = all;
        for (int rank = 1; rank < comm.size(); ++rank) {
          all = then(all, of_rank(rank, i));
          if (rank == comm.rank()) own = all;
        }
        require(values[i].factor == all.factor && values[i].summand == all.summand,
                "all_reduce by a function: element {} of {} is wrong", i, count);
        require(before[i].factor == own.factor && before[i].summand == own.summand,
                "scan by a function: element {} of {} is wrong", i, count);
      }
    }
  });
}

void located_values(Comm& world, const Settings&) {
  on_groups(world, [](Comm& comm) {
    const int rank = comm.rank(), size = comm.size();
    auto best = comm::all_reduce_max_loc(comm, rank * 2.5, 100 + rank);
    require(best.value == (size - 1) * 2.5 && best.rank == size - 1 && best.index == 99 + size,
            "the largest is {} of rank {}, index {}", best.value, best.rank, best.index);
    best = comm::all_reduce_min_loc(comm, -rank * 2.5, rank);
    require(best.rank == size - 1, "the smallest is of rank {}", best.rank);
    const auto tie = comm::all_reduce_max_loc(comm, rank == 0 ? 6 : 7, rank);
    require(tie.rank == std::min(1, size - 1), "of equal ones rank {}'s was taken", tie.rank);
    const auto same = comm::all_reduce_min_loc(comm, 7L, rank * 10);
    require(same.rank == 0 && same.index == 0, "of equal ones rank {}'s was taken", same.rank);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    best = comm::all_reduce_max_loc(comm, rank == size / 2 ? -5.0 : nan, rank);
    require(best.value == -5.0 && best.rank == size / 2, "a NaN of rank {} won", best.rank);
  });
}

// Calls follow each other without a pause, so that fast ranks are in the next but one.
void in_quick_succession(Comm& world, const Settings& settings) {
  std::mt19937_64 same(settings.seed);
  const auto ranks = static_cast<std::uint64_t>(world.size());
  for (int i = 0; i < (settings.quick ? 150 : 1'000); ++i) {
    const int root = static_cast<int>(same() % ranks);
    const std::size_t count = same() % 2 == 0 ? same() % 10 : same() % 3'000;
    const Layout layout = kLayouts[same() % 2];
    switch (same() % 8) {
      case 0:
        comm::barrier(world);
        break;
      case 1:
        call_broadcast(world, count, root, {});
        break;
      case 2:
        call_reduce(world, count, root, {});
        break;
      case 3:
        call_all_reduce(world, count, {});
        break;
      case 4:
        call_scatter(world, count, root, layout, {});
        break;
      case 5:
        call_gather(world, count, root, layout, {});
        break;
      case 6:
        call_all_gather(world, count, layout, {});
        break;
      default:
        call_all_to_all(world, count / ranks, {});
        break;
    }
  }
}

// Messages with every tag of the user's do not get into collectives, and the other way round.
void beside_messages(Comm& world, const Settings&) {
  Bytes in(3'000);
  auto posted = world.irecv(comm::any_source, in, comm::any_tag);
  for (int i = 0; i < 20; ++i) {
    call_all_reduce(world, 10, {});
    call_broadcast(world, 10'000, i % world.size(), {});
    require(!world.probe(comm::any_source, comm::any_tag), "probe sees a collective's message");
    require(!posted.test(), "a receive took a collective's message");
  }
  comm::barrier(world);
  const Bytes out = pattern(3'000, 11);
  auto sent = world.isend(next(world), out, 12);
  call_all_gather(world, 2'000, Layout::cyclic, {});
  posted.wait();
  sent.wait();
  require_pattern(in, 3'000, 11, "a message beside collectives");
}

constexpr std::array kChecks{
    Check{"collectives.barriers", barriers},
    Check{"collectives.every_root", every_root},
    Check{"collectives.to_all", to_all},
    Check{"collectives.broadcast_around_borders", broadcast_around_borders},
    Check{"collectives.every_number_type", every_number_type},
    Check{"collectives.same_bits_on_all_ranks", same_bits_on_all_ranks},
    Check{"collectives.reproducible_sums", reproducible_sums},
    Check{"collectives.nan_loses", nan_loses},
    Check{"collectives.operations_of_users", operations_of_users},
    Check{"collectives.located_values", located_values},
    Check{"collectives.in_quick_succession", in_quick_succession},
    Check{"collectives.beside_messages", beside_messages},
};

}  // namespace

std::span<const Check> collective_checks() { return kChecks; }

}  // namespace tabane::conformance
