// Pictures as PNG files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tabane::solver {

struct Colour {
  std::uint8_t red = 0, green = 0, blue = 0;
  bool operator==(const Colour&) const = default;
};

struct Picture {
  Picture(std::size_t w, std::size_t h, Colour colour = {})
      : width(w), height(h), pixels(w * h, colour) {}
  Colour& at(std::size_t x, std::size_t y) { return pixels[y * width + x]; }

  std::size_t width, height;   // pixels
  std::vector<Colour> pixels;  // row by row, from the top
};

// Returns the file's bytes. throws: core::Error if libpng refuses the size.
std::string png_of(const Picture& picture);
// throws: as png_of(); core::SystemError.
void write_png(const std::filesystem::path& path, const Picture& picture);

// Returns the colour of a share from 0 (dark blue) to 1 (yellow): evenly spaced for the eye, and
// readable for those who do not see all colours. Source: the end points and middle of matplotlib's
// viridis.
Colour colour_of_share(double share);
// Draws an array in colours from its smallest number to its largest, at most `side` pixels wide and
// high: of a larger one every k-th number. The first row is at the top. Numbers that are not finite
// are white.
Picture picture_of(std::size_t rows, std::size_t columns, std::span<const double> values,
                   std::size_t side = 1000);

}  // namespace tabane::solver
