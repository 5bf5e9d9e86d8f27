// Commands whose work several ranks share, where an MPI launcher has started them.
#pragma once

#include <functional>

namespace tabane::comm {
class Comm;
}

namespace tabane::program {

// Calls rank_0 with the ranks if this process is the first of several, or with null if it is alone,
// and returns what it returns. Calls `other` in the other processes, which say nothing: returns
// 0. A rank that is lost costs nothing once rank_0 has returned; rank_0 says in `lost` that it
// was, if it knows. throws: what rank_0 throws;
// core::UsageError if an MPI launcher has started this process and MPI cannot be used.
int on_ranks(const std::function<int(comm::Comm* ranks, bool& lost)>& rank_0,
             const std::function<void(comm::Comm& ranks)>& other);

}  // namespace tabane::program
