#include "tabane/solver/picture.h"

#include <gtest/gtest.h>
#include <png.h>

#include <limits>
#include <numeric>

#include "tabane/core/error.h"

namespace tabane::solver {
namespace {

std::vector<Colour> pixels_in(const std::string& file) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_memory(&image, file.data(), file.size()), 0);
  image.format = PNG_FORMAT_RGB;
  std::vector<Colour> pixels(std::size_t{image.width} * image.height);
  EXPECT_NE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr), 0);
  return pixels;
}

TEST(Picture, ComesBackFromItsFile) {
  Picture picture(3, 2);
  picture.at(0, 0) = {255, 0, 0};
  picture.at(2, 1) = {1, 2, 3};
  EXPECT_EQ(pixels_in(png_of(picture)), picture.pixels);
}

TEST(Picture, RefusesWhatPngCannotHold) { EXPECT_THROW(png_of(Picture(0, 0)), core::Error); }

TEST(Picture, ShowsTheSmallestAndTheLargestNumberAtTheEndsOfTheScale) {
  const std::vector<double> values{3, 1, 2, std::numeric_limits<double>::quiet_NaN()};
  const Picture picture = picture_of(2, 2, values);
  EXPECT_EQ(picture.pixels[0], colour_of_share(1));
  EXPECT_EQ(picture.pixels[1], colour_of_share(0));
  EXPECT_EQ(picture.pixels[2], colour_of_share(0.5));
  EXPECT_EQ(picture.pixels[3], (Colour{255, 255, 255}));
}

TEST(Picture, LeavesNumbersOutWhereThereAreTooMany) {
  std::vector<double> values(6 * 4);
  std::iota(values.begin(), values.end(), 0.0);
  const Picture picture = picture_of(6, 4, values, 3);
  EXPECT_EQ(picture.width, 2U);
  EXPECT_EQ(picture.height, 3U);
  EXPECT_EQ(picture.pixels[3], colour_of_share(10 / 23.0));
}

TEST(Picture, GetsLighterWithTheShare) {
  double before = -1;
  for (double share = 0; share <= 1; share += 0.05) {
    const Colour colour = colour_of_share(share);
    const double light = 0.2126 * colour.red + 0.7152 * colour.green + 0.0722 * colour.blue;
    EXPECT_GT(light, before);
    before = light;
  }
}

}  // namespace
}  // namespace tabane::solver
