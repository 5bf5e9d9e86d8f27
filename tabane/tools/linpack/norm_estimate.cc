#include "tabane/tools/linpack/norm_estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace tabane::linpack {
namespace {

double sum_of_magnitudes(std::span<const double> x) {
  double sum = 0;
  for (const double value : x) sum += std::abs(value);
  return std::isnan(sum) ? std::numeric_limits<double>::infinity() : sum;
}

// Where |x| is largest.
std::size_t peak(std::span<const double> x) {
  const auto less = [](double a, double b) { return std::abs(a) < std::abs(b); };
  return static_cast<std::size_t>(std::ranges::max_element(x, less) - x.begin());
}

}  // namespace

// The sum of |B x| is convex in x, so its largest value over sums of |x| of 1 is at a unit vector:
// each step goes to the one to which the gradient, B^T sign(B x), points.
double estimate_norm(int n, const std::function<void(std::span<double>)>& multiply,
                     const std::function<void(std::span<double>)>& multiply_transposed) {
  if (n == 0) return 0;
  constexpr int kMostSteps = 5;
  const auto size = static_cast<std::size_t>(n);
  std::vector<double> x(size, 1.0 / n), signs(size);
  multiply(x);
  double most = sum_of_magnitudes(x);
  for (int step = 1; step < kMostSteps; ++step) {
    const std::vector<double> last = signs;
    std::ranges::transform(x, signs.begin(), [](double value) { return value < 0 ? -1.0 : 1.0; });
    if (signs == last) break;
    std::vector<double> gradient = signs;
    multiply_transposed(gradient);
    const std::size_t next = peak(gradient);
    std::ranges::fill(x, 0);
    x[next] = 1;
    multiply(x);
    const double found = sum_of_magnitudes(x);
    if (!(found > most)) break;
    most = found;
  }
  // Where the steps above see nothing but cancellation, this vector does not.
  for (std::size_t i = 0; i < size; ++i) {
    x[i] = (i % 2 == 0 ? 1 : -1) * (1 + static_cast<double>(i) / std::max(n - 1, 1));
  }
  multiply(x);
  return std::max(most, 2 * sum_of_magnitudes(x) / (3 * n));
}

}  // namespace tabane::linpack
