#include "tabane/solver/picture.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tabane/core/error.h"
#include "tabane/core/output_file.h"

namespace tabane::solver {

std::string png_of(const Picture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = PNG_FORMAT_RGB;
  static_assert(sizeof(Colour) == 3);
  png_alloc_size_t bytes = 0;
  std::string file;
  const auto write = [&](void* into) {
    if (png_image_write_to_memory(&image, into, &bytes, 0, picture.pixels.data(), 0, nullptr)) {
      return;
    }
    throw core::Error("a picture of {} x {} pixels: {}", picture.width, picture.height,
                      image.message);
  };
  write(nullptr);  // sets bytes
  file.resize(bytes);
  write(file.data());
  file.resize(bytes);
  return file;
}

void write_png(const std::filesystem::path& path, const Picture& picture) {
  core::write_output(path, png_of(picture));
}

Colour colour_of_share(double share) {
  constexpr std::array<std::array<double, 3>, 5> kStops{
      {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}}};
  const double place = std::clamp(share, 0.0, 1.0) * (kStops.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(place), kStops.size() - 2);
  const double part = place - static_cast<double>(below);
  const auto mix = [&](std::size_t channel) {
    return static_cast<std::uint8_t>(
        std::lround(kStops[below][channel] * (1 - part) + kStops[below + 1][channel] * part));
  };
  return {mix(0), mix(1), mix(2)};
}

Picture picture_of(std::size_t rows, std::size_t columns, std::span<const double> values,
                   std::size_t side) {
  const std::size_t step = std::max<std::size_t>(1, (std::max(rows, columns) + side - 1) / side);
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  const double range = most > least ? most - least : 1;
  Picture picture((columns + step - 1) / step, (rows + step - 1) / step, {255, 255, 255});
  for (std::size_t y = 0; y < picture.height; ++y) {
    for (std::size_t x = 0; x < picture.width; ++x) {
      const double value = values[y * step * columns + x * step];
      if (std::isfinite(value)) picture.at(x, y) = colour_of_share((value - least) / range);
    }
  }
  return picture;
}

}  // namespace tabane::solver
