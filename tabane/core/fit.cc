#include "tabane/core/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>

#include "tabane/core/error.h"

namespace tabane::core {
namespace {

struct StraightLine {
  double intercept = 0, slope = 0;
  bool valid = false;
};

// Weighted least squares over the points whose indices are given.
StraightLine least_squares(std::span<const double> x, std::span<const double> y,
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
  if (weight == FitWeight::relative && std::ranges::any_of(y, [](double v) { return !(v > 0); })) {
    throw Error("a line with relative residuals needs positive values");
  }
  const StraightLine line = points.empty() ? StraightLine{} : least_squares(x, y, points, weight);
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
    const StraightLine again = least_squares(x, y, points, weight);
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

namespace {

constexpr std::size_t kTerms = 3;
using Terms = std::array<double, kTerms>;

// The law as t(n) = x[0] / n + x[1] (1 - 1 / n) + x[2] (n - 1), whose coefficients are the time of
// one worker, and its contention and coherency times that.
Terms terms_of(double n) { return {1 / n, 1 - 1 / n, n - 1}; }

ScalabilityLaw law_of(const Terms& x) {
  return {.contention = x[1] / x[0], .coherency = x[2] / x[0]};
}

// The normal equations of the relative error.
class LawEquations {
 public:
  explicit LawEquations(std::span<const TimePoint> points) {
    for (const TimePoint& point : points) {
      const Terms terms = terms_of(point.workers);
      for (std::size_t i = 0; i < kTerms; ++i) {
        b_[i] += terms[i] / point.seconds;
        for (std::size_t j = 0; j < kTerms; ++j)
          a_[i][j] += terms[i] * terms[j] / (point.seconds * point.seconds);
      }
    }
  }

  // Solves for the coefficients in `used` by elimination; the first one is 1 and the others are 0
  // where they are not used. Null if the equations are singular.
  std::optional<Terms> solve(unsigned used) const {
    constexpr double kSingular = 1e-12;
    std::array<Terms, kTerms> a = a_;
    Terms x{}, b = b_;
    for (std::size_t i = 0; i < kTerms; ++i) {
      if (used >> i & 1) continue;
      a[i] = {};
      a[i][i] = 1;
      b[i] = i == 0 ? 1 : 0;
    }
    for (std::size_t i = 0; i < kTerms; ++i) {
      if (std::abs(a[i][i]) <= kSingular * a_[i][i]) return std::nullopt;
      for (std::size_t j = i + 1; j < kTerms; ++j) {
        const double f = a[j][i] / a[i][i];
        for (std::size_t k = i; k < kTerms; ++k) a[j][k] -= f * a[i][k];
        b[j] -= f * b[i];
      }
    }
    for (std::size_t i = kTerms; i-- > 0;) {
      x[i] = b[i];
      for (std::size_t j = i + 1; j < kTerms; ++j) x[i] -= a[i][j] * x[j];
      x[i] /= a[i][i];
    }
    return x;
  }

 private:
  std::array<Terms, kTerms> a_{};
  Terms b_{};
};

double squares(std::span<const TimePoint> points, const Terms& x) {
  double sum = 0;
  for (const TimePoint& point : points) {
    const Terms terms = terms_of(point.workers);
    const double fitted = x[0] * terms[0] + x[1] * terms[1] + x[2] * terms[2];
    sum += (fitted / point.seconds - 1) * (fitted / point.seconds - 1);
  }
  return sum;
}

// The coefficients >= 0 with the least squares. Their sets are few enough to be tried.
std::optional<Terms> best_terms(std::span<const TimePoint> points, bool one_worker_is_known) {
  const LawEquations equations(points);
  std::optional<Terms> best;
  double least = std::numeric_limits<double>::infinity();
  for (unsigned used = one_worker_is_known ? 0 : 1; used < 1u << kTerms; used += 2) {
    const auto x = equations.solve(used);
    if (!x || (*x)[0] <= 0 || (*x)[1] < 0 || (*x)[2] < 0) continue;
    const double sum = squares(points, *x);
    if (sum >= least) continue;
    least = sum;
    best = x;
  }
  return best;
}

}  // namespace

ScalabilityLaw fit_scalability(std::span<const TimePoint> points) {
  return law_of(*best_terms(points, true));  // without terms the equations are not singular
}

std::optional<ScalabilityLaw> scalability_law_of(std::span<const TimePoint> points) {
  // What rounding leaves of a law that is exactly on the border.
  constexpr double kRounding = 1e-9;
  constexpr unsigned kNone = 0b000, kContention = 0b010, kBoth = 0b110;
  const LawEquations equations(points);
  for (const unsigned used : {kBoth, kContention, kNone}) {
    const auto x = equations.solve(used);
    if (!x) continue;
    ScalabilityLaw law = law_of(*x);
    const bool follows = law.contention >= -kRounding && law.contention <= 1 + kRounding &&
                         law.coherency >= -kRounding;
    if (!follows) return std::nullopt;
    law.contention = std::max(0.0, law.contention);
    law.coherency = std::max(0.0, law.coherency);
    return law;
  }
  return std::nullopt;
}

double ScalabilityFit::peak() const {
  if (law.coherency <= 0) return std::numeric_limits<double>::infinity();
  return std::sqrt(std::max(0.0, 1 - law.contention) / law.coherency);
}

std::optional<ScalabilityFit> fit_scalability_and_time(std::span<const TimePoint> points) {
  std::set<double> different;
  for (const TimePoint& point : points) different.insert(point.workers);
  if (different.size() < 2) return std::nullopt;
  const auto best = best_terms(points, false);
  if (!best) return std::nullopt;
  return ScalabilityFit{.law = law_of(*best),
                        .one_worker_seconds = (*best)[0],
                        .misfit = std::sqrt(squares(points, *best) / double(points.size()))};
}

}  // namespace tabane::core
