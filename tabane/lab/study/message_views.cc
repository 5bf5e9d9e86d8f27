#include "tabane/lab/study/message_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "tabane/lab/record/text.h"

namespace tabane::lab {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Residuals below this are as good as none: no border may claim more than the clock resolves.
constexpr double kFinest = 1e-3;

// Sum of squared relative residuals about the best line.
double cost_of_line(std::span<const double> x, std::span<const double> y) {
  const core::LineFit line = core::fit_line(x, y, core::FitWeight::relative, 0);
  double cost = 0;
  for (std::size_t i = 0; i < y.size(); ++i) cost += std::pow(line.residuals[i] / y[i], 2);
  return cost;
}

// The cheapest ways to cut the first points into a number of parts.
class Cuts {
 public:
  Cuts(std::span<const double> x, std::span<const double> y, std::size_t most, std::size_t fewest)
      : n_(x.size()) {
    cost_.assign(most + 1, std::vector<double>(n_ + 1, kInfinity));
    last_cut_.assign(most + 1, std::vector<std::size_t>(n_ + 1, 0));
    cost_[0][0] = 0;
    for (std::size_t begin = 0; begin < n_; ++begin) {
      for (std::size_t end = begin + fewest; end <= n_; ++end) {
        const double line =
            cost_of_line(x.subspan(begin, end - begin), y.subspan(begin, end - begin));
        for (std::size_t parts = 1; parts <= most; ++parts) {
          const double cost = cost_[parts - 1][begin] + line;
          if (cost >= cost_[parts][end]) continue;
          cost_[parts][end] = cost;
          last_cut_[parts][end] = begin;
        }
      }
    }
  }

  // Smaller is better; a part costs a line's two parameters and a border.
  double criterion(std::size_t parts) const {
    const auto n = static_cast<double>(n_);
    const double variance = cost_[parts][n_] / n + kFinest * kFinest;
    return n * std::log(variance) + 3 * static_cast<double>(parts) * std::log(n);
  }
  // Where the parts begin, and the end.
  std::vector<std::size_t> borders(std::size_t parts) const {
    std::vector<std::size_t> at = {n_};
    for (; parts > 0; --parts) at.push_back(last_cut_[parts][at.back()]);
    std::ranges::reverse(at);
    return at;
  }

 private:
  std::size_t n_;
  std::vector<std::vector<double>> cost_;  // by parts and points
  std::vector<std::vector<std::size_t>> last_cut_;
};

}  // namespace

core::Interval FitSegment::r_inf_interval() const {
  const auto rate = [](double slope) { return slope > 0 ? 1 / slope : kInfinity; };
  return {rate(line.slope_interval.high), rate(line.slope_interval.low)};
}

core::Interval FitSegment::n_half_interval() const {
  const core::Interval rate = r_inf_interval();
  return {std::max(0.0, line.intercept_interval.low) * rate.low,
          std::max(0.0, line.intercept_interval.high) * rate.high};
}

std::vector<FitSegment> fit_segments(std::span<const double> x, std::span<const double> y,
                                     std::size_t most, std::size_t fewest) {
  if (x.size() < 2) return {};
  fewest = std::clamp<std::size_t>(fewest, 2, x.size());
  const Cuts cuts(x, y, most, fewest);
  std::size_t best = 1;
  for (std::size_t parts = 2; parts <= most; ++parts) {
    if (cuts.criterion(parts) < cuts.criterion(best)) best = parts;
  }
  const std::vector<std::size_t> borders = cuts.borders(best);
  std::vector<FitSegment> segments;
  for (std::size_t i = 0; i + 1 < borders.size(); ++i) {
    const std::size_t begin = borders[i], points = borders[i + 1] - begin;
    segments.push_back({x[begin], x[begin + points - 1], points,
                        core::fit_line(x.subspan(begin, points), y.subspan(begin, points),
                                       core::FitWeight::relative)});
  }
  return segments;
}

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

// A perturbed size as the power of two next to it.
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
