// What studies show of ping-pongs: times over the size of a message, with the lines
// t0 + n / r_inf through them.
#pragma once

#include <string>
#include <vector>

#include "tabane/lab/campaign/segmented_fit.h"
#include "tabane/lab/study/study.h"

namespace tabane::lab {

// Through the medians of points over "bytes".
std::vector<FitSegment> fit_over_bytes(const PointList& points, std::size_t most_segments);

// Half a round trip over the size, each line of points with the pieces of its fit.
Curves half_round_trips(const Points& points, const std::vector<Line>& lines);

// The columns and the note of a table of fits.
Rows fit_rows(std::string first_column);
inline constexpr const char* kFitNote =
    "The borders are where separate lines describe the medians better (Bayes' information "
    "criterion): there the protocol changes, or the cache that holds the message. What cannot "
    "be told from 0 is not given: t0 where the rate still falls within the piece, r_inf where "
    "times "
    "do not rise. Residuals are relative; the 95 % intervals come from resampling the points.";
// Adds a row for each piece of the fit, and its figures as results NAME.1.t0 …; the first piece
// gives the result NAME.t0, the last one NAME.r_inf.
void add_fit(Record& record, const std::string& name, const std::string& title,
             const PointList& points, Rows& rows);

}  // namespace tabane::lab
