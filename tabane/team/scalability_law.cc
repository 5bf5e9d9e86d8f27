#include "tabane/team/scalability_law.h"

#include <algorithm>

namespace tabane::team {
namespace {

// N / X - 1 = contention a + coherency b, with a = N - 1, b = N (N - 1); residuals over N / X.
struct NormalEquations {
  double aa = 0, ab = 0, bb = 0, ay = 0, by = 0;

  explicit NormalEquations(std::span<const SpeedupPoint> points);
  ScalabilityLaw solution() const;
};

NormalEquations::NormalEquations(std::span<const SpeedupPoint> points) {
  for (const SpeedupPoint& point : points) {
    if (point.workers <= 1) continue;
    const double slowdown = point.workers / point.speedup;
    const double weight = 1 / (slowdown * slowdown);
    const double a = point.workers - 1;
    const double b = point.workers * a;
    const double y = slowdown - 1;
    aa += weight * a * a;
    ab += weight * a * b;
    bb += weight * b * b;
    ay += weight * a * y;
    by += weight * b * y;
  }
}

ScalabilityLaw NormalEquations::solution() const {
  ScalabilityLaw law;
  if (aa <= 0) return law;
  const double determinant = aa * bb - ab * ab;
  if (determinant > 1e-9 * aa * bb) {
    law.contention = (ay * bb - by * ab) / determinant;
    law.coherency = (by * aa - ay * ab) / determinant;
  } else {
    law.contention = ay / aa;
  }
  return law;
}

}  // namespace

std::optional<ScalabilityLaw> scalability_law_of(std::span<const SpeedupPoint> points) {
  // What rounding leaves of a law that is exactly on the border.
  constexpr double kRounding = 1e-9;
  ScalabilityLaw law = NormalEquations(points).solution();
  const bool follows = law.contention >= -kRounding && law.contention <= 1 + kRounding &&
                       law.coherency >= -kRounding;
  if (!follows) return std::nullopt;
  law.contention = std::max(0.0, law.contention);
  law.coherency = std::max(0.0, law.coherency);
  return law;
}

ScalabilityLaw fit_scalability(std::span<const SpeedupPoint> points) {
  const NormalEquations sums(points);
  ScalabilityLaw law = sums.solution();
  // On the border of the quarter plane one of the two is 0 and the other has its own optimum.
  if (law.coherency < 0) {
    law = {.contention = sums.ay / sums.aa, .coherency = 0};
  } else if (law.contention < 0) {
    law = {.contention = 0, .coherency = sums.by / sums.bb};
  }
  law.contention = std::max(0.0, law.contention);
  law.coherency = std::max(0.0, law.coherency);
  return law;
}

}  // namespace tabane::team
