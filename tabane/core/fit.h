// Laws fitted to measured times: straight lines over sizes, and how workers slow each other down.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "tabane/core/statistics.h"

namespace tabane::core {

enum class FitWeight {
  absolute,  // every point counts with its absolute residual
  relative,  // residuals are divided by y: for times over sizes of several decades
};

// A straight line through times, t(n) = t0 + n / r_inf (Hockney), with its uncertainty.
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

// How workers that share a resource slow each other down: Gunther's Universal Scalability Law, with
// a ceiling. Throughput of N workers relative to one: N / (1 + contention (N - 1) + coherency N (N
// - 1)), at most the ceiling. source: Gunther, Guerrilla Capacity Planning, chapter 5.
struct ScalabilityLaw {
  double contention = 0, coherency = 0;
  double ceiling = std::numeric_limits<double>::infinity();  // which no fit finds

  double speedup(double workers) const {
    const double more = workers > 1 ? workers - 1 : 0;
    const double free = workers / (1 + contention * more + coherency * workers * more);
    return free < ceiling ? free : ceiling;
  }
  double efficiency(double workers) const { return speedup(workers) / workers; }
};

struct TimePoint {
  double workers = 1;
  double seconds = 1;  // > 0
};

// Fits contention and coherency, both >= 0, by least squares of the relative error. The unit of the
// seconds is the time of one worker. Both are 0 without points with more than one worker.
ScalabilityLaw fit_scalability(std::span<const TimePoint> points);

// Returns the law that such points follow; nothing if they follow none: without constraints the
// best contention is outside of 0 … 1 (with 1 all work is done one after the other, and what is
// slower has another reason) or the best coherency is negative.
std::optional<ScalabilityLaw> scalability_law_of(std::span<const TimePoint> points);

struct ScalabilityFit {
  ScalabilityLaw law;
  double one_worker_seconds = 0;
  double misfit = 0;  // root mean square of the relative residuals

  double seconds(double workers) const { return one_worker_seconds / law.speedup(workers); }
  // The number of workers with the greatest speedup; infinite without coherency.
  double peak() const;
};

// As fit_scalability(), but fits the time of one worker, too, because it is often too long to be
// measured. Null for fewer than two different numbers of workers.
std::optional<ScalabilityFit> fit_scalability_and_time(std::span<const TimePoint> points);

}  // namespace tabane::core
