// The largest problem that can be solved in a given time.
#pragma once

#include <functional>

namespace tabane::slalom {

struct Limits {
  double seconds = 60;
  int least = 6, most = 1 << 20;  // patches that may be tried
  int most_runs = 6;
};

// Finds the largest n whose run lasts less than the limit, to 1 %: bisects where t = a n^2 + b
// n^3, through the last two runs, says that the limit is. run: solves for n and returns the
// seconds, or a negative number to stop. rate: of matrix products, in operations per second, for
// the first guess. Returns the largest n that was solved in time, 0 if none.
int largest_in(const Limits& limits, double rate, const std::function<double(int)>& run);

}  // namespace tabane::slalom
