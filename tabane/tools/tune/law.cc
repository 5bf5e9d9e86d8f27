#include "tabane/tools/tune/law.h"

#include <array>
#include <cmath>
#include <limits>
#include <set>

namespace tabane::lab::tune {
namespace {

constexpr std::size_t kTerms = 3;
using Terms = std::array<double, kTerms>;

Terms terms_of(double n) { return {1 / n, 1 - 1 / n, n - 1}; }

// Solves the normal equations of the terms in `used` by elimination. Null if they are singular.
std::optional<Terms> solve(std::array<Terms, kTerms> a, Terms b, unsigned used) {
  Terms x{};
  for (std::size_t i = 0; i < kTerms; ++i) {
    if (used >> i & 1) continue;
    a[i] = {};
    a[i][i] = 1;
    b[i] = 0;
    for (std::size_t j = 0; j < kTerms; ++j)
      if (j != i) a[j][i] = 0;
  }
  for (std::size_t i = 0; i < kTerms; ++i) {
    if (std::abs(a[i][i]) < 1e-12) return std::nullopt;
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

double squares(std::span<const TimePoint> points, const Terms& x) {
  double sum = 0;
  for (const TimePoint& point : points) {
    const Terms terms = terms_of(point.workers);
    const double fitted = x[0] * terms[0] + x[1] * terms[1] + x[2] * terms[2];
    sum += (fitted / point.seconds - 1) * (fitted / point.seconds - 1);
  }
  return sum;
}

}  // namespace

double FittedLaw::peak() const {
  if (law.coherency <= 0) return std::numeric_limits<double>::infinity();
  return std::sqrt(std::max(0.0, 1 - law.contention) / law.coherency);
}

std::optional<FittedLaw> fit_law(std::span<const TimePoint> points) {
  std::set<double> different;
  std::array<Terms, kTerms> a{};
  Terms b{};
  for (const TimePoint& point : points) {
    different.insert(point.workers);
    const Terms terms = terms_of(point.workers);
    for (std::size_t i = 0; i < kTerms; ++i) {
      b[i] += terms[i] / point.seconds;
      for (std::size_t j = 0; j < kTerms; ++j)
        a[i][j] += terms[i] * terms[j] / (point.seconds * point.seconds);
    }
  }
  if (different.size() < 2) return std::nullopt;
  // Three terms: all sets of them that hold the first are few enough to be tried.
  std::optional<FittedLaw> best;
  double least = std::numeric_limits<double>::infinity();
  for (unsigned used = 1; used < 1u << kTerms; used += 2) {
    const auto x = solve(a, b, used);
    if (!x || (*x)[0] <= 0 || (*x)[1] < 0 || (*x)[2] < 0) continue;
    const double sum = squares(points, *x);
    if (sum >= least) continue;
    least = sum;
    best = FittedLaw{.law = {.contention = (*x)[1] / (*x)[0], .coherency = (*x)[2] / (*x)[0]},
                     .one_worker_seconds = (*x)[0],
                     .misfit = std::sqrt(sum / double(points.size()))};
  }
  return best;
}

}  // namespace tabane::lab::tune
