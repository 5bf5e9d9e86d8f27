#include "tabane/comm/transport/shm/way_choice.h"

#include <algorithm>

namespace tabane::comm::shm {

double WayTimes::Times::median() const {
  auto sorted = per_byte;
  std::ranges::sort(sorted);
  return sorted[kSamples / 2];
}

Way WayTimes::note(std::size_t bytes, Way way, double ns) {
  Class& of_size = classes_[index(bytes)];
  Times& times = way == Way::blocks ? of_size.blocks : of_size.direct;
  if (times.count < kSamples) times.per_byte[times.count++] = ns / static_cast<double>(bytes);
  if (std::min(of_size.blocks.count, of_size.direct.count) < kSamples) return Way::undecided;
  of_size.decided = true;
  return of_size.direct.median() < of_size.blocks.median() ? Way::direct : Way::blocks;
}

Way WayTries::next(std::size_t bytes) {
  int& tries = tries_[static_cast<std::size_t>(way_class(bytes))];
  if (tries == kMost) return bytes > kDirectBytes ? Way::direct : Way::blocks;
  return ++tries % 2 != 0 ? Way::blocks : Way::direct;
}

}  // namespace tabane::comm::shm
