#include "tabane/tools/slalom/search.h"

#include <algorithm>
#include <cmath>

namespace tabane::slalom {
namespace {

struct Trial {
  double n = 0, seconds = 0;
};

// t = a n^2 + b n^3 through both, with a, b >= 0; n of the time.
double patches_for(double seconds, const Trial& first, const Trial& second) {
  const double u = first.seconds / (first.n * first.n), v = second.seconds / (second.n * second.n);
  double b = first.n == second.n ? v / second.n : (v - u) / (second.n - first.n);
  b = std::clamp(b, 0.0, v / second.n);
  const double a = v - b * second.n;
  double n = second.n;
  for (int step = 0; step < 50; ++step) {  // Newton; the function is convex and grows
    const double value = n * n * (a + b * n) - seconds;
    n -= value / (n * (2 * a + 3 * b * n));
  }
  return n;
}

}  // namespace

int largest_in(const Limits& limits, double rate, const std::function<double(int)>& run) {
  constexpr double kAim = 0.985, kFirst = 0.02, kNearEnough = 0.01;
  int solved = 0, too_many = limits.most + 1;
  Trial before, last;
  double next = std::cbrt(kFirst * limits.seconds * rate);
  for (int trial = 0; trial < limits.most_runs; ++trial) {
    // Between one that was in time and one that was not, where runs of one size differ, the model
    // may say either of them again: each step leaves a quarter at least behind.
    const bool between = solved > 0 && too_many <= limits.most;
    const double least = between ? solved + std::max(1.0, 0.25 * (too_many - solved)) : solved + 1;
    const double most = between ? too_many - 0.25 * (too_many - solved) : too_many - 1;
    const auto n = static_cast<int>(std::clamp(next, least, std::max(least, most)));
    if (n < limits.least) return solved;
    const double seconds = run(n);
    if (seconds < 0) return solved;
    (seconds < limits.seconds ? solved : too_many) = n;
    before = trial == 0 ? Trial{static_cast<double>(n), seconds} : last;
    last = {static_cast<double>(n), seconds};
    if (too_many - solved <= std::max(1.0, kNearEnough * solved)) break;
    if (solved == n && seconds >= 0.97 * limits.seconds) break;
    // From little time to much the model may err: the first steps stay below.
    const double aim = std::min(kAim * limits.seconds, 12 * seconds);
    next = patches_for(aim, before, last);
  }
  return solved;
}

}  // namespace tabane::slalom
