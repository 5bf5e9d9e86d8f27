// A counter that gives what a test says, where the system may have none.
#pragma once

#include <unistd.h>

#include <array>
#include <cstdint>

#include "tabane/core/file.h"

namespace tabane::core {

// A pipe that gives what a counter would give when it is read: count, time wanted, time counted.
inline int counter_of(const std::array<std::uint64_t, 3>& reading) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const Descriptor writing(ends[1]);
  write_all(writing.get(), reading.data(), sizeof reading, "counter");
  return ends[0];
}

}  // namespace tabane::core
