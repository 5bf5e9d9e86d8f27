#include "tabane/core/fit.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "tabane/core/error.h"

namespace tabane::core {
namespace {

struct Line {
  double intercept = 0, slope = 0;
  bool valid = false;
};

// Weighted least squares over the points whose indices are given.
Line least_squares(std::span<const double> x, std::span<const double> y,
                   std::span<const std::size_t> points, FitWeight weight) {
  double sw = 0, sx = 0, sy = 0;
  const auto w = [&](std::size_t i) {
    return weight == FitWeight::absolute ? 1.0 : 1.0 / (y[i] * y[i]);
  };
  for (std::size_t i : points) {
    sw += w(i);
    sx += w(i) * x[i];
    sy += w(i) * y[i];
  }
  // Centred sums: sizes over many decades would cancel in the textbook form.
  const double mx = sx / sw, my = sy / sw;
  double sxx = 0, sxy = 0;
  for (std::size_t i : points) {
    sxx += w(i) * (x[i] - mx) * (x[i] - mx);
    sxy += w(i) * (x[i] - mx) * (y[i] - my);
  }
  if (!(sxx > 0)) return {};
  const double slope = sxy / sxx;
  return {my - slope * mx, slope, true};
}

Interval percentile_interval(const std::vector<double>& draws) {
  return {quantile(draws, 0.025), quantile(draws, 0.975)};
}

}  // namespace

LineFit fit_line(std::span<const double> x, std::span<const double> y, FitWeight weight,
                 int resamples) {
  TABANE_ASSERT(x.size() == y.size());
  std::vector<std::size_t> points(x.size());
  for (std::size_t i = 0; i < points.size(); ++i) points[i] = i;
  if (weight == FitWeight::relative &&
      std::any_of(y.begin(), y.end(), [](double v) { return !(v > 0); })) {
    throw Error("a line with relative residuals needs positive values");
  }
  const Line line = points.empty() ? Line{} : least_squares(x, y, points, weight);
  if (!line.valid) throw Error("a line needs at least two points with different x");

  LineFit fit;
  fit.intercept = line.intercept;
  fit.slope = line.slope;
  for (std::size_t i = 0; i < x.size(); ++i) {
    fit.residuals.push_back(y[i] - fit(x[i]));
    if (y[i] != 0) {
      fit.worst_relative_residual =
          std::max(fit.worst_relative_residual, std::abs(fit.residuals[i] / y[i]));
    }
  }

  std::mt19937_64 random(20081);
  std::uniform_int_distribution<std::size_t> draw(0, x.size() - 1);
  std::vector<double> intercepts, slopes;
  for (int r = 0; r < resamples; ++r) {
    for (std::size_t& p : points) p = draw(random);
    const Line again = least_squares(x, y, points, weight);
    if (!again.valid) continue;  // all points drawn at one x say nothing about a slope
    intercepts.push_back(again.intercept);
    slopes.push_back(again.slope);
  }
  fit.intercept_interval =
      intercepts.empty() ? Interval{fit.intercept, fit.intercept} : percentile_interval(intercepts);
  fit.slope_interval =
      slopes.empty() ? Interval{fit.slope, fit.slope} : percentile_interval(slopes);
  return fit;
}

}  // namespace tabane::core
