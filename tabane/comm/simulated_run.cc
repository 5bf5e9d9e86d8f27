#include "tabane/comm/simulated_run.h"

#include <algorithm>
#include <utility>

namespace tabane::comm {

void Timeline::add(Activity what, double from, double to) {
  while (to > width_ * kSlices) widen_to(2 * width_);
  for (auto slice = static_cast<std::size_t>(from / width_); from < to; ++slice) {
    const double end = std::min(to, static_cast<double>(slice + 1) * width_);
    slices_[slice][what] += end - from;
    from = end;
  }
}

void Timeline::widen_to(double width) {
  for (; width_ < width; width_ *= 2) {
    for (std::size_t slice = 0; slice < kSlices; ++slice) {
      const Activities here = std::exchange(slices_[slice], {});
      for (std::size_t i = 0; i < here.of.size(); ++i) slices_[slice / 2].of[i] += here.of[i];
    }
  }
}

}  // namespace tabane::comm
