// Under an MPI launcher: where MPI libraries have mistakes and limits of their own. Exits with 1,
// and says why, if one is seen.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "tabane/comm/collectives.h"
#include "tabane/comm/launch.h"

namespace tabane::comm {
namespace {

template <class... Values>
void require(bool holds, fmt::format_string<Values...> what, Values&&... values) {
  if (!holds) throw core::Error(fmt::format(what, std::forward<Values>(values)...));
}

// Each rank has another of these.
template <class T>
std::vector<T> numbers_of(int rank) {
  using Limits = std::numeric_limits<T>;
  const std::array<T, 6> all{Limits::max(),    static_cast<T>(Limits::max() / 2 + 1), 0, 1,
                             Limits::lowest(), static_cast<T>(Limits::max() / 2)};
  std::vector<T> own;
  for (int i = 0; i < 6; ++i) own.push_back(all[static_cast<std::size_t>((i + rank) % 6)]);
  return own;
}

template <class T>
void least_and_greatest_of(Comm& comm) {
  std::vector<T> least = numbers_of<T>(0), greatest = least;
  for (int rank = 1; rank < comm.size(); ++rank) {
    const std::vector<T> other = numbers_of<T>(rank);
    for (std::size_t i = 0; i < least.size(); ++i) {
      least[i] = std::min(least[i], other[i]);
      greatest[i] = std::max(greatest[i], other[i]);
    }
  }
  for (const std::string algorithm : {"", "native"}) {
    for (const Operation operation : {Operation::min, Operation::max}) {
      const std::vector<T>& expected = operation == Operation::min ? least : greatest;
      std::vector<T> seen = numbers_of<T>(comm.rank());
      all_reduce(comm, seen, operation, {.algorithm = algorithm});
      require(seen == expected, "all_reduce: {} of {} is wrong",
              operation == Operation::min ? "min" : "max", name_of(type_code<T>()));
      seen = numbers_of<T>(comm.rank());
      reduce(comm, seen, operation, 0, {.algorithm = algorithm});
      require(comm.rank() != 0 || seen == expected, "reduce: {} of {} is wrong",
              operation == Operation::min ? "min" : "max", name_of(type_code<T>()));
    }
  }
}

void least_and_greatest(Comm& comm) {
  least_and_greatest_of<std::int8_t>(comm);
  least_and_greatest_of<std::int16_t>(comm);
  least_and_greatest_of<std::int32_t>(comm);
  least_and_greatest_of<std::int64_t>(comm);
  least_and_greatest_of<std::uint8_t>(comm);
  least_and_greatest_of<std::uint16_t>(comm);
  least_and_greatest_of<std::uint32_t>(comm);
  least_and_greatest_of<std::uint64_t>(comm);
  least_and_greatest_of<float>(comm);
  least_and_greatest_of<double>(comm);
  least_and_greatest_of<long double>(comm);
}

int run_all() {
  try {
    launch({.transport = TransportKind::mpi}, [](Comm& comm) { least_and_greatest(comm); });
  } catch (const std::exception& error) {
    fmt::print(stderr, "corners_test: {}\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace tabane::comm

int main() { return tabane::comm::run_all(); }
