#include "tabane/tools/linpack/accuracy.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "tabane/tools/linpack/norm_estimate.h"

namespace tabane::linpack {

// The largest row sum of A^-1 D is the largest column sum of D A^-T, D having doubt on its
// diagonal.
double estimate_error(Factors& factors, std::span<const double> x, std::span<const double> doubt) {
  const auto scale = [&](std::span<double> v) {
    std::ranges::transform(v, doubt, v.begin(), std::multiplies<>());
  };
  const double error = estimate_norm(
      static_cast<int>(x.size()),
      [&](std::span<double> v) {
        factors.solve_transposed(v);
        scale(v);
      },
      [&](std::span<double> v) {
        scale(v);
        factors.solve(v);
      });
  double largest = 0;
  for (const double value : x) largest = std::max(largest, std::abs(value));
  return error == 0 ? 0 : std::isinf(error) ? error : error / largest;
}

}  // namespace tabane::linpack
