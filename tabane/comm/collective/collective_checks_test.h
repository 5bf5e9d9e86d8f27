// For tests of collectives: data whose right place can be told, and delays.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <thread>
#include <vector>

#include "tabane/comm/collective/choice.h"
#include "tabane/comm/collectives.h"
#include "tabane/comm/runners_test.h"

namespace tabane::comm {

// Lets a rank be late now and then, differently on each.
class Delays {
 public:
  Delays(int rank, unsigned seed) : random_(seed * 1009 + static_cast<unsigned>(rank)) {}
  void operator()() {
    const auto dice = random_() % 32;
    if (dice == 0) std::this_thread::sleep_for(std::chrono::microseconds(random_() % 200));
    if (dice > 24) std::this_thread::yield();
  }

 private:
  std::minstd_rand random_;
};

// Element `index` of what rank gives in call no. `call`.
template <class T>
T value_of(int rank, std::size_t index, unsigned call) {
  const std::uint64_t x =
      (static_cast<std::uint64_t>(rank) * 1000003 + index) * 2654435761u + call * 97u;
  return static_cast<T>(x >> 7 & 0xff);
}
// first: index of the first one.
template <class T>
std::vector<T> values_of(int rank, std::size_t count, unsigned call, std::size_t first = 0) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = value_of<T>(rank, first + i, call);
  return values;
}

// A position in the array of all for element `index` of a rank's part.
inline std::size_t place_of(Layout layout, int ranks, int rank, std::size_t index,
                            std::size_t part) {
  const auto p = static_cast<std::size_t>(ranks), r = static_cast<std::size_t>(rank);
  return layout == Layout::block ? r * part + index : index * p + r;
}

// Each checks one call of a collective on all ranks; call: differs from that of the last one.
template <class T>
void check_broadcast(Comm& comm, std::string_view algorithm, std::size_t count, int root,
                     unsigned call) {
  std::vector<T> values(count);
  if (comm.rank() == root) values = values_of<T>(root, count, call);
  broadcast(comm, values, root, {algorithm});
  require(values == values_of<T>(root, count, call));
}

template <class T>
void combine_with(std::vector<T>& values, const std::vector<T>& others, Operation operation) {
  combine_values<T>(operation).apply(std::as_writable_bytes(std::span(values)).data(),
                                     std::as_bytes(std::span(others)).data(), values.size());
}

// The values of ranks 0 … ranks - 1 from the first one on, combined in this order.
template <class T>
std::vector<T> combined(Operation operation, int ranks, std::size_t count, unsigned call,
                        std::size_t first = 0) {
  std::vector<T> result = values_of<T>(0, count, call, first);
  for (int rank = 1; rank < ranks; ++rank) {
    combine_with(result, values_of<T>(rank, count, call, first), operation);
  }
  return result;
}

// root: of a reduce; any_source: an all_reduce.
template <class T>
void check_reduce(Comm& comm, std::string_view algorithm, Operation operation, std::size_t count,
                  int root, unsigned call) {
  const std::vector<T> own = values_of<T>(comm.rank(), count, call);
  std::vector<T> values = own;
  if (root == any_source) {
    all_reduce(comm, values, operation, {algorithm});
  } else {
    reduce(comm, values, operation, root, {algorithm});
    if (comm.rank() != root) return require(values == own);
  }
  require(values == combined<T>(operation, comm.size(), count, call));
}

template <class T>
void check_scan(Comm& comm, Kind kind, std::string_view algorithm, Operation operation,
                std::size_t count, unsigned call) {
  std::vector<T> values = values_of<T>(comm.rank(), count, call);
  if (kind == Kind::scan) {
    scan(comm, values, operation, {algorithm});
    return require(values == combined<T>(operation, comm.rank() + 1, count, call));
  }
  exscan(comm, values, operation, {algorithm});
  if (comm.rank() != 0) return require(values == combined<T>(operation, comm.rank(), count, call));
  const std::vector<T> next = values_of<T>(1, count, call);
  combine_with(values, next, operation);
  require(values == next);  // rank 0 has the neutral element
}

template <class T>
void check_reduce_scatter(Comm& comm, std::string_view algorithm, Operation operation,
                          std::size_t count, unsigned call) {
  const std::vector<T> all =
      values_of<T>(comm.rank(), count * static_cast<std::size_t>(comm.size()), call);
  std::vector<T> block(count);
  reduce_scatter(comm, all, block, operation, {algorithm});
  require(block == combined<T>(operation, comm.size(), count, call,
                               count * static_cast<std::size_t>(comm.rank())));
}

// Parts of different sizes, up to `most`; some are empty.
inline std::vector<std::size_t> varying_counts(int ranks, std::size_t most, unsigned call) {
  std::vector<std::size_t> counts;
  for (unsigned rank = 0; rank < static_cast<unsigned>(ranks); ++rank) {
    counts.push_back(most * ((rank + call) % 4) / 3);
  }
  return counts;
}
template <class T>
std::vector<T> varying_parts(const std::vector<std::size_t>& counts, unsigned call) {
  std::vector<T> all;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    const std::vector<T> part = values_of<T>(static_cast<int>(rank), counts[rank], call);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

template <class T>
void check_varying(Comm& comm, Kind kind, std::string_view algorithm, std::size_t most, int root,
                   unsigned call) {
  const auto counts = varying_counts(comm.size(), most, call);
  const std::vector<T> wanted = varying_parts<T>(counts, call);
  const std::size_t count = counts[static_cast<std::size_t>(comm.rank())];
  std::vector<T> part = values_of<T>(comm.rank(), count, call), all(wanted.size());
  if (kind == Kind::all_gather_varying) {
    all_gather_varying(comm, part, all, counts, {algorithm});
    return require(all == wanted);
  }
  const bool is_root = comm.rank() == root;
  if (!is_root) all.clear();
  const std::span<const std::size_t> known = is_root ? std::span(counts) : std::span<std::size_t>();
  if (kind == Kind::gather_varying) {
    gather_varying(comm, part, all, known, root, {algorithm});
    if (is_root) require(all == wanted);
  } else {
    std::ranges::fill(part, T{});
    scatter_varying(comm, is_root ? wanted : all, known, part, root, {algorithm});
    require(part == values_of<T>(comm.rank(), count, call));
  }
}

template <class T>
std::vector<T> all_parts(Layout layout, int ranks, std::size_t part, unsigned call) {
  std::vector<T> all(part * static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < part; ++i) {
      all[place_of(layout, ranks, rank, i, part)] = value_of<T>(rank, i, call);
    }
  }
  return all;
}

template <class T>
void check_scatter(Comm& comm, std::string_view algorithm, std::size_t part, int root,
                   Layout layout, unsigned call) {
  std::vector<T> all, mine(part);
  if (comm.rank() == root) all = all_parts<T>(layout, comm.size(), part, call);
  scatter(comm, all, mine, root, layout, {algorithm});
  require(mine == values_of<T>(comm.rank(), part, call));
}

template <class T>
void check_gather(Comm& comm, std::string_view algorithm, std::size_t part, int root, Layout layout,
                  unsigned call) {
  const std::vector<T> mine = values_of<T>(comm.rank(), part, call);
  std::vector<T> all(comm.rank() == root ? part * static_cast<std::size_t>(comm.size()) : 0);
  gather(comm, mine, all, root, layout, {algorithm});
  if (comm.rank() == root) require(all == all_parts<T>(layout, comm.size(), part, call));
}

template <class T>
void check_all_gather(Comm& comm, std::string_view algorithm, std::size_t part, Layout layout,
                      unsigned call) {
  const std::vector<T> mine = values_of<T>(comm.rank(), part, call);
  std::vector<T> all(part * static_cast<std::size_t>(comm.size()));
  all_gather(comm, mine, all, layout, {algorithm});
  require(all == all_parts<T>(layout, comm.size(), part, call));
}

template <class T>
void check_all_to_all(Comm& comm, std::string_view algorithm, std::size_t block, unsigned call) {
  const int p = comm.size();
  const std::vector<T> out = values_of<T>(comm.rank(), block * static_cast<std::size_t>(p), call);
  std::vector<T> in(out.size());
  all_to_all(comm, out, in, {algorithm});
  const std::size_t mine = static_cast<std::size_t>(comm.rank()) * block;
  for (int rank = 0; rank < p; ++rank) {
    const auto from = std::span(in).subspan(static_cast<std::size_t>(rank) * block, block);
    require(std::ranges::equal(from, values_of<T>(rank, block, call, mine)));
  }
}

// Sums of the values are exact in every type, products only in integers. Native algorithms do not
// take min and max of floating-point numbers.
template <class T>
Operation operation_for(std::string_view algorithm, unsigned number) {
  using enum Operation;
  constexpr std::array kAll{sum, min, max, product, bit_and, bit_or, bit_xor};
  if (std::is_integral_v<T>) return kAll[number % kAll.size()];
  return algorithm == "native" ? sum : kAll[number % 3];
}

// One call of the algorithm; number chooses what the caller does not.
template <class T>
void check_call(Comm& comm, const Algorithm& algorithm, std::size_t count, int root,
                unsigned number) {
  const Layout layout = number % 2 == 0 ? Layout::block : Layout::cyclic;
  const Operation operation = operation_for<T>(algorithm.name, number);
  switch (algorithm.kind) {
    case Kind::barrier:
      return barrier(comm, {algorithm.name});
    case Kind::broadcast:
      return check_broadcast<T>(comm, algorithm.name, count, root, number);
    case Kind::reduce:
      return check_reduce<T>(comm, algorithm.name, operation, count, root, number);
    case Kind::all_reduce:
      return check_reduce<T>(comm, algorithm.name, operation, count, any_source, number);
    case Kind::scatter:
      return check_scatter<T>(comm, algorithm.name, count, root, layout, number);
    case Kind::gather:
      return check_gather<T>(comm, algorithm.name, count, root, layout, number);
    case Kind::all_gather:
      return check_all_gather<T>(comm, algorithm.name, count, layout, number);
    case Kind::all_to_all:
      return check_all_to_all<T>(comm, algorithm.name, count, number);
    case Kind::scan:
    case Kind::exscan:
      return check_scan<T>(comm, algorithm.kind, algorithm.name, operation, count, number);
    case Kind::reduce_scatter:
      return check_reduce_scatter<T>(comm, algorithm.name, operation, count, number);
    case Kind::gather_varying:
    case Kind::scatter_varying:
    case Kind::all_gather_varying:
      return check_varying<T>(comm, algorithm.kind, algorithm.name, count, root, number);
  }
}

// Whether the group can do it: what no rank of it can, is left out. The chosen algorithm, which has
// no name here, always can.
inline bool serves(Comm& comm, const Algorithm& algorithm, std::size_t element_bytes,
                   std::size_t count) {
  const Call call{.kind = algorithm.kind,
                  .element = {{}, element_bytes},
                  .layout = Layout::cyclic,
                  .bytes = count * element_bytes};
  return comm.size() == 1 || algorithm.name.empty() ||
         algorithm.refuses(comm.group(), call) == nullptr;
}

}  // namespace tabane::comm
