#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tabane/tools/slalom/setup.h"

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

// The coupling of two patches as the specification writes it: 16 terms.
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
Geometry box(double a, double b, double c) {
  Geometry geometry = parse_geometry(default_geometry_text(), "geom");
  geometry.box = {a, b, c};
  return geometry;
}

// All couplings, column by column, from runs of `block` patches.
std::vector<double> all_couplings(const Geometry& geometry, const Region& region, int block) {
  const int n = region.size();
  const auto ld = static_cast<std::size_t>(n);
  std::vector<double> all(ld * ld, -1);
  CouplingSpace space;
  for (int i = 0; i < n; i += block) {
    for (const EdgeRun& rows : edge_runs(region, i, std::min(block, n - i))) {
      for (int j = 0; j < n; j += block) {
        for (const EdgeRun& columns : edge_runs(region, j, std::min(block, n - j))) {
          fill_couplings(geometry, rows, columns,
                         &all[static_cast<std::size_t>(columns.first) * ld +
                              static_cast<std::size_t>(rows.first)],
                         ld, space);
        }
      }
    }
  }
  return all;
}

TEST(Couplings, AreThoseOfTheCorners) {
  for (const Geometry& geometry : {box(13.5, 9, 8), box(1, 2, 3), box(1, 1, 1), box(40, 1.5, 7)}) {
    for (int n : {130, 131}) {
      const Region region = cut_into_patches(geometry, n);
      for (int block : {1, 7, n}) {
        const std::vector<double> all = all_couplings(geometry, region, block);
        for (int i = 0; i < n; ++i) {
          for (int j = 0; j < n; ++j) {
            const auto at = [&](int k) { return region.patches[k]; };
            const double due = coupling_by_corners(geometry, at(i), at(j));
            const double size = 8 * std::numbers::pi * std::sqrt(at(i).area() * at(j).area());
            ASSERT_NEAR(all[static_cast<std::size_t>(j * n + i)], due, 1e-11 * size)
                << i << " " << j << " of " << n;
          }
        }
      }
    }
  }
}

// What leaves a patch arrives somewhere.
TEST(Couplings, SumUpToTheArea) {
  const Geometry geometry = box(13.5, 9, 8);
  for (const auto& [n, deviation] : {std::pair{6, 2e-15}, {20, 5e-15}, {60, 3e-14}, {400, 2e-12}}) {
    const Region region = cut_into_patches(geometry, n);
    const std::vector<double> all = all_couplings(geometry, region, n);
    for (int i = 0; i < n; ++i) {
      double sum = 0;
      for (int j = 0; j < n; ++j) sum += all[static_cast<std::size_t>(j * n + i)];
      const double due = 8 * std::numbers::pi * region.patches[i].area();
      EXPECT_NEAR(sum / due, 1, deviation) << i << " of " << n;
    }
  }
}

TEST(Couplings, OfTheReferenceSumUpToTheArea) {
  const Geometry geometry = box(13.5, 9, 8);
  for (int n : {6, 60}) {
    const Region region = cut_into_patches(geometry, n);
    for (const Patch& i : region.patches) {
      double sum = 0;
      for (const Patch& j : region.patches) sum += coupling_by_corners(geometry, i, j);
      EXPECT_NEAR(sum / (8 * std::numbers::pi * i.area()), 1, 2e-14);
    }
  }
}

TEST(EdgeRuns, BeginAnewOnEachFaceAndEachColumn) {
  const Region region =
      cut_into_patches(box(13.5, 9, 8), 60);  // 12 on the first face, in 4 columns
  const std::vector<EdgeRun> runs = edge_runs(region, 1, 13);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].count, 11);
  EXPECT_EQ(runs[0].segments.size(), 4U);
  EXPECT_EQ(runs[0].edges, 15);
  EXPECT_EQ(runs[0].segments[0].patches, 2);
  EXPECT_EQ(runs[1].first, 12);
  EXPECT_EQ(runs[1].face, 1);
}

}  // namespace
}  // namespace tabane::slalom
