#include "tabane/tools/slalom/results.h"

#include <gtest/gtest.h>

#include "tabane/tools/slalom/box_test.h"

namespace tabane::slalom {
namespace {

TEST(SmoothFace, IsLinearWhereTheLightIs) {
  const Region region = cut_into_patches(kBox, 400);
  const auto light = [](double w, double h) { return 1 + 0.3 * w + 0.2 * h; };
  std::vector<double> radiosities;
  for (const Patch& patch : region.patches) {
    radiosities.push_back(light(patch.w + patch.width / 2, patch.h + patch.height / 2));
  }
  for (int face = 0; face < kFaces; ++face) {
    const SmoothFace smooth(kBox, region, face);
    for (double w : {0.0, 0.3, 4.0, kBox.width(face)}) {
      for (double h : {0.0, 1.1, kBox.height(face)}) {
        EXPECT_NEAR(smooth.at(radiosities, w, h), light(w, h), 1e-12);
      }
    }
  }
}

TEST(SmoothFace, OfOnePatchIsEven) {
  const Region region = cut_into_patches(kBox, 6);
  const std::vector<double> radiosities{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(SmoothFace(kBox, region, 2).at(radiosities, 0, 13), 3);
}

TEST(SmoothFace, IsNeverBelowZero) {
  const Region region = cut_into_patches(kBox, 60);
  std::vector<double> radiosities(60, 0.0);
  radiosities[1] = 1;  // next to the edge: the line through it and the last one goes below
  EXPECT_EQ(SmoothFace(kBox, region, 0).at(radiosities, 0, 0), 0);
}

class PictureOfLight : public testing::Test {
 protected:
  // A box whose faces have a light of their own each; red is twice as bright.
  solver::Picture draw() const {
    const Region region = cut_into_patches(kBox, 6);
    const std::vector<double> radiosities{.2, .4, .6, .8, 1,  1.2, .1, .2, .3,
                                          .4, .5, .6, .1, .2, .3,  .4, .5, .6};
    return picture_of_light(kBox, region, radiosities, 200);
  }
};

TEST_F(PictureOfLight, HasTheFormOfTheBox) {
  const solver::Picture picture = draw();
  EXPECT_EQ(picture.width, 200U);
  EXPECT_NEAR(static_cast<double>(picture.height), 200 * (8 + 0.06 * 13.5) / (1.06 * 13.5), 1);
}

TEST_F(PictureOfLight, ShowsFiveFacesAndTheBackground) {
  solver::Picture picture = draw();
  const std::size_t middle = picture.height / 2;
  EXPECT_EQ(picture.at(0, 0), (solver::Colour{0, 0, 0}));
  const solver::Colour ceiling = picture.at(100, 8), left = picture.at(8, middle),
                       floor = picture.at(100, picture.height - 9), right = picture.at(191, middle),
                       back = picture.at(100, middle);
  const auto red = [](const solver::Colour& colour) { return int{colour.red}; };
  // Faces 1, 2, 4, 5, 6.
  EXPECT_LT(red(ceiling), red(left));
  EXPECT_LT(red(left), red(floor));
  EXPECT_LT(red(floor), red(right));
  EXPECT_LT(red(right), red(back));
  EXPECT_GT(back.red, back.blue);
}

}  // namespace
}  // namespace tabane::slalom
