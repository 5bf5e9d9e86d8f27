// Where parts of different sizes lie, one after the other in the order of ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "tabane/comm/collective/call.h"

namespace tabane::comm {

class VaryingParts {
 public:
  explicit VaryingParts(const Call& call) : bytes_(call.part_bytes) {
    for (const std::size_t bytes : bytes_) begins_.push_back(begins_.back() + bytes);
  }
  std::size_t bytes(int rank) const { return bytes_[static_cast<std::size_t>(rank)]; }
  std::size_t most_bytes() const { return *std::max_element(bytes_.begin(), bytes_.end()); }
  template <class Byte>
  std::span<Byte> part(std::span<Byte> all, int rank) const {
    return all.subspan(begins_[static_cast<std::size_t>(rank)], bytes(rank));
  }

 private:
  std::span<const std::size_t> bytes_;
  std::vector<std::size_t> begins_{0};  // of each rank's part, and the end
};

}  // namespace tabane::comm
