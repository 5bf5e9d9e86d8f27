// Operations that all ranks of a group call together: in the same order, with the same sizes,
// types, roots and options. Rules choose the algorithm (see collective/choice.h) unless it is
// named. throws, all: as Comm; core::UsageError if the root does not exist, the sizes do not fit
// each other, or the named algorithm does not exist or cannot serve this group. In debug builds
// (NDEBUG not defined) also MessageError naming both collectives if ranks are in different ones.
// After an error that not all ranks had, the group cannot be used for collectives again.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <type_traits>

#include "tabane/comm/collective/call.h"
#include "tabane/comm/comm.h"
#include "tabane/comm/operation.h"

namespace tabane::comm {

struct CollectiveOptions {
  std::string_view algorithm = {};  // empty: chosen by rules
};

// Returns when all ranks have called it.
void barrier(Comm& comm, const CollectiveOptions& options = {});

// Copies the root's values to all ranks.
template <SendableRange R>
void broadcast(Comm& comm, R&& values, int root, const CollectiveOptions& options = {});
template <Sendable T>
requires(!SendableRange<T>) void broadcast(Comm& comm, T& value, int root,
                                           const CollectiveOptions& options = {});

// Combines the ranks' values element by element, in place. all_reduce() gives all ranks the result,
// with the same bits; after reduce() the root has it, and the others' values are unspecified. The
// order of floating-point sums depends only on algorithm, size and number of ranks, so the same
// call gives the same bits each time.
template <SendableRange R>
void all_reduce(Comm& comm, R&& values, Operation operation, const CollectiveOptions& options = {});
template <class T>
requires std::is_arithmetic_v<T> T all_reduce(Comm& comm, T value, Operation operation,
                                              const CollectiveOptions& options = {});
template <SendableRange R>
void reduce(Comm& comm, R&& values, Operation operation, int root,
            const CollectiveOptions& options = {});

// Returns the largest or smallest value, the rank that had it and that rank's index; of equal
// values the lowest rank's.
template <class T>
Located<T> all_reduce_max_loc(Comm& comm, T value, std::int64_t index = 0,
                              const CollectiveOptions& options = {});
template <class T>
Located<T> all_reduce_min_loc(Comm& comm, T value, std::int64_t index = 0,
                              const CollectiveOptions& options = {});

// scatter() cuts the root's `all` into parts, one per rank; gather() puts the parts together there.
// all: size() times as large as part; on other ranks unused and possibly empty.
template <SendableRange All, SendableRange Part>
void scatter(Comm& comm, const All& all, Part&& part, int root, Layout layout = Layout::block,
             const CollectiveOptions& options = {});
template <SendableRange Part, SendableRange All>
void gather(Comm& comm, const Part& part, All&& all, int root, Layout layout = Layout::block,
            const CollectiveOptions& options = {});
// As gather(), but all ranks get `all`.
template <SendableRange Part, SendableRange All>
void all_gather(Comm& comm, const Part& part, All&& all, Layout layout = Layout::block,
                const CollectiveOptions& options = {});

// Copies block r of rank s's `out` to block s of rank r's `in`. Both hold size() equal blocks.
template <SendableRange Out, SendableRange In>
void all_to_all(Comm& comm, const Out& out, In&& in, const CollectiveOptions& options = {});

// --- how they reach the algorithms, without their types ---

namespace internal {

template <class R>
using Value = std::ranges::range_value_t<R>;

template <class R>
std::span<const std::byte> bytes_of(const R& values) {
  return std::as_bytes(std::span(std::ranges::data(values), std::ranges::size(values)));
}
template <class R>
std::span<std::byte> writable_bytes_of(R& values) {
  return std::as_writable_bytes(std::span(std::ranges::data(values), std::ranges::size(values)));
}

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
// throws: core::UsageError if the operation is min_loc or max_loc.
void require_plain(Operation operation);

// The padding of what is combined is 0, so that all ranks get the same bits.
template <class T>
Located<T> locate(Comm& comm, T value, std::int64_t index, Operation operation,
                  const CollectiveOptions& options) {
  alignas(Located<T>) std::array<std::byte, sizeof(Located<T>)> bytes{};
  auto* const located = reinterpret_cast<Located<T>*>(bytes.data());
  located->value = value;
  located->rank = comm.rank();
  located->index = index;
  const Combine combine = combine_located<T>(operation);
  Call call = call_of<Located<T>>(Kind::all_reduce, 0, 1);
  call.values = bytes;
  call.combine = &combine;
  run(comm.group(), call, options.algorithm);
  return *located;
}

template <class T>
void reduce(Comm& comm, Kind kind, std::span<T> values, Operation operation, int root,
            const CollectiveOptions& options) {
  require_plain(operation);
  const Combine combine = combine_values<T>(operation);
  Call call = call_of<T>(kind, root, values.size());
  call.values = std::as_writable_bytes(values);
  call.combine = &combine;
  run(comm.group(), call, options.algorithm);
}

}  // namespace internal

template <SendableRange R>
void broadcast(Comm& comm, R&& values, int root, const CollectiveOptions& options) {
  Call call =
      internal::call_of<internal::Value<R>>(Kind::broadcast, root, std::ranges::size(values));
  call.values = internal::writable_bytes_of(values);
  run(comm.group(), call, options.algorithm);
}

template <Sendable T>
requires(!SendableRange<T>) void broadcast(Comm& comm, T& value, int root,
                                           const CollectiveOptions& options) {
  broadcast(comm, std::span(&value, 1), root, options);
}

template <SendableRange R>
void all_reduce(Comm& comm, R&& values, Operation operation, const CollectiveOptions& options) {
  internal::reduce(comm, Kind::all_reduce,
                   std::span(std::ranges::data(values), std::ranges::size(values)), operation, 0,
                   options);
}

template <class T>
requires std::is_arithmetic_v<T> T all_reduce(Comm& comm, T value, Operation operation,
                                              const CollectiveOptions& options) {
  internal::reduce(comm, Kind::all_reduce, std::span<T>(&value, 1), operation, 0, options);
  return value;
}

template <SendableRange R>
void reduce(Comm& comm, R&& values, Operation operation, int root,
            const CollectiveOptions& options) {
  internal::reduce(comm, Kind::reduce,
                   std::span(std::ranges::data(values), std::ranges::size(values)), operation, root,
                   options);
}

template <class T>
Located<T> all_reduce_max_loc(Comm& comm, T value, std::int64_t index,
                              const CollectiveOptions& options) {
  return internal::locate(comm, value, index, Operation::max_loc, options);
}

template <class T>
Located<T> all_reduce_min_loc(Comm& comm, T value, std::int64_t index,
                              const CollectiveOptions& options) {
  return internal::locate(comm, value, index, Operation::min_loc, options);
}

template <SendableRange All, SendableRange Part>
void scatter(Comm& comm, const All& all, Part&& part, int root, Layout layout,
             const CollectiveOptions& options) {
  using T = internal::Value<Part>;
  static_assert(std::is_same_v<internal::Value<All>, T>);
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

template <SendableRange Part, SendableRange All>
void gather(Comm& comm, const Part& part, All&& all, int root, Layout layout,
            const CollectiveOptions& options) {
  using T = internal::Value<Part>;
  static_assert(std::is_same_v<internal::Value<All>, T>);
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

template <SendableRange Part, SendableRange All>
void all_gather(Comm& comm, const Part& part, All&& all, Layout layout,
                const CollectiveOptions& options) {
  using T = internal::Value<Part>;
  static_assert(std::is_same_v<internal::Value<All>, T>);
  Call call = internal::call_of<T>(Kind::all_gather, 0, std::ranges::size(part));
  internal::require_parts(call.kind, std::ranges::size(all), std::ranges::size(part), comm.size());
  call.layout = layout;
  call.in = internal::bytes_of(part);
  call.out = internal::writable_bytes_of(all);
  run(comm.group(), call, options.algorithm);
}

template <SendableRange Out, SendableRange In>
void all_to_all(Comm& comm, const Out& out, In&& in, const CollectiveOptions& options) {
  using T = internal::Value<In>;
  static_assert(std::is_same_v<internal::Value<Out>, T>);
  const auto p = static_cast<std::size_t>(comm.size());
  Call call = internal::call_of<T>(Kind::all_to_all, 0, std::ranges::size(out) / p);
  internal::require_blocks(call.kind, std::ranges::size(out), std::ranges::size(in), comm.size());
  call.in = internal::bytes_of(out);
  call.out = internal::writable_bytes_of(in);
  run(comm.group(), call, options.algorithm);
}

}  // namespace tabane::comm
