// How workers that share a resource slow each other down: Gunther's Universal Scalability Law, with
// a ceiling.
#pragma once

#include <limits>
#include <optional>
#include <span>

namespace tabane::team {

// Throughput of N workers relative to one: N / (1 + contention (N - 1) + coherency N (N - 1)), at
// most the ceiling.
struct ScalabilityLaw {
  double contention = 0, coherency = 0;
  double ceiling = std::numeric_limits<double>::infinity();

  double speedup(double workers) const {
    const double more = workers > 1 ? workers - 1 : 0;
    const double free = workers / (1 + contention * more + coherency * workers * more);
    return free < ceiling ? free : ceiling;
  }
  double efficiency(double workers) const { return speedup(workers) / workers; }
};

struct SpeedupPoint {
  double workers = 1;
  double speedup = 1;  // measured, > 0
};

// Fits contention and coherency, both >= 0, by least squares of the relative error of
// workers / speedup; without points with more than one worker both are 0.
// source: Gunther, Guerrilla Capacity Planning, chapter 5; the ceiling is left infinite.
ScalabilityLaw fit_scalability(std::span<const SpeedupPoint> points);

// The law that the points follow; nothing if they follow none: without constraints the best
// contention is outside of 0 … 1 (with 1 all work is done one after the other, and what is slower
// has another reason) or the best coherency is negative.
std::optional<ScalabilityLaw> scalability_law_of(std::span<const SpeedupPoint> points);

}  // namespace tabane::team
