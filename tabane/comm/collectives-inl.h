// How the functions of collectives.h reach the algorithms, which do not know their types.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "tabane/comm/collective/group.h"
#include "tabane/comm/collectives.h"

namespace tabane::comm {

namespace internal {

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

template <class T>
Call call_of(Kind kind, int root, std::size_t elements) {
  Call call{.kind = kind, .root = root, .element = {type_code<T>(), sizeof(T)}};
  call.bytes = elements * sizeof(T);
  return call;
}

// throws: core::UsageError unless there are `ranks` parts in all.
void require_parts(Kind kind, std::size_t all, std::size_t part, int ranks);
// throws: core::UsageError unless both are of `ranks` equal blocks.
void require_blocks(Kind kind, std::size_t out, std::size_t in, int ranks);
// throws: core::UsageError unless they are as many.
void require_result(std::size_t in, std::size_t out);

// A rank's own part, of parts of different sizes.
struct OwnPart {
  int rank, ranks;
  std::size_t count, element_bytes;
};
// throws: core::UsageError unless the counts are as many as there are ranks, sum up to `all`
// elements, and are right for this rank's part.
void require_counts(Kind kind, std::size_t all, std::span<const std::size_t> part_bytes,
                    const OwnPart& own);
std::vector<std::size_t> bytes_of_parts(std::span<const std::size_t> counts,
                                        std::size_t element_bytes);

// Begins a call that does not block.
Request begin(Comm& comm, Call call);
// throws: core::UsageError if the operation is min_loc or max_loc.
void require_values(Operation operation);

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

// The padding of what is combined is 0, so that all ranks get the same bits.
template <class T>
void locate(Comm& comm, std::span<const T> values, std::span<const std::int64_t> indices,
            Operation operation, const CollectiveOptions& options, std::span<std::byte> bytes) {
  auto* const located = reinterpret_cast<Located<T>*>(bytes.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    located[i].value = values[i];
    located[i].rank = comm.rank();
    located[i].index = indices.empty() ? static_cast<std::int64_t>(i) : indices[i];
  }
  const Combine combine = combine_located<T>(operation);
  Call call = call_of<Located<T>>(Kind::all_reduce, 0, values.size());
  call.values = bytes;
  call.combine = &combine;
  run(comm.group(), call, options.algorithm);
}

template <class T>
Located<T> locate(Comm& comm, T value, std::int64_t index, Operation operation,
                  const CollectiveOptions& options) {
  alignas(Located<T>) std::array<std::byte, sizeof(Located<T>)> bytes{};
  locate(comm, std::span<const T>(&value, 1), {&index, 1}, operation, options, bytes);
  return *reinterpret_cast<const Located<T>*>(bytes.data());
}

// throws: core::UsageError unless they are as many, or there are no indices.
void require_indices(std::size_t values, std::size_t indices);

template <class T>
std::vector<Located<T>> locate(Comm& comm, std::span<const T> values,
                               std::span<const std::int64_t> indices, Operation operation,
                               const CollectiveOptions& options) {
  require_indices(values.size(), indices.size());
  std::vector<Located<T>> located(values.size());
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(located));
  if (!bytes.empty()) std::memset(bytes.data(), 0, bytes.size());
  locate(comm, values, indices, operation, options, bytes);
  return located;
}

template <class T, class By>
void reduce(Comm& comm, Kind kind, std::span<T> values, const By& by, int root,
            const CollectiveOptions& options) {
  const Combine combine = combine_of<T>(by);
  Call call = call_of<T>(kind, root, values.size());
  call.values = std::as_writable_bytes(values);
  call.combine = &combine;
  call.reproducible = options.reproducible;
  run(comm.group(), call, options.algorithm);
}

template <class R>
auto span_of(R& values) {
  return std::span(std::ranges::data(values), std::ranges::size(values));
}

template <class T, class By>
void exscan(Comm& comm, std::span<T> values, const By& by, const CollectiveOptions& options) {
  internal::reduce(comm, Kind::exscan, values, by, 0, options);
  if constexpr (std::is_same_v<By, Operation>) {
    if (comm.rank() == 0) std::ranges::fill(values, neutral<T>(by));
  }
}

}  // namespace internal

template <WritableRange R>
void broadcast(Comm& comm, R&& values, int root, const CollectiveOptions& options) {
  Call call =
      internal::call_of<internal::Value<R>>(Kind::broadcast, root, std::ranges::size(values));
  call.values = internal::writable_bytes_of(values);
  run(comm.group(), call, options.algorithm);
}

template <SendableValue T>
void broadcast(Comm& comm, T& value, int root, const CollectiveOptions& options) {
  broadcast(comm, std::span(&value, 1), root, options);
}

template <WritableRange R, Reduces<std::ranges::range_value_t<R>> By>
void all_reduce(Comm& comm, R&& values, By by, const CollectiveOptions& options) {
  internal::reduce(comm, Kind::all_reduce, internal::span_of(values), by, 0, options);
}

template <SendableValue T, Reduces<T> By>
T all_reduce(Comm& comm, T value, By by, const CollectiveOptions& options) {
  internal::reduce(comm, Kind::all_reduce, std::span<T>(&value, 1), by, 0, options);
  return value;
}

template <WritableRange R, Reduces<std::ranges::range_value_t<R>> By>
void reduce(Comm& comm, R&& values, By by, int root, const CollectiveOptions& options) {
  internal::reduce(comm, Kind::reduce, internal::span_of(values), by, root, options);
}

template <SendableRange In, WritableRange Out, Reduces<std::ranges::range_value_t<Out>> By>
void reduce(Comm& comm, const In& values, Out&& result, By by, int root,
            const CollectiveOptions& options) {
  using T = internal::SharedValue<In, Out>;
  const std::span<const T> in = internal::span_of(values);
  if (comm.rank() == root) {
    internal::require_result(in.size(), std::ranges::size(result));
    std::ranges::copy(in, std::ranges::data(result));
    return reduce(comm, result, by, root, options);
  }
  // Elsewhere a reduction only reads.
  reduce(comm, std::span(const_cast<T*>(in.data()), in.size()), by, root, options);
}

template <SendableValue T, Reduces<T> By>
std::optional<T> reduce(Comm& comm, T value, By by, int root, const CollectiveOptions& options) {
  internal::reduce(comm, Kind::reduce, std::span<T>(&value, 1), by, root, options);
  if (comm.rank() != root) return {};
  return value;
}

template <Number T>
Located<T> all_reduce_max_loc(Comm& comm, T value, std::int64_t index,
                              const CollectiveOptions& options) {
  return internal::locate(comm, value, index, Operation::max_loc, options);
}

template <Number T>
Located<T> all_reduce_min_loc(Comm& comm, T value, std::int64_t index,
                              const CollectiveOptions& options) {
  return internal::locate(comm, value, index, Operation::min_loc, options);
}

template <SendableRange R>
std::vector<Located<std::ranges::range_value_t<R>>> all_reduce_max_loc(
    Comm& comm, const R& values, std::span<const std::int64_t> indices,
    const CollectiveOptions& options) {
  return internal::locate<internal::Value<R>>(comm, internal::span_of(values), indices,
                                              Operation::max_loc, options);
}

template <SendableRange R>
std::vector<Located<std::ranges::range_value_t<R>>> all_reduce_min_loc(
    Comm& comm, const R& values, std::span<const std::int64_t> indices,
    const CollectiveOptions& options) {
  return internal::locate<internal::Value<R>>(comm, internal::span_of(values), indices,
                                              Operation::min_loc, options);
}

template <WritableRange R, Reduces<std::ranges::range_value_t<R>> By>
void scan(Comm& comm, R&& values, By by, const CollectiveOptions& options) {
  internal::reduce(comm, Kind::scan, internal::span_of(values), by, 0, options);
}

template <SendableValue T, Reduces<T> By>
T scan(Comm& comm, T value, By by, const CollectiveOptions& options) {
  internal::reduce(comm, Kind::scan, std::span<T>(&value, 1), by, 0, options);
  return value;
}

template <WritableRange R, Reduces<std::ranges::range_value_t<R>> By>
void exscan(Comm& comm, R&& values, By by, const CollectiveOptions& options) {
  internal::exscan(comm, internal::span_of(values), by, options);
}

template <SendableValue T, Reduces<T> By>
T exscan(Comm& comm, T value, By by, const CollectiveOptions& options) {
  internal::exscan(comm, std::span<T>(&value, 1), by, options);
  return value;
}

template <SendableRange In, WritableRange Out, Reduces<std::ranges::range_value_t<Out>> By>
void reduce_scatter(Comm& comm, const In& values, Out&& block, By by,
                    const CollectiveOptions& options) {
  using T = internal::SharedValue<In, Out>;
  Call call = internal::call_of<T>(Kind::reduce_scatter, 0, std::ranges::size(block));
  internal::require_parts(call.kind, std::ranges::size(values), std::ranges::size(block),
                          comm.size());
  const Combine combine = internal::combine_of<T>(by);
  call.in = internal::bytes_of(values);
  call.out = internal::writable_bytes_of(block);
  call.combine = &combine;
  call.reproducible = options.reproducible;
  run(comm.group(), call, options.algorithm);
}

template <SendableRange All, WritableRange Part>
void scatter(Comm& comm, const All& all, Part&& part, int root, Layout layout,
             const CollectiveOptions& options) {
  using T = internal::SharedValue<All, Part>;
  Call call = internal::call_of<T>(Kind::scatter, root, std::ranges::size(part));
  call.layout = layout;
  call.out = internal::writable_bytes_of(part);
  if (comm.rank() == root) {
    internal::require_parts(call.kind, std::ranges::size(all), std::ranges::size(part),
                            comm.size());
    call.in = internal::bytes_of(all);
  }
  run(comm.group(), call, options.algorithm);
}

template <SendableRange Part, WritableRange All>
void gather(Comm& comm, const Part& part, All&& all, int root, Layout layout,
            const CollectiveOptions& options) {
  using T = internal::SharedValue<All, Part>;
  Call call = internal::call_of<T>(Kind::gather, root, std::ranges::size(part));
  call.layout = layout;
  call.in = internal::bytes_of(part);
  if (comm.rank() == root) {
    internal::require_parts(call.kind, std::ranges::size(all), std::ranges::size(part),
                            comm.size());
    call.out = internal::writable_bytes_of(all);
  }
  run(comm.group(), call, options.algorithm);
}

template <SendableRange Part, WritableRange All>
void all_gather(Comm& comm, const Part& part, All&& all, Layout layout,
                const CollectiveOptions& options) {
  using T = internal::SharedValue<All, Part>;
  Call call = internal::call_of<T>(Kind::all_gather, 0, std::ranges::size(part));
  internal::require_parts(call.kind, std::ranges::size(all), std::ranges::size(part), comm.size());
  call.layout = layout;
  call.in = internal::bytes_of(part);
  call.out = internal::writable_bytes_of(all);
  run(comm.group(), call, options.algorithm);
}

template <SendableValue T>
std::vector<T> gather(Comm& comm, const T& value, int root, const CollectiveOptions& options) {
  std::vector<T> all(comm.rank() == root ? static_cast<std::size_t>(comm.size()) : 0);
  gather(comm, std::span(&value, 1), all, root, Layout::block, options);
  return all;
}

template <SendableValue T>
std::vector<T> all_gather(Comm& comm, const T& value, const CollectiveOptions& options) {
  std::vector<T> all(static_cast<std::size_t>(comm.size()));
  all_gather(comm, std::span(&value, 1), all, Layout::block, options);
  return all;
}

template <SendableRange Out, WritableRange In>
void all_to_all(Comm& comm, const Out& out, In&& in, const CollectiveOptions& options) {
  using T = internal::SharedValue<Out, In>;
  const auto p = static_cast<std::size_t>(comm.size());
  Call call = internal::call_of<T>(Kind::all_to_all, 0, std::ranges::size(out) / p);
  internal::require_blocks(call.kind, std::ranges::size(out), std::ranges::size(in), comm.size());
  call.in = internal::bytes_of(out);
  call.out = internal::writable_bytes_of(in);
  run(comm.group(), call, options.algorithm);
}

template <SendableRange Part, WritableRange All>
void gather_varying(Comm& comm, const Part& part, All&& all, std::span<const std::size_t> counts,
                    int root, const CollectiveOptions& options) {
  using T = internal::SharedValue<All, Part>;
  Call call = internal::call_of<T>(Kind::gather_varying, root, 1);
  std::vector<std::size_t> part_bytes;
  call.in = internal::bytes_of(part);
  if (comm.rank() == root) {
    part_bytes = internal::bytes_of_parts(counts, sizeof(T));
    internal::require_counts(call.kind, std::ranges::size(all), part_bytes,
                             {root, comm.size(), std::ranges::size(part), sizeof(T)});
    call.out = internal::writable_bytes_of(all);
    call.part_bytes = part_bytes;
  }
  run(comm.group(), call, options.algorithm);
}

template <SendableRange Part, WritableRange All>
void all_gather_varying(Comm& comm, const Part& part, All&& all,
                        std::span<const std::size_t> counts, const CollectiveOptions& options) {
  using T = internal::SharedValue<All, Part>;
  Call call = internal::call_of<T>(Kind::all_gather_varying, 0, std::ranges::size(all));
  const std::vector<std::size_t> part_bytes = internal::bytes_of_parts(counts, sizeof(T));
  internal::require_counts(call.kind, std::ranges::size(all), part_bytes,
                           {comm.rank(), comm.size(), std::ranges::size(part), sizeof(T)});
  call.in = internal::bytes_of(part);
  call.out = internal::writable_bytes_of(all);
  call.part_bytes = part_bytes;
  run(comm.group(), call, options.algorithm);
}

template <SendableRange All, WritableRange Part>
void scatter_varying(Comm& comm, const All& all, std::span<const std::size_t> counts, Part&& part,
                     int root, const CollectiveOptions& options) {
  using T = internal::SharedValue<All, Part>;
  Call call = internal::call_of<T>(Kind::scatter_varying, root, 1);
  std::vector<std::size_t> part_bytes;
  call.out = internal::writable_bytes_of(part);
  if (comm.rank() == root) {
    part_bytes = internal::bytes_of_parts(counts, sizeof(T));
    internal::require_counts(call.kind, std::ranges::size(all), part_bytes,
                             {root, comm.size(), std::ranges::size(part), sizeof(T)});
    call.in = internal::bytes_of(all);
    call.part_bytes = part_bytes;
  }
  run(comm.group(), call, options.algorithm);
}

template <SendableRange Part>
Parts<std::ranges::range_value_t<Part>> gather_varying(Comm& comm, const Part& part, int root,
                                                       const CollectiveOptions& options) {
  Parts<internal::Value<Part>> all;
  all.counts = gather(comm, std::ranges::size(part), root);
  all.values.resize(std::accumulate(all.counts.begin(), all.counts.end(), std::size_t{0}));
  gather_varying(comm, part, all.values, all.counts, root, options);
  return all;
}

template <SendableRange Part>
Parts<std::ranges::range_value_t<Part>> all_gather_varying(Comm& comm, const Part& part,
                                                           const CollectiveOptions& options) {
  Parts<internal::Value<Part>> all;
  all.counts = all_gather(comm, std::ranges::size(part));
  all.values.resize(std::accumulate(all.counts.begin(), all.counts.end(), std::size_t{0}));
  all_gather_varying(comm, part, all.values, all.counts, options);
  return all;
}

template <SendableRange All>
std::vector<std::ranges::range_value_t<All>> scatter_varying(Comm& comm, const All& all,
                                                             std::span<const std::size_t> counts,
                                                             int root,
                                                             const CollectiveOptions& options) {
  std::array<std::size_t, 1> count{};
  scatter(comm, counts, count, root);
  std::vector<internal::Value<All>> part(count[0]);
  scatter_varying(comm, all, counts, part, root, options);
  return part;
}

template <WritableRange R>
requires LastingRange<R> Request ibroadcast(Comm& comm, R&& values, int root) {
  Call call =
      internal::call_of<internal::Value<R>>(Kind::broadcast, root, std::ranges::size(values));
  call.values = internal::writable_bytes_of(values);
  return internal::begin(comm, call);
}

template <WritableRange R>
requires LastingRange<R> Request iall_reduce(Comm& comm, R&& values, Operation operation) {
  using T = internal::Value<R>;
  internal::require_values(operation);
  const Combine combine = combine_values<T>(operation);
  Call call = internal::call_of<T>(Kind::all_reduce, 0, std::ranges::size(values));
  call.values = internal::writable_bytes_of(values);
  call.combine = &combine;
  return internal::begin(comm, call);
}

}  // namespace tabane::comm
