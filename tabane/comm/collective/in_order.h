// Combining in the order of ranks: ((v0 v1) v2) v3, so that the bits depend on nothing else.
#pragma once

#include <cstddef>
#include <span>

#include "tabane/comm/collective/call.h"
#include "tabane/comm/collective/layout.h"

namespace tabane::comm {

// Adds a rank's values, as many bytes, to what the ranks before it make; from rank 0 on, one after
// the other.
inline void add_in_order(const Combine& combine, std::span<std::byte> sum, int rank,
                         const std::byte* values) {
  if (rank == 0) {
    copy_bytes(sum, {values, sum.size()});
  } else {
    combine.apply(sum.data(), values, sum.size() / combine.element_bytes);
  }
}

}  // namespace tabane::comm
