#include <array>
#include <cmath>

#include "tabane/tools/slalom/couplings.h"

namespace tabane::slalom {
namespace {

constexpr double kNotZero = 1e-35;  // keeps distances from the common edge of two faces above 0

struct Interval {
  std::array<double, 2> at;
  double operator[](std::size_t i) const { return at[i]; }
};
// coordinate 0: along the width; 1: along the height.
Interval interval(const Patch& patch, int coordinate) {
  return coordinate == 0 ? Interval{{patch.w, patch.w + patch.width}}
                         : Interval{{patch.h, patch.h + patch.height}};
}

double parallel_term(double x, double y, double z) {
  const double u = std::sqrt(y * y + z * z), v = std::sqrt(x * x + z * z);
  return 4 * (x * u * std::atan(x / u) + y * v * std::atan(y / v)) -
         2 * z * z * std::log(x * x + y * y + z * z);
}

double perpendicular_term(double c, double d) {
  return 4 * c * d * std::atan(c / d) + (c * c - d * d) * std::log(c * c + d * d);
}

// Sums (-1)^(i+j+k+l) term(i, j, k, l).
template <class Term>
double corners(const Term& term) {
  double sum = 0;
  for (unsigned corner = 0; corner < 16; ++corner) {
    const std::size_t i = corner & 1, j = corner >> 1 & 1, k = corner >> 2 & 1, l = corner >> 3;
    sum += ((i + j + k + l) % 2 == 0 ? 1 : -1) * term(i, j, k, l);
  }
  return sum;
}

double perpendicular(const Geometry& geometry, const Patch& i, const Patch& j, int m) {
  const Interval a = interval(i, m), b = interval(j, 1 - m);
  const Interval c = interval(i, 1 - m), c_of_j = interval(j, m);
  const double plane_of_j = geometry.depth(j.face), plane_of_i = geometry.depth(i.face);
  return std::abs(corners([&](std::size_t r, std::size_t s, std::size_t k, std::size_t l) {
    const double from_j = a[r] - plane_of_j, from_i = b[s] - plane_of_i;
    return perpendicular_term(c_of_j[l] - c[k],
                              std::sqrt(from_j * from_j + (from_i * from_i + kNotZero)));
  }));
}

}  // namespace

double coupling_by_corners(const Geometry& geometry, const Patch& i, const Patch& j) {
  switch ((j.face - i.face + kFaces) % kFaces) {
    case 0:
      return 0;
    case 1:
      return perpendicular(geometry, i, j, 0);
    case 2:
      return perpendicular(geometry, i, j, 1);
    case 3: {
      const Interval x = interval(i, 0), x_of_j = interval(j, 0);
      const Interval y = interval(i, 1), y_of_j = interval(j, 1);
      const double z = std::abs(geometry.depth(i.face) - geometry.depth(j.face));
      return corners([&](std::size_t r, std::size_t s, std::size_t k, std::size_t l) {
        return parallel_term(x_of_j[k] - x[r], y_of_j[l] - y[s], z);
      });
    }
    default:
      return coupling_by_corners(geometry, j, i);
  }
}

}  // namespace tabane::slalom
