#include "tabane/comm/nonblocking.h"

#include <fmt/format.h>

#include "tabane/comm/collective/schedule.h"

namespace tabane::comm {

namespace internal {

Request begin(Comm& comm, Call call) {
  require_root(comm.group(), call);
  comm.transport().check_alive();
  call.number = comm.group().next_call();
  return {Schedule::begin(comm.group().shared_from_this(), call), 1, comm.rank()};
}

void require_values(Operation operation) {
  if (operation != Operation::min_loc && operation != Operation::max_loc) return;
  throw core::UsageError(fmt::format("{} is of a value and its place: call all_reduce_{}",
                                     name_of(operation), name_of(operation)));
}

}  // namespace internal

Request ibarrier(Comm& comm) { return internal::begin(comm, Call{.kind = Kind::barrier}); }

}  // namespace tabane::comm
