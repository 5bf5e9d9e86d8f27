// A scalability law from times alone: the time of one worker is a parameter, too, because it is
// often too long to be measured.
#pragma once

#include <optional>
#include <span>

#include "tabane/team/scalability_law.h"

namespace tabane::lab::tune {

struct TimePoint {
  double workers = 1;
  double seconds = 1;
};

struct FittedLaw {
  team::ScalabilityLaw law;
  double one_worker_seconds = 0;
  double misfit = 0;  // root mean square of the relative residuals

  double seconds(double workers) const { return one_worker_seconds / law.speedup(workers); }
  // The number of workers with the greatest speedup; infinite without coherency.
  double peak() const;
};

// Fits t(n) = t1 / n + t1 contention (n - 1) / n + t1 coherency (n - 1), all >= 0, by least squares
// of the relative error. Null for fewer than two different numbers of workers.
std::optional<FittedLaw> fit_law(std::span<const TimePoint> points);

}  // namespace tabane::lab::tune
