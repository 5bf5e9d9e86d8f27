#include "tabane/comm/transport/mpi/operations.h"

#include <sched.h>

#include <array>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

namespace tabane::comm::mpi {
namespace {

struct KnownType {
  TypeCode code;
  MPI_Datatype type;
};
struct KnownOperation {
  Operation operation;
  MPI_Op op;
};

// Without uint8: a bool looks the same, and adds differently.
const std::array<KnownType, 10>& known_types() {
  static const std::array<KnownType, 10> all{{{type_code<std::int8_t>(), MPI_INT8_T},
                                              {type_code<std::int16_t>(), MPI_INT16_T},
                                              {type_code<std::int32_t>(), MPI_INT32_T},
                                              {type_code<std::int64_t>(), MPI_INT64_T},
                                              {type_code<std::uint16_t>(), MPI_UINT16_T},
                                              {type_code<std::uint32_t>(), MPI_UINT32_T},
                                              {type_code<std::uint64_t>(), MPI_UINT64_T},
                                              {type_code<float>(), MPI_FLOAT},
                                              {type_code<double>(), MPI_DOUBLE},
                                              {type_code<long double>(), MPI_LONG_DOUBLE}}};
  return all;
}

const std::array<KnownOperation, 3>& known_operations() {
  static const std::array<KnownOperation, 3> all{
      {{Operation::sum, MPI_SUM}, {Operation::min, MPI_MIN}, {Operation::max, MPI_MAX}}};
  return all;
}

struct Place {
  std::size_t type, operation;
  std::uint64_t bit() const {
    return std::uint64_t{1} << (type * known_operations().size() + operation);
  }
};

bool is_floating(TypeCode code) { return code.code >> 8 == 3; }

// MPI does not say what min and max make of NaN, nor which of 0 and -0 they take.
std::optional<Place> place_of(TypeCode code, Operation operation) {
  if (is_floating(code) && operation != Operation::sum) return std::nullopt;
  for (std::size_t type = 0; type < known_types().size(); ++type) {
    for (std::size_t i = 0; i < known_operations().size(); ++i) {
      if (known_types()[type].code == code && known_operations()[i].operation == operation) {
        return Place{type, i};
      }
    }
  }
  return std::nullopt;
}

// Reductions on their way, and what tells whether they came out right.
struct Trials {
  MPI_Comm comm;
  int rank = 0;
  std::vector<MPI_Request> requests;
  std::vector<std::function<std::uint64_t()>> wrong_bits;
};

template <class T>
std::array<T, 8> edges() {
  using Limits = std::numeric_limits<T>;
  constexpr T kMost = Limits::max(), kLeast = Limits::lowest();
  const T half = kMost / 2;
  return {0, 1, kMost, kMost - 1, kLeast, kLeast + 1, half, static_cast<T>(half + 1)};
}

// Every edge meets every other: rank 0 has the one, rank 1 the other, and further ranks what
// changes nothing.
template <class T>
void try_operation(Trials& trials, Operation operation) {
  constexpr std::size_t kEdges = 8;
  using Values = std::array<T, kEdges * kEdges>;
  const auto numbers = std::make_shared<Values>();
  Values expected, other;
  for (std::size_t i = 0; i < numbers->size(); ++i) {
    const T divisor = operation == Operation::sum ? 2 : 1;  // no overflow
    expected[i] = static_cast<T>(edges<T>()[i / kEdges] / divisor);
    other[i] = static_cast<T>(edges<T>()[i % kEdges] / divisor);
  }
  *numbers = trials.rank == 1 ? other : expected;
  if (trials.rank > 1 && operation == Operation::sum) numbers->fill(0);
  combine_values<T>(operation).apply(reinterpret_cast<std::byte*>(expected.data()),
                                     reinterpret_cast<const std::byte*>(other.data()),
                                     expected.size());
  const Place place = *place_of(type_code<T>(), operation);
  MPI_Iallreduce(MPI_IN_PLACE, numbers->data(), static_cast<int>(numbers->size()),
                 known_types()[place.type].type, known_operations()[place.operation].op,
                 trials.comm, &trials.requests.emplace_back(MPI_REQUEST_NULL));
  trials.wrong_bits.push_back(
      [=] { return *numbers == expected ? std::uint64_t{0} : place.bit(); });
}

template <class... Types>
void try_all(Trials& trials) {
  for (const KnownOperation& known : known_operations()) {
    const auto try_with = [&]<class T>(T /*of this type*/) {
      if (place_of(type_code<T>(), known.operation)) try_operation<T>(trials, known.operation);
    };
    (try_with(Types{}), ...);
  }
}

}  // namespace

Operations::Operations(MPI_Comm comm, bool yields) {
  int ranks = 1;
  Trials trials{.comm = comm};
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &trials.rank);
  if (ranks == 1) return;  // nothing is combined
  try_all<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint16_t, std::uint32_t,
          std::uint64_t, float, double, long double>(trials);
  for (int done = 0; !done;) {
    MPI_Testall(static_cast<int>(trials.requests.size()), trials.requests.data(), &done,
                MPI_STATUSES_IGNORE);
    if (!done && yields) sched_yield();
  }
  std::uint64_t wrong = 0;
  for (const auto& bits : trials.wrong_bits) wrong |= bits();
  std::vector<std::uint64_t> all(static_cast<std::size_t>(ranks));
  MPI_Allgather(&wrong, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, comm);
  for (const std::uint64_t one : all) wrong_ |= one;
}

std::optional<Operations::Native> Operations::find(TypeCode type, Operation operation) const {
  const std::optional<Place> place = place_of(type, operation);
  if (!place || (wrong_ & place->bit()) != 0) return std::nullopt;
  return Native{known_types()[place->type].type, known_operations()[place->operation].op};
}

}  // namespace tabane::comm::mpi
