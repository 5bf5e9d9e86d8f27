// How the functions of collectives.h reach the algorithms, which do not know their types.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "tabane/comm/collective/group.h"
#include "tabane/comm/comm.h"
#include "tabane/comm/operation.h"

namespace tabane::comm::internal {

template <class R>
using Value = std::ranges::range_value_t<R>;

// The elements of two ranges that have the same ones.
template <class A, class B>
struct OneValue {
  static_assert(std::is_same_v<Value<A>, Value<B>>, "both ranges must have the same element type");
  using Type = Value<A>;
};
template <class A, class B>
using SharedValue = typename OneValue<A, B>::Type;

template <class R>
auto span_of(R& values) {
  return std::span(std::ranges::data(values), std::ranges::size(values));
}

template <class T>
Call call_of(Kind kind, int root, std::size_t elements) {
  return {.kind = kind,
          .root = root,
          .element = {type_code<T>(), sizeof(T)},
          .bytes = elements * sizeof(T)};
}
template <class T>
Call call_in_place(Kind kind, int root, std::span<T> values) {
  Call call = call_of<T>(kind, root, values.size());
  call.values = std::as_writable_bytes(values);
  return call;
}

// throws: core::UsageError unless there are `ranks` parts in all.
void require_parts(Kind kind, std::size_t all, std::size_t part, int ranks);
// throws: core::UsageError unless both are of `ranks` equal blocks.
void require_blocks(Kind kind, std::size_t out, std::size_t in, int ranks);
// throws: core::UsageError unless they are as many.
void require_result(std::size_t in, std::size_t out);
// throws: core::UsageError unless they are as many, or there are no indices.
void require_indices(std::size_t values, std::size_t indices);

// A rank's own part, of parts of different sizes.
struct OwnPart {
  int rank, ranks;
  std::size_t count, element_bytes;
};
// throws: core::UsageError unless the counts are as many as there are ranks, sum up to `all`
// elements, and are right for this rank's part. Returns the bytes of each part.
std::vector<std::size_t> bytes_of_parts(Kind kind, std::size_t all,
                                        std::span<const std::size_t> counts, const OwnPart& own);

// Begins a call that does not block.
Request begin(Comm& comm, Call call);

// by: outlives what is returned.
template <class T, class By>
Combine combine_of(const By& by) {
  if constexpr (std::is_same_v<By, Operation>) {
    return combine_values<T>(by);
  } else {
    return combine_by<T>(by);
  }
}

// What leaves every value as it is. of: an operation of values.
template <class T>
T neutral(Operation of) {
  using Limits = std::numeric_limits<T>;
  const bool is_endless = Limits::has_infinity;
  switch (of) {
    case Operation::min:
      return is_endless ? Limits::infinity() : Limits::max();
    case Operation::max:
      return is_endless ? static_cast<T>(-Limits::infinity()) : Limits::lowest();
    case Operation::product:
      return T{1};
    case Operation::bit_and:
      if constexpr (std::is_integral_v<T>) return static_cast<T>(~T{0});
      [[fallthrough]];
    default:
      return T{0};
  }
}

template <class T, class By>
void reduce(Comm& comm, Kind kind, std::span<T> values, const By& by, int root,
            const CollectiveOptions& options) {
  const Combine combine = combine_of<T>(by);
  Call call = call_in_place(kind, root, values);
  call.combine = &combine;
  call.reproducible = options.reproducible;
  run(comm.group(), call, options.algorithm);
}

template <class T, class By>
void exscan(Comm& comm, std::span<T> values, const By& by, const CollectiveOptions& options) {
  internal::reduce(comm, Kind::exscan, values, by, 0, options);
  if constexpr (std::is_same_v<By, Operation>) {
    if (comm.rank() == 0) std::ranges::fill(values, neutral<T>(by));
  }
}

// located: as many as values.
template <class T>
void locate(Comm& comm, std::span<const T> values, std::span<const std::int64_t> indices,
            Operation operation, const CollectiveOptions& options, std::span<Located<T>> located) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    // The padding of what is combined is 0, so that all ranks get the same bits.
    std::memset(static_cast<void*>(&located[i]), 0, sizeof(Located<T>));
    located[i].value = values[i];
    located[i].rank = comm.rank();
    located[i].index = indices.empty() ? static_cast<std::int64_t>(i) : indices[i];
  }
  const Combine combine = combine_located<T>(operation);
  Call call = call_in_place(Kind::all_reduce, 0, located);
  call.combine = &combine;
  run(comm.group(), call, options.algorithm);
}

template <class T>
Located<T> locate(Comm& comm, const T& value, std::int64_t index, Operation operation,
                  const CollectiveOptions& options) {
  Located<T> located;
  locate<T>(comm, {&value, 1}, {&index, 1}, operation, options, {&located, 1});
  return located;
}

template <class R>
std::vector<Located<Value<R>>> locate_each(Comm& comm, const R& values,
                                           std::span<const std::int64_t> indices,
                                           Operation operation, const CollectiveOptions& options) {
  require_indices(std::ranges::size(values), indices.size());
  std::vector<Located<Value<R>>> located(std::ranges::size(values));
  locate<Value<R>>(comm, span_of(values), indices, operation, options, located);
  return located;
}

}  // namespace tabane::comm::internal
