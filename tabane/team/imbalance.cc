#include "tabane/team/imbalance.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tabane::team {
namespace {

// exp(-Euler's constant): the maximum of W samples lies, in the mean, where 0.5615 / W is above it.
constexpr double kMeanOfMaximum = 0.5614594835668851;

double normal_above(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }

// P(X > x) of a gamma distribution with this shape and scale. source: Wilson and Hilferty, 1931.
double gamma_above(double x, double shape, double scale) {
  const double third = std::cbrt(x / (shape * scale));
  return normal_above((third - 1 + 1 / (9 * shape)) * 3 * std::sqrt(shape));
}

// Solves above(x) = p for a falling function, to nine digits.
template <class F>
double solve_falling(F above, double p) {
  double low = 0, high = 1;
  while (above(high) > p && high < 1e6) high *= 2;
  for (int i = 0; i < 30; ++i) {
    const double middle = (low + high) / 2;
    (above(middle) > p ? low : high) = middle;
  }
  return high;
}

// Expected largest of `count` task times of mean 1.
double largest_task(double count, double variation) {
  if (variation < 1e-3 || count <= 1) return 1;
  const double shape = 1 / (variation * variation);
  const auto above = [&](double x) { return gamma_above(x, shape, 1 / shape); };
  return std::max(1.0, solve_falling(above, kMeanOfMaximum / count));
}

// Expected seconds until all have ended what they are doing at a random moment.
double last_rest(std::span<const WorkerClass> workers, double count, double slowest,
                 double variation) {
  const double square = variation * variation;
  if (count <= 1) return (1 + square) / 2 / slowest;
  if (variation < 1e-3) return count / (count + 1) / slowest;
  const double shape = 1 / square;
  const auto above = [&](double x) {
    return gamma_above(x, shape + 1, square) - x * gamma_above(x, shape, square);
  };
  const auto any_above = [&](double x) {
    double sum = 0;
    for (const WorkerClass& w : workers) sum += w.count * above(x * w.rate / slowest);
    return sum;
  };
  return std::max((1 + square) / 2, solve_falling(any_above, kMeanOfMaximum)) / slowest;
}

// Greedy scheduling of equal tasks: the last one begins at the first time by which n have begun.
double equal_tasks(double n, std::span<const WorkerClass> workers, double rate) {
  const auto begun = [&](double time) {
    double sum = 0;
    for (const WorkerClass& w : workers) sum += w.count * (std::floor(time * w.rate + 1e-9) + 1);
    return sum;
  };
  double high = 0;
  if (begun(0) < n) {
    double low = 0;
    high = n / rate;
    for (int i = 0; i < 48; ++i) {
      const double middle = (low + high) / 2;
      (begun(middle) >= n ? high : low) = middle;
    }
  }
  double end = 0;
  for (const WorkerClass& w : workers) {
    end = std::max(end, (std::floor(high * w.rate + 1e-9) + 1) / w.rate);
  }
  return end;
}

}  // namespace

double expected_makespan(double n, std::span<const WorkerClass> workers, double variation) {
  double rate = 0, count = 0, slowest = std::numeric_limits<double>::infinity();
  for (const WorkerClass& w : workers) {
    rate += w.count * w.rate;
    count += w.count;
    slowest = std::min(slowest, w.rate);
  }
  const double rounds = n / count;
  const double square = variation * variation;
  // Phases that are still together after `rounds` rounds: the first harmonic of their spread.
  const double together = std::exp(-2 * M_PI * M_PI * square * rounds);
  double equal = 0;
  if (together > 1e-3 && rounds < 1e4) {
    const double last = n - count * (std::ceil(rounds) - 1);
    equal = equal_tasks(n, workers, rate) + (largest_task(last, variation) - 1) / slowest;
  }
  if (rounds <= 1 || (variation < 1e-3 && equal > 0)) {
    return equal > 0 ? equal : largest_task(n, variation) / slowest;
  }
  const double begun = std::max(0.0, n - count * (1 + square) / 2);
  const double drifted =
      std::max(n / rate, begun / rate + last_rest(workers, count, slowest, variation));
  return equal > 0 ? together * equal + (1 - together) * drifted : drifted;
}

}  // namespace tabane::team
