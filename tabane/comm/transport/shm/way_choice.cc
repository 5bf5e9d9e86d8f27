#include "tabane/comm/transport/shm/way_choice.h"

#include <algorithm>

namespace tabane::comm::shm {

Way WayTimes::note(std::size_t bytes, Way way, double ns) {
  Class& of_size = classes_[index(bytes)];
  Times& times = way == Way::blocks ? of_size.blocks : of_size.direct;
  const double per_byte = ns / static_cast<double>(bytes);
  const double least = times.least_per_byte;
  times.least_per_byte = times.count == 0 ? per_byte : std::min(least, per_byte);
  ++times.count;
  if (std::min(of_size.blocks.count, of_size.direct.count) < kSamples) return Way::undecided;
  of_size.decided = true;
  return of_size.direct.least_per_byte < of_size.blocks.least_per_byte ? Way::direct : Way::blocks;
}

Way WayTries::next(std::size_t bytes) {
  int& tries = tries_[static_cast<std::size_t>(way_class(bytes))];
  if (tries == kMost) return bytes > kDirectBytes ? Way::direct : Way::blocks;
  return ++tries % 2 != 0 ? Way::blocks : Way::direct;
}

}  // namespace tabane::comm::shm
