// One call of a collective each, checked against what it must give. For all algorithms: options
// names one, or none for the chosen one.
#pragma once

#include <functional>

#include "conformance.h"
#include "tabane/comm/collectives.h"

namespace tabane::conformance {

using comm::CollectiveOptions;
using comm::Layout;

void call_barrier(Comm& comm, const CollectiveOptions& options);
// count: elements of a rank; of all_to_all, of a pair.
void call_broadcast(Comm& comm, std::size_t count, int root, const CollectiveOptions& options);
void call_reduce(Comm& comm, std::size_t count, int root, const CollectiveOptions& options);
void call_all_reduce(Comm& comm, std::size_t count, const CollectiveOptions& options);
void call_scatter(Comm& comm, std::size_t count, int root, Layout layout,
                  const CollectiveOptions& options);
void call_gather(Comm& comm, std::size_t count, int root, Layout layout,
                 const CollectiveOptions& options);
void call_all_gather(Comm& comm, std::size_t count, Layout layout,
                     const CollectiveOptions& options);
// kind: scan or exscan.
void call_scan(Comm& comm, comm::Kind kind, std::size_t count, const CollectiveOptions& options);
void call_reduce_scatter(Comm& comm, std::size_t count, const CollectiveOptions& options);
// kind: gather_varying, scatter_varying or all_gather_varying; count: of the largest part.
void call_varying(Comm& comm, comm::Kind kind, std::size_t count, int root,
                  const CollectiveOptions& options);
void call_all_to_all(Comm& comm, std::size_t count, const CollectiveOptions& options);

// Calls f with the world and with groups of other sizes that this rank is in: of the even and the
// odd ranks, of all but the last, and of each alone.
void on_groups(Comm& world, const std::function<void(Comm&)>& f);

}  // namespace tabane::conformance
