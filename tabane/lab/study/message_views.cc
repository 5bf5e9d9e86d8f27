#include "tabane/lab/study/message_views.h"

#include <fmt/format.h>

#include <cmath>
#include <tuple>

#include "tabane/lab/record/text.h"

namespace tabane::lab {
namespace {

constexpr std::size_t kMostPieces = 4;

// The pieces of a fit, each a curve of its own.
void add_fitted_lines(Curves& curves, const std::string& name, const PointList& points) {
  constexpr int kSteps = 24;
  for (const FitSegment& segment : fit_over_bytes(points, kMostPieces)) {
    Curve curve{.name = name + ", line", .role = Role::fitted};
    for (int i = 0; i <= kSteps; ++i) {
      const double x =
          segment.from * std::pow(segment.to / segment.from, static_cast<double>(i) / kSteps);
      if (!(segment.line(x) > 0)) continue;
      curve.x.push_back(x);
      curve.y.push_back(segment.line(x));
    }
    add_curve(curves, std::move(curve));
  }
}

// A perturbed size as the power of two that it is beside.
std::string size_near(double bytes) {
  const double power = std::exp2(std::round(std::log2(bytes)));
  const bool perturbed = bytes > 32 && std::abs(bytes - power) <= 3;
  return show(perturbed ? power : bytes, "B");
}

Entry none_in(const char* unit) { return {std::optional<double>(), unit}; }

const char* why_none(bool rises, bool begins) {
  if (!rises) return "the times of this piece are not seen to rise with the size";
  return begins ? "" : "the line through this piece is not seen to begin above 0";
}

}  // namespace

std::vector<FitSegment> fit_over_bytes(const PointList& points, std::size_t most_segments) {
  const Curve times = curve_over("", points, "bytes");
  return fit_segments(times.x, times.y, most_segments);
}

Curves half_round_trips(const Points& points, const std::vector<Line>& lines) {
  Curves curves{{"message", "B", true}, {"half a round trip", "s", true}, {}};
  for (const Line& line : lines) {
    const PointList measured = points.where(line.factors, "bytes");
    if (measured.empty()) continue;
    add_curve(curves, curve_over(line.name, measured, "bytes"));
    curves.series.back().joined = false;
    add_fitted_lines(curves, line.name, measured);
  }
  return curves;
}

Rows fit_rows(std::string first_column) {
  return {{std::move(first_column), "sizes", "t0", "r_inf", "n_half", "worst residual"}, {}};
}

void add_fit(Record& record, const std::string& name, const std::string& title,
             const PointList& points, Rows& rows) {
  const auto segments = fit_over_bytes(points, kMostPieces);
  int piece = 0;
  for (const FitSegment& segment : segments) {
    const core::LineFit& line = segment.line;
    // Within a piece whose rate still falls, a line says nothing about an empty message.
    const bool rises = line.slope > 0 && line.slope_interval.low > 0;
    const bool begins = line.t0() > 0 && line.intercept_interval.low > 0;
    const Entry t0 = begins ? Entry(line.t0(), "s", line.intercept_interval) : none_in("s");
    const Entry r_inf =
        rises ? Entry(line.r_inf(), "B/s", segment.r_inf_interval()) : none_in("B/s");
    const Entry n_half =
        rises && begins ? Entry(line.n_half(), "B", segment.n_half_interval()) : none_in("B");
    rows.rows.push_back({title,
                         fmt::format("{} … {}", size_near(segment.from), size_near(segment.to)),
                         t0,
                         r_inf,
                         n_half,
                         {line.worst_relative_residual, "share"}});
    ++piece;
    for (const auto& [what, entry, better] : {std::tuple{"t0", t0, Better::lower},
                                              {"r_inf", r_inf, Better::higher},
                                              {"n_half", n_half, Better::lower}}) {
      Result& result = add_result(record, fmt::format("{}.{}.{}", name, piece, what),
                                  fmt::format("{} of piece {} of the line, {}", what, piece, title),
                                  entry, better);
      result.details = {{"from_bytes", segment.from},
                        {"to_bytes", segment.to},
                        {"points", segment.points},
                        {"worst_relative_residual", line.worst_relative_residual}};
      if (!entry.value) result.details[detail::kRemark] = why_none(rises, begins);
    }
    if (&segment == &segments.front() && begins)
      add_result(record, name + ".t0", "setup time, " + title, t0, Better::lower);
    if (&segment == &segments.back() && rises)
      add_result(record, name + ".r_inf", "rate of endless messages, " + title, r_inf,
                 Better::higher);
  }
}

}  // namespace tabane::lab
