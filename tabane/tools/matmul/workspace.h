// Memory that stays from one product to the next.
#pragma once

#include <cstddef>
#include <vector>

#include "tabane/core/memory.h"

namespace tabane::matmul {

// Keeps what a product took, until its own end, for the next one: memory that is new to a process
// costs more than reading it, and on some virtual machines as much as half of the product. One
// product at a time may use it.
class Workspace {
 public:
  // Of at least so many bytes, in huge pages. throws: core::SystemError.
  core::Region take(std::size_t bytes);
  void give(core::Region region);

 private:
  std::vector<core::Region> kept_;
};

}  // namespace tabane::matmul
