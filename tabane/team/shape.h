// The shape of a team: processes × threads.
#pragma once

#include <compare>

namespace tabane::team {

struct Shape {
  int processes = 1, threads = 1;  // in each process
  int workers() const { return processes * threads; }
  auto operator<=>(const Shape&) const = default;
};

}  // namespace tabane::team
