#include "tabane/core/running_share.h"

#include <time.h>

namespace tabane::core {
namespace {

double seconds_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

RunningShare::RunningShare()
    : wall_(seconds_of(CLOCK_MONOTONIC)), cpu_(seconds_of(CLOCK_THREAD_CPUTIME_ID)) {}

double RunningShare::share() const {
  const double cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu_;
  const double wall = seconds_of(CLOCK_MONOTONIC) - wall_;
  return wall > 0 ? cpu / wall : 1;
}

}  // namespace tabane::core
