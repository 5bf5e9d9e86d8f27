// Collectives that begin at once and become complete while the rank does something else.
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
#pragma once

#include "tabane/comm/collectives.h"

namespace tabane::comm {

namespace internal {

Request begin(Comm& comm, Call call);
// throws: core::UsageError if the operation is min_loc or max_loc.
void require_values(Operation operation);

}  // namespace internal

// Complete when all ranks have called it.
Request ibarrier(Comm& comm);

// Copies the root's values to all ranks.
template <WritableRange R>
requires(std::is_lvalue_reference_v<R> || std::ranges::borrowed_range<R>) Request
    ibroadcast(Comm& comm, R&& values, int root) {
  Call call =
      internal::call_of<internal::Value<R>>(Kind::broadcast, root, std::ranges::size(values));
  call.values = internal::writable_bytes_of(values);
  return internal::begin(comm, call);
}

// Combines the ranks' values element by element, in place and in the order of ranks,
// ((v0 v1) v2) v3: all ranks get the same bits, whatever the transport, if the number of ranks is
// the same. operation: a named one, not a function.
template <WritableRange R>
requires(std::is_lvalue_reference_v<R> || std::ranges::borrowed_range<R>) Request
    iall_reduce(Comm& comm, R&& values, Operation operation) {
  using T = internal::Value<R>;
  internal::require_values(operation);
  const Combine combine = combine_values<T>(operation);
  Call call = internal::call_of<T>(Kind::all_reduce, 0, std::ranges::size(values));
  call.values = internal::writable_bytes_of(values);
  call.combine = &combine;
  return internal::begin(comm, call);
}

}  // namespace tabane::comm
