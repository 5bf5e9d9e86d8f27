// Collectives that begin at once and become complete while the rank does something else.
//
//   Request sum = iall_reduce(comm, values, Operation::sum);
//   for (Tile& tile : tiles) { work_on(tile); sum.test(); }
//   sum.wait();
//
// A rank makes progress only in calls: in test() and wait() of any request, and in every other call
// that waits, so long work should test() now and then. Several may be under way at once. All ranks
// of a group begin its collectives, blocking or not, in the same order; one that does not block
// goes with others that do not. The values must neither be used nor end before the request is
// complete. Requests may be mixed with those of messages in wait_any() and wait_all(); what wait()
// returns says nothing here. throws: core::UsageError as the blocking ones; test() and wait():
// what the blocking ones do.
#pragma once

#include "tabane/comm/collectives.h"

namespace tabane::comm {

namespace internal {

Request begin(Comm& comm, const Call& call);
// throws: core::UsageError if the operation is min_loc or max_loc.
void require_values(Operation operation);

}  // namespace internal

// Complete when all ranks have called it.
Request ibarrier(Comm& comm);

// Copies the root's values to all ranks.
template <SendableRange R>
requires(std::is_lvalue_reference_v<R> || std::ranges::borrowed_range<R>) Request
    ibroadcast(Comm& comm, R&& values, int root) {
  Call call =
      internal::call_of<internal::Value<R>>(Kind::broadcast, root, std::ranges::size(values));
  call.values = internal::writable_bytes_of(values);
  return internal::begin(comm, call);
}

// Combines the ranks' values element by element, in place and in the order of ranks,
// ((v0 v1) v2) v3, so that all ranks get the same bits wherever there are as many.
template <SendableRange R>
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
