// Straight lines through times over sizes, one for each protocol that the sizes are sent by.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tabane/core/fit.h"

namespace tabane::lab {

struct FitSegment {
  double from = 0, to = 0;  // x of its first and its last point
  std::size_t points = 0;
  core::LineFit line;

  // From the intervals of t0 and r_inf, as if they were at their far ends together.
  core::Interval r_inf_interval() const;
  core::Interval n_half_interval() const;
};

// Cuts the points where lines of their own describe the parts so much better that the further
// parameters are worth it (Bayes' information criterion over relative residuals); every part has at
// least `fewest` points. x: ascending; y: > 0; the same length. Fewer than two points: no segment.
// cost: O(n³), n of some hundred.
std::vector<FitSegment> fit_segments(std::span<const double> x, std::span<const double> y,
                                     std::size_t most = 4, std::size_t fewest = 5);

}  // namespace tabane::lab
