#include "tabane/team/scalability_law.h"

#include <algorithm>

namespace tabane::team {

ScalabilityLaw fit_scalability(std::span<const SpeedupPoint> points) {
  // N / X - 1 = contention a + coherency b, with a = N - 1, b = N (N - 1); residuals over N / X.
  double aa = 0, ab = 0, bb = 0, ay = 0, by = 0;
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
  ScalabilityLaw law;
  if (aa <= 0) return law;
  const double determinant = aa * bb - ab * ab;
  if (determinant > 1e-9 * aa * bb) {
    law.contention = (ay * bb - by * ab) / determinant;
    law.coherency = (by * aa - ay * ab) / determinant;
  } else {
    law.contention = ay / aa;
  }
  // On the border of the quarter plane one of the two is 0 and the other has its own optimum.
  if (law.coherency < 0) {
    law = {.contention = ay / aa, .coherency = 0};
  } else if (law.contention < 0) {
    law = {.contention = 0, .coherency = by / bb};
  }
  law.contention = std::max(0.0, law.contention);
  law.coherency = std::max(0.0, law.coherency);
  return law;
}

}  // namespace tabane::team
