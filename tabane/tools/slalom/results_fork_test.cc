#include "tabane/tools/slalom/results.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "tabane/comm/launch.h"
#include "tabane/tools/slalom/factors.h"

namespace tabane::slalom {
namespace {

constexpr int kPatches = 60;

// A box whose colours shine as brightly as given.
Geometry box(const std::array<double, kColours>& light) {
  Geometry geometry = parse_geometry(default_geometry_text(), "geom");
  for (std::size_t q = 0; q < kColours; ++q) geometry.emissivity[q][0] = light[q];
  return geometry;
}

// Of the right radiosities, of which that of one colour and patch is multiplied by `factor`.
solver::Check check_of(const Geometry& geometry, std::size_t colour = 0, std::size_t patch = 0,
                       double factor = 1) {
  const auto work = [&](comm::Comm& comm) {
    comm::Grid grid(comm);
    comm::Steps steps = make_steps(comm);
    const Region region = cut_into_patches(geometry, kPatches);
    Couplings couplings(distribute(region.count(0), kPatches, {1, 1}, 0, 0, 16));
    couplings.compute(geometry, region, comm);
    LdlFactors factors(couplings);
    factors.compute(geometry, region, grid, steps);
    std::vector<double> light = substitute(geometry, region, couplings, factors, grid, steps);
    light[colour * kPatches + patch] *= factor;
    return solver::Solution{
        .check = verify(geometry, region, couplings.distribution(), couplings.sums(), light, comm)};
  };
  return comm::launch_result<solver::Solution>({.ranks = 1, .transport = comm::TransportKind::shm},
                                               work)
      ->check;
}

TEST(VerifyLight, PassesWhateverTheColoursBrightnessIs) {
  for (const double other : {1e-30, 1e-9, 1.0, 1e9, 1e30}) {
    for (std::size_t q = 0; q < kColours; ++q) {
      std::array<double, kColours> light{other, other, other};
      light[q] = 1;
      EXPECT_LT(check_of(box(light)).residual, 1e-13) << q << ", " << other;
    }
  }
}

TEST(VerifyLight, SeesAWrongRadiosityOfAnyColourAndPatch) {
  const Geometry geometry = box({1, 1e-6, 1e6});
  for (std::size_t q = 0; q < kColours; ++q) {
    for (std::size_t patch = 0; patch < kPatches; patch += 7) {
      EXPECT_FALSE(check_of(geometry, q, patch, 1 + 1e-4).passed()) << q << ", " << patch;
    }
    EXPECT_FALSE(check_of(geometry, q, 0, std::nan("")).passed());
  }
}

}  // namespace
}  // namespace tabane::slalom
