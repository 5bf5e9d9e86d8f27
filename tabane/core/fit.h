// Straight lines through measured times, t(n) = t0 + n / r_inf (Hockney), with their uncertainty.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tabane/core/statistics.h"

namespace tabane::core {

enum class FitWeight {
  absolute,  // every point counts with its absolute residual
  relative,  // residuals are divided by y: for times over sizes of several decades
};

struct LineFit {
  double intercept = 0;                         // t0, in the unit of y
  double slope = 0;                             // 1 / r_inf
  Interval intercept_interval, slope_interval;  // 95 %, bootstrap over points
  std::vector<double> residuals;       // y - fit, in the unit of y, in the order of the points
  double worst_relative_residual = 0;  // max |residual / y|

  double t0() const { return intercept; }
  double r_inf() const { return 1 / slope; }
  double n_half() const { return intercept / slope; }
  double operator()(double x) const { return intercept + slope * x; }
};

// Least squares through (x[i], y[i]); the intervals come from `resamples` bootstrap draws with a
// fixed seed, so the same data give the same intervals. x, y: same length, at least 2 different x.
// throws: Error otherwise.
LineFit fit_line(std::span<const double> x, std::span<const double> y,
                 FitWeight weight = FitWeight::absolute, int resamples = 1000);

}  // namespace tabane::core
