// Straight lines through times over sizes, one for each protocol that the sizes are sent by.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tabane/core/fit.h"
#include "tabane/lab/study/study.h"

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

// Bytes of the message that a point sends.
inline double bytes_of(const Point& point) { return point.number("bytes"); }
// Whether it is 2 to the power of a multiple of `step`.
inline bool is_power_of_two(double bytes, int step = 1) {
  const double power = std::log2(bytes);
  return power == std::floor(power) && static_cast<int>(power) % step == 0;
}

// What studies show of ping-pongs: times over the size of a message, with the lines
// t0 + n / r_inf through them.

// Through the medians of points over "bytes".
std::vector<FitSegment> fit_over_bytes(const PointList& points, std::size_t most_segments);

// Half a round trip over the size, each line of points with the pieces of its fit.
Curves half_round_trips(const Points& points, const std::vector<Line>& lines);

// The columns and the note of a table of fits.
Rows fit_rows(std::string first_column);
inline constexpr const char* kFitNote =
    "The borders are where separate lines describe the medians better (Bayes' information "
    "criterion): there the protocol changes, or the cache that holds the message. What cannot "
    "be distinguished from 0 is not given: t0 where the rate still falls within the piece, r_inf "
    "where times do not rise. Residuals are relative; the 95 % intervals come from resampling the "
    "points.";
// Adds a row for each piece of the fit, and its figures as results NAME.1.t0 …; the first piece
// gives the result NAME.t0, the last one NAME.r_inf.
void add_fit(Record& record, const std::string& name, const std::string& title,
             const PointList& points, Rows& rows);

}  // namespace tabane::lab
