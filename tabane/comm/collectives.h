// Operations that all ranks of a group call together: in the same order, with the same sizes,
// types, roots and options. Rules choose the algorithm (see collective/choice.h) unless it is
// named. throws, all: as Comm; core::UsageError if the root does not exist, the sizes do not fit
// each other, or the named algorithm does not exist or cannot serve this group; MessageError naming
// both calls if ranks are in different ones; some such mistakes pass unnoticed, see
// Comm::check_collectives(). What a call was to write holds nothing of use if it throws: values may
// be combined with those of some ranks. If it throws on some ranks only, or because their calls
// differ, do not use the group for collectives again, but one that is split from it.
#pragma once

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "tabane/comm/collective/group.h"
#include "tabane/comm/collectives-inl.h"  // how they reach the algorithms
#include "tabane/comm/comm.h"
#include "tabane/comm/operation.h"

namespace tabane::comm {

// Returns when all ranks have called it.
void barrier(Comm& comm, const CollectiveOptions& options = {});

// Copies the root's values to all ranks.
template <WritableRange R>
void broadcast(Comm& comm, R&& values, int root, const CollectiveOptions& options = {}) {
  Call call = internal::call_in_place(Kind::broadcast, root, internal::span_of(values));
  run(comm.group(), call, options.algorithm);
}
template <SendableValue T>
void broadcast(Comm& comm, T& value, int root, const CollectiveOptions& options = {}) {
  broadcast(comm, std::span(&value, 1), root, options);
}

// --- reductions ---
//
// They combine the ranks' values element by element. By: an Operation, of numbers, or a function
// T(T, T) on any sendable T, which must be associative and need not be commutative: lower ranks'
// values come first. How the values are grouped depends on the algorithm; which one the rules
// choose depends on size, ranks and transport, on whether there are more ranks than PUs, and on
// whether a group that was split off has got shared memory. (For an all_reduce of up to 16 ranks
// that share memory, the built-in rules always take the ranks in order.) So the same call on the
// same machine gives the same bits each time, but MPI's own collectives promise less, and other
// machines may group floating-point sums differently: see CollectiveOptions::reproducible.

template <class By, class T>
concept Reduces = std::is_same_v<By, Operation> || Combines<By, T>;

// In place; all ranks get the result, with the same bits.
template <WritableRange R, Reduces<std::ranges::range_value_t<R>> By>
void all_reduce(Comm& comm, R&& values, By by, const CollectiveOptions& options = {}) {
  internal::reduce(comm, Kind::all_reduce, internal::span_of(values), by, 0, options);
}
template <SendableValue T, Reduces<T> By>
T all_reduce(Comm& comm, T value, By by, const CollectiveOptions& options = {}) {
  internal::reduce(comm, Kind::all_reduce, std::span<T>(&value, 1), by, 0, options);
  return value;
}

// In place on the root; the others' values are only read.
template <WritableRange R, Reduces<std::ranges::range_value_t<R>> By>
void reduce(Comm& comm, R&& values, By by, int root, const CollectiveOptions& options = {}) {
  internal::reduce(comm, Kind::reduce, internal::span_of(values), by, root, options);
}
// Puts the result into `result` on the root; on other ranks that is unused and possibly empty.
template <SendableRange In, WritableRange Out, Reduces<std::ranges::range_value_t<Out>> By>
void reduce(Comm& comm, const In& values, Out&& result, By by, int root,
            const CollectiveOptions& options = {}) {
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
// Returns the result on the root, nothing elsewhere.
template <SendableValue T, Reduces<T> By>
std::optional<T> reduce(Comm& comm, T value, By by, int root,
                        const CollectiveOptions& options = {}) {
  internal::reduce(comm, Kind::reduce, std::span<T>(&value, 1), by, root, options);
  if (comm.rank() != root) return {};
  return value;
}

// Returns the largest or smallest value, the rank that had it and the index that rank gave; of
// equal values the lowest rank's.
template <Number T>
Located<T> all_reduce_max_loc(Comm& comm, T value, std::int64_t index = 0,
                              const CollectiveOptions& options = {}) {
  return internal::locate(comm, value, index, Operation::max_loc, options);
}
template <Number T>
Located<T> all_reduce_min_loc(Comm& comm, T value, std::int64_t index = 0,
                              const CollectiveOptions& options = {}) {
  return internal::locate(comm, value, index, Operation::min_loc, options);
}
// The same for each element. indices: as many as values, or none: then an element's place.
template <SendableRange R>
std::vector<Located<std::ranges::range_value_t<R>>> all_reduce_max_loc(
    Comm& comm, const R& values, std::span<const std::int64_t> indices = {},
    const CollectiveOptions& options = {}) {
  return internal::locate_each(comm, values, indices, Operation::max_loc, options);
}
template <SendableRange R>
std::vector<Located<std::ranges::range_value_t<R>>> all_reduce_min_loc(
    Comm& comm, const R& values, std::span<const std::int64_t> indices = {},
    const CollectiveOptions& options = {}) {
  return internal::locate_each(comm, values, indices, Operation::min_loc, options);
}

// In place: rank r gets the values of ranks 0 … r combined; exscan: of ranks 0 … r - 1. There rank
// 0 gets what leaves every value as it is (0 for sum, bit_or and bit_xor, 1 for product, the
// smallest number for max …); with a function of yours, rank 0 keeps its values.
template <WritableRange R, Reduces<std::ranges::range_value_t<R>> By>
void scan(Comm& comm, R&& values, By by, const CollectiveOptions& options = {}) {
  internal::reduce(comm, Kind::scan, internal::span_of(values), by, 0, options);
}
template <SendableValue T, Reduces<T> By>
T scan(Comm& comm, T value, By by, const CollectiveOptions& options = {}) {
  internal::reduce(comm, Kind::scan, std::span<T>(&value, 1), by, 0, options);
  return value;
}
template <WritableRange R, Reduces<std::ranges::range_value_t<R>> By>
void exscan(Comm& comm, R&& values, By by, const CollectiveOptions& options = {}) {
  internal::exscan(comm, internal::span_of(values), by, options);
}
template <SendableValue T, Reduces<T> By>
T exscan(Comm& comm, T value, By by, const CollectiveOptions& options = {}) {
  internal::exscan(comm, std::span<T>(&value, 1), by, options);
  return value;
}

// Combines the ranks' `values`, size() equal blocks, and gives rank r block r of the result.
template <SendableRange In, WritableRange Out, Reduces<std::ranges::range_value_t<Out>> By>
void reduce_scatter(Comm& comm, const In& values, Out&& block, By by,
                    const CollectiveOptions& options = {}) {
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

// --- parts of one size ---

// scatter() cuts the root's `all` into parts, one per rank; gather() puts the parts together there.
// all: size() times as large as part; on other ranks unused and possibly empty. layout: the same on
// all ranks, as everything else that says what is done.
template <SendableRange All, WritableRange Part>
void scatter(Comm& comm, const All& all, Part&& part, int root, Layout layout = Layout::block,
             const CollectiveOptions& options = {}) {
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
void gather(Comm& comm, const Part& part, All&& all, int root, Layout layout = Layout::block,
            const CollectiveOptions& options = {}) {
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
// As gather(), but all ranks get `all`.
template <SendableRange Part, WritableRange All>
void all_gather(Comm& comm, const Part& part, All&& all, Layout layout = Layout::block,
                const CollectiveOptions& options = {}) {
  using T = internal::SharedValue<All, Part>;
  Call call = internal::call_of<T>(Kind::all_gather, 0, std::ranges::size(part));
  internal::require_parts(call.kind, std::ranges::size(all), std::ranges::size(part), comm.size());
  call.layout = layout;
  call.in = internal::bytes_of(part);
  call.out = internal::writable_bytes_of(all);
  run(comm.group(), call, options.algorithm);
}
// Of one value each: returns all ranks' by rank; gather() on other ranks than the root: nothing.
template <SendableValue T>
std::vector<T> gather(Comm& comm, const T& value, int root, const CollectiveOptions& options = {}) {
  std::vector<T> all(comm.rank() == root ? static_cast<std::size_t>(comm.size()) : 0);
  gather(comm, std::span(&value, 1), all, root, Layout::block, options);
  return all;
}
template <SendableValue T>
std::vector<T> all_gather(Comm& comm, const T& value, const CollectiveOptions& options = {}) {
  std::vector<T> all(static_cast<std::size_t>(comm.size()));
  all_gather(comm, std::span(&value, 1), all, Layout::block, options);
  return all;
}

// Copies block r of rank s's `out` to block s of rank r's `in`. Both hold size() equal blocks.
template <SendableRange Out, WritableRange In>
void all_to_all(Comm& comm, const Out& out, In&& in, const CollectiveOptions& options = {}) {
  using T = internal::SharedValue<Out, In>;
  const auto p = static_cast<std::size_t>(comm.size());
  Call call = internal::call_of<T>(Kind::all_to_all, 0, std::ranges::size(out) / p);
  internal::require_blocks(call.kind, std::ranges::size(out), std::ranges::size(in), comm.size());
  call.in = internal::bytes_of(out);
  call.out = internal::writable_bytes_of(in);
  run(comm.group(), call, options.algorithm);
}

// --- parts of different sizes ---

// The parts of all ranks, one after the other.
template <class T>
struct Parts {
  std::vector<T> values;
  std::vector<std::size_t> counts;  // elements, by rank
};

// As above, with blocks of counts[r] elements for rank r, which may be 0. counts: only the root's
// are used in gather and scatter; in all_gather all ranks give the same. all: as many elements as
// the counts sum up to.
template <SendableRange Part, WritableRange All>
void gather_varying(Comm& comm, const Part& part, All&& all, std::span<const std::size_t> counts,
                    int root, const CollectiveOptions& options = {}) {
  using T = internal::SharedValue<All, Part>;
  Call call = internal::call_of<T>(Kind::gather_varying, root, 1);
  std::vector<std::size_t> part_bytes;
  call.in = internal::bytes_of(part);
  if (comm.rank() == root) {
    part_bytes = internal::bytes_of_parts(call.kind, std::ranges::size(all), counts,
                                          {root, comm.size(), std::ranges::size(part), sizeof(T)});
    call.out = internal::writable_bytes_of(all);
    call.part_bytes = part_bytes;
  }
  run(comm.group(), call, options.algorithm);
}
template <SendableRange Part, WritableRange All>
void all_gather_varying(Comm& comm, const Part& part, All&& all,
                        std::span<const std::size_t> counts,
                        const CollectiveOptions& options = {}) {
  using T = internal::SharedValue<All, Part>;
  Call call = internal::call_of<T>(Kind::all_gather_varying, 0, std::ranges::size(all));
  const std::vector<std::size_t> part_bytes =
      internal::bytes_of_parts(call.kind, std::ranges::size(all), counts,
                               {comm.rank(), comm.size(), std::ranges::size(part), sizeof(T)});
  call.in = internal::bytes_of(part);
  call.out = internal::writable_bytes_of(all);
  call.part_bytes = part_bytes;
  run(comm.group(), call, options.algorithm);
}
template <SendableRange All, WritableRange Part>
void scatter_varying(Comm& comm, const All& all, std::span<const std::size_t> counts, Part&& part,
                     int root, const CollectiveOptions& options = {}) {
  using T = internal::SharedValue<All, Part>;
  Call call = internal::call_of<T>(Kind::scatter_varying, root, 1);
  std::vector<std::size_t> part_bytes;
  call.out = internal::writable_bytes_of(part);
  if (comm.rank() == root) {
    part_bytes = internal::bytes_of_parts(call.kind, std::ranges::size(all), counts,
                                          {root, comm.size(), std::ranges::size(part), sizeof(T)});
    call.in = internal::bytes_of(all);
    call.part_bytes = part_bytes;
  }
  run(comm.group(), call, options.algorithm);
}
// The same where ranks do not know each other's counts. gather_varying() returns no values and no
// counts on other ranks than the root. cost: a gather, all-gather or scatter of the counts more.
template <SendableRange Part>
Parts<std::ranges::range_value_t<Part>> gather_varying(Comm& comm, const Part& part, int root,
                                                       const CollectiveOptions& options = {}) {
  Parts<internal::Value<Part>> all;
  all.counts = gather(comm, std::ranges::size(part), root);
  all.values.resize(std::accumulate(all.counts.begin(), all.counts.end(), std::size_t{0}));
  gather_varying(comm, part, all.values, all.counts, root, options);
  return all;
}
template <SendableRange Part>
Parts<std::ranges::range_value_t<Part>> all_gather_varying(Comm& comm, const Part& part,
                                                           const CollectiveOptions& options = {}) {
  Parts<internal::Value<Part>> all;
  all.counts = all_gather(comm, std::ranges::size(part));
  all.values.resize(std::accumulate(all.counts.begin(), all.counts.end(), std::size_t{0}));
  all_gather_varying(comm, part, all.values, all.counts, options);
  return all;
}
template <SendableRange All>
std::vector<std::ranges::range_value_t<All>> scatter_varying(
    Comm& comm, const All& all, std::span<const std::size_t> counts, int root,
    const CollectiveOptions& options = {}) {
  std::array<std::size_t, 1> count{};
  scatter(comm, counts, count, root);
  std::vector<internal::Value<All>> part(count[0]);
  scatter_varying(comm, all, counts, part, root, options);
  return part;
}

// --- collectives that begin at once and become complete while the rank does something else ---
//
//   Request sum = iall_reduce(comm, values, Operation::sum);
//   for (Tile& tile : tiles) { work_on(tile); sum.test(); }
//   sum.wait();
//
// A rank makes progress only in calls: in test() and wait() of any request, and in every other call
// that waits. So long work should test() now and then. Several may be under way at once. All ranks
// of a group begin its collectives, blocking or not, in the same order, and a blocking one on one
// rank never matches a non-blocking one on another. Do not touch or destroy the values before the
// request is complete. wait_any() and wait_all() take these requests together with those of
// messages; ignore what wait() returns for a collective. throws: core::UsageError as the blocking
// ones; test() and wait(): as the blocking ones.

// Complete when all ranks have called it.
Request ibarrier(Comm& comm);

// Copies the root's values to all ranks.
template <WritableRange R>
requires LastingRange<R> Request ibroadcast(Comm& comm, R&& values, int root) {
  Call call = internal::call_in_place(Kind::broadcast, root, internal::span_of(values));
  return internal::begin(comm, call);
}

// Combines the ranks' values element by element, in place and in the order of ranks,
// ((v0 v1) v2) v3: all ranks get the same bits, whatever the transport, if the number of ranks is
// the same. operation: a named one, not a function.
template <WritableRange R>
requires LastingRange<R> Request iall_reduce(Comm& comm, R&& values, Operation operation) {
  const Combine combine = combine_values<internal::Value<R>>(operation);
  Call call = internal::call_in_place(Kind::all_reduce, 0, internal::span_of(values));
  call.combine = &combine;
  return internal::begin(comm, call);
}

// --- memory ---

// Returns how many bytes this machine can still give to all its ranks together; infinite if that is
// not known.
double usable_memory();

// Returns how many bytes all ranks together may take if each takes as much as every other: the
// ranks of a machine share its memory, and the machine that has least for a rank limits all.
// Infinite if no machine knows. All ranks call it; the result is the same on all.
double usable_memory_of_all(Comm& comm);

}  // namespace tabane::comm
