// What scans combine in the order of ranks, out of what all ranks show.
#pragma once

#include "tabane/comm/collective/call.h"
#include "tabane/comm/collective/in_order.h"

namespace tabane::comm {

// Overwrites a piece of this rank's values, which it has shown, with the values of the ranks
// before it, and in a scan with its own; those of rank 0 stay in an exscan.
class Prefix {
 public:
  Prefix(const Call& call, int rank) : Prefix(call, rank, call.values) {}
  Prefix(const Call& call, int rank, std::span<std::byte> piece)
      : combine_(*call.combine), piece_(piece), end_(call.kind == Kind::scan ? rank + 1 : rank) {}

  int end() const { return end_; }  // of the ranks that count

  // From rank 0 on, one after the other.
  void add(int rank, const std::byte* values) {
    if (rank < end_) add_in_order(combine_, piece_, rank, values);
  }

 private:
  const Combine& combine_;
  std::span<std::byte> piece_;
  int end_;
};

}  // namespace tabane::comm
