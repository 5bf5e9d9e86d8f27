// The algorithms; each one is in the file of its name, with its cost. Only run() calls them, after
// it has checked the call: two ranks or more, at least one byte (except barriers). p: ranks, n:
// bytes per rank.
#pragma once

#include "tabane/comm/collective/call.h"
#include "tabane/comm/collective/group.h"

namespace tabane::comm {

void barrier_flags(Group& group, const Call& call);
void barrier_counter(Group& group, const Call& call);
void barrier_two_level(Group& group, const Call& call);
void barrier_messages(Group& group, const Call& call);

void broadcast_flags(Group& group, const Call& call);
void broadcast_binomial(Group& group, const Call& call);
void broadcast_scatter_all_gather(Group& group, const Call& call);

// Orders of combination: flags, counter, shared, linear, reduce_scatter and pairwise take the ranks
// in order from 0, ((v0 v1) v2) v3; two_level does so within groups, then with the groups; tree and
// recursive_doubling combine neighbours, (v0 v1) (v2 v3), and doubling the 2^k before a rank. All
// keep lower ranks on the left, so operations need not be commutative. No order depends on the
// root.
void reduce_flags(Group& group, const Call& call);
void reduce_shared(Group& group, const Call& call);
void reduce_linear(Group& group, const Call& call);
void reduce_tree(Group& group, const Call& call);

void all_reduce_flags(Group& group, const Call& call);
void all_reduce_counter(Group& group, const Call& call);
void all_reduce_two_level(Group& group, const Call& call);
void all_reduce_shared(Group& group, const Call& call);
void all_reduce_linear(Group& group, const Call& call);
void all_reduce_tree(Group& group, const Call& call);
void all_reduce_recursive_doubling(Group& group, const Call& call);
void all_reduce_reduce_scatter(Group& group, const Call& call);

void scatter_flags(Group& group, const Call& call);
void scatter_read(Group& group, const Call& call);
void scatter_direct(Group& group, const Call& call);
void scatter_polling(Group& group, const Call& call);
void scatter_binomial(Group& group, const Call& call);

void gather_flags(Group& group, const Call& call);
void gather_written(Group& group, const Call& call);
void gather_direct(Group& group, const Call& call);
void gather_polling(Group& group, const Call& call);
void gather_binomial(Group& group, const Call& call);

void all_gather_flags(Group& group, const Call& call);
void all_gather_counter(Group& group, const Call& call);
void all_gather_shared(Group& group, const Call& call);
void all_gather_read(Group& group, const Call& call);
void all_gather_linear(Group& group, const Call& call);
void all_gather_ring(Group& group, const Call& call);
void all_gather_gather_broadcast(Group& group, const Call& call);

void all_to_all_shared(Group& group, const Call& call);
void all_to_all_linear(Group& group, const Call& call);
void all_to_all_pairwise(Group& group, const Call& call);

// Each for scan and exscan.
void scan_flags(Group& group, const Call& call);
void scan_counter(Group& group, const Call& call);
void scan_shared(Group& group, const Call& call);
void scan_linear(Group& group, const Call& call);
void scan_doubling(Group& group, const Call& call);

void reduce_scatter_shared(Group& group, const Call& call);
void reduce_scatter_linear(Group& group, const Call& call);
void reduce_scatter_pairwise(Group& group, const Call& call);

void gather_varying_direct(Group& group, const Call& call);
void scatter_varying_direct(Group& group, const Call& call);
void all_gather_varying_shared(Group& group, const Call& call);
void all_gather_varying_linear(Group& group, const Call& call);
void all_gather_varying_ring(Group& group, const Call& call);

// native.cc: the transport's own. MPI requires that all ranks get the same result of an all_reduce,
// and recommends, no more, that the same call gives the same bits each time.
void barrier_native(Group& group, const Call& call);
void broadcast_native(Group& group, const Call& call);
void reduce_native(Group& group, const Call& call);
void all_reduce_native(Group& group, const Call& call);
void scatter_native(Group& group, const Call& call);
void gather_native(Group& group, const Call& call);
void all_gather_native(Group& group, const Call& call);
void all_to_all_native(Group& group, const Call& call);

}  // namespace tabane::comm
