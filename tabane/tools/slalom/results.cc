#include "tabane/tools/slalom/results.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>

#include "tabane/comm/collectives.h"
#include "tabane/solver/blas.h"

namespace tabane::slalom {
namespace {

constexpr double kTolerance = 0.5e-8;  // the benchmark's is that of three colours together

using Vector = std::array<double, 3>;
using Light = std::array<double, kColours>;

constexpr int kSamples = 3;  // a pixel is the mean of kSamples x kSamples rays

// The box from outside its open face, which is normal to axis 1: axis 0 to the right, axis 2 down.
class Camera {
 public:
  Camera(const Geometry& geometry, int width) : box_(geometry.box), width_(width) {
    // The open face fills the picture but for a margin.
    eye_ = {box_[0] / 2, -1.15 * std::max(box_[0], box_[2]), box_[2] / 2};
    scale_ = box_[0] * (1 + 2 * kMargin) / width;
    height_ = static_cast<int>(std::lround(box_[2] / scale_ + 2 * kMargin * box_[0] / scale_));
  }
  int width() const { return width_; }
  int height() const { return height_; }

  // Where the ray of a place of the picture, in pixels, meets a face from inside; face -1: it
  // misses the box.
  struct Hit {
    int face = -1;
    Vector place{};
  };
  Hit hit(double x, double y) const {
    const Vector on_open_face = {x * scale_ - kMargin * box_[0], 0, y * scale_ - kMargin * box_[0]};
    for (std::size_t axis : {0U, 2U}) {
      if (on_open_face[axis] < 0 || on_open_face[axis] > box_[axis]) return {};
    }
    Vector direction{};
    for (std::size_t axis = 0; axis < 3; ++axis) direction[axis] = on_open_face[axis] - eye_[axis];
    Hit found;
    double nearest = std::numeric_limits<double>::infinity();
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (direction[axis] == 0) continue;
      const double wall = direction[axis] > 0 ? box_[axis] : 0;
      const double way = (wall - eye_[axis]) / direction[axis];
      if (way < 1 || way >= nearest) continue;  // 1: the open face
      nearest = way;
      found.face = static_cast<int>((axis + 1) % 3) + (direction[axis] > 0 ? 3 : 0);
      for (std::size_t i = 0; i < 3; ++i) {
        found.place[i] = std::clamp(eye_[i] + way * direction[i], 0.0, box_[i]);
      }
    }
    return found;
  }

 private:
  static constexpr double kMargin = 0.03;  // of the width of the box

  Vector box_, eye_{};
  int width_, height_ = 0;
  double scale_ = 1;  // of the open face, lengths a pixel
};

// Converts light to what a screen shows: in proportion, but bright light approaches white slowly.
class Film {
 public:
  // mean: of the light that is seen; it becomes a middle tone.
  explicit Film(double mean) : exposure_(mean > 0 ? kMiddle / mean : 1) {}

  // noise: -0.5 ... 0.5, of a step of the picture's numbers.
  std::uint8_t develop(double light, double noise) const {
    const double x = exposure_ * light;
    const double shown =
        x < kShoulder
            ? x
            : kShoulder + (1 - kShoulder) * (1 - std::exp((kShoulder - x) / (1 - kShoulder)));
    const double coded =
        shown <= 0.0031308 ? 12.92 * shown : 1.055 * std::pow(shown, 1 / 2.4) - 0.055;
    return static_cast<std::uint8_t>(std::clamp(std::lround(255 * coded + noise), 0L, 255L));
  }

 private:
  static constexpr double kMiddle = 0.36, kShoulder = 0.5;  // of white

  double exposure_;
};

// Steps of brightness would be seen as bands on large walls: noise of half a step hides them.
double noise_at(std::uint32_t x, std::uint32_t y, std::uint32_t colour) {
  std::uint32_t bits = x * 0x9e3779b1U ^ y * 0x85ebca77U ^ colour * 0xc2b2ae3dU;
  bits = (bits ^ bits >> 15) * 0x2c1b3c6dU;
  bits = (bits ^ bits >> 12) * 0x297a2d39U;
  return (bits ^ bits >> 15) / 4294967296.0 - 0.5;
}

class Renderer {
 public:
  Renderer(const Geometry& geometry, const Region& region, std::span<const double> radiosities,
           int width)
      : region_(region), radiosities_(radiosities), camera_(geometry, width) {
    for (int face = 0; face < kFaces; ++face) faces_.emplace_back(geometry, region, face);
  }

  solver::Picture run() {
    const int width = camera_.width(), height = camera_.height();
    std::vector<Light> lights(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
    double sum = 0;
    std::size_t seen = 0;
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        Light& light = lights[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                              static_cast<std::size_t>(x)];
        light = pixel(x, y);
        const double brightness = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2];
        sum += brightness;
        if (brightness > 0) ++seen;
      }
    }
    const Film film(seen == 0 ? 0 : sum / static_cast<double>(seen));
    solver::Picture picture(width, static_cast<std::size_t>(height));
    for (std::size_t i = 0; i < lights.size(); ++i) {
      const auto x = static_cast<std::uint32_t>(i % picture.width);
      const auto y = static_cast<std::uint32_t>(i / picture.width);
      picture.pixels[i] = {film.develop(lights[i][0], noise_at(x, y, 0)),
                           film.develop(lights[i][1], noise_at(x, y, 1)),
                           film.develop(lights[i][2], noise_at(x, y, 2))};
    }
    return picture;
  }

 private:
  Light pixel(int x, int y) const {
    Light light{};
    for (int sample = 0; sample < kSamples * kSamples; ++sample) {
      const Camera::Hit hit = camera_.hit(x + (sample % kSamples + 0.5) / kSamples,
                                          y + (sample / kSamples + 0.5) / kSamples);
      if (hit.face < 0) continue;
      const auto n = static_cast<std::size_t>(region_.size());
      const double w = hit.place[hit.face % 3];
      const double h = hit.place[(hit.face + 1) % 3];
      for (std::size_t colour = 0; colour < kColours; ++colour) {
        light[colour] +=
            faces_[hit.face].at(radiosities_.subspan(colour * n, n), w, h) / (kSamples * kSamples);
      }
    }
    return light;
  }

  const Region& region_;
  std::span<const double> radiosities_;
  Camera camera_;
  std::vector<SmoothFace> faces_;
};

// The two of `count` equal cells whose centres are next to a place in 0 … 1, and the second's
// share, which is below 0 or above 1 near the ends.
struct Between {
  int first, second;
  double share;
};
Between between_centres(double place, int count) {
  if (count == 1) return {0, 0, 0};
  const double cell = place * count - 0.5;
  const int first = std::clamp(static_cast<int>(std::floor(cell)), 0, count - 2);
  return {first, first + 1, cell - first};
}

double mix(double first, double second, double share) { return first + share * (second - first); }

}  // namespace

solver::Check verify(const Geometry& geometry, const Region& region,
                     const Distribution& distribution, const std::vector<double>& sums,
                     const std::vector<double>& radiosities, comm::Comm& all) {
  const auto n = static_cast<std::size_t>(region.size());
  const int stride = region.size();
  std::vector<double> products(kColours * n);  // C x
  const auto side = static_cast<std::size_t>(distribution.rows.block);
  std::vector<double> block(side * side);
  const auto add = [&](const CouplingBlock& part) {
    const auto ld = static_cast<int>(part.ld);
    const double* const x = radiosities.data();
    solver::add_product(CblasNoTrans, CblasNoTrans, part.rows, kColours, part.columns, 1,
                        part.numbers, ld, x + part.column, stride, products.data() + part.row,
                        stride);
    if (part.diagonal()) return;
    solver::add_product(CblasTrans, CblasNoTrans, part.columns, kColours, part.rows, 1,
                        part.numbers, ld, x + part.row, stride, products.data() + part.column,
                        stride);
  };
  for_each_block(
      geometry, region, distribution,
      [&](bool, int, int) {
        return BlockStorage{block.data(), side};
      },
      add);
  comm::all_reduce(all, products, comm::Operation::sum, {.reproducible = true});
  solver::Check check{0, kTolerance};
  for (std::size_t q = 0; q < kColours; ++q) {
    double residual = 0, largest_x = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto face = static_cast<std::size_t>(region.patches[i].face);
      const double diagonal = sums[i] / geometry.reflectivity[q][face];
      const double x = radiosities[q * n + i];
      residual += std::abs(x - geometry.emissivity[q][face] - products[q * n + i] / diagonal);
      largest_x = std::max(largest_x, std::abs(x));
    }
    const double relative = residual / largest_x;
    if (relative > check.residual || std::isnan(relative)) check.residual = relative;
  }
  return check;
}

std::string answer_text(const Geometry& geometry, const Region& region,
                        std::span<const double> radiosities) {
  const auto n = static_cast<std::size_t>(region.size());
  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "{} patches:\n", n);
  fmt::format_to(out, " patch  face         w         h         d     width    height\n");
  for (std::size_t i = 0; i < n; ++i) {
    const Patch& patch = region.patches[i];
    fmt::format_to(out, FMT_COMPILE("{:6} {:5} {:9.5f} {:9.5f} {:9.5f} {:9.5f} {:9.5f}\n"), i + 1,
                   patch.face + 1, patch.w, patch.h, geometry.depth(patch.face), patch.width,
                   patch.height);
  }
  fmt::format_to(out, "\n patch  face              red            green             blue\n");
  for (std::size_t i = 0; i < n; ++i) {
    fmt::format_to(out, FMT_COMPILE("{:6} {:5} {:16.9g} {:16.9g} {:16.9g}\n"), i + 1,
                   region.patches[i].face + 1, radiosities[i], radiosities[n + i],
                   radiosities[2 * n + i]);
  }
  return fmt::to_string(text);
}

SmoothFace::SmoothFace(const Geometry& geometry, const Region& region, int face)
    : width_(geometry.width(face)), height_(geometry.height(face)) {
  const int begin = region.begin[face];
  for (int i = begin; i < begin + region.count(face); ++i) {
    const int column = region.patches[i].column;
    if (column == static_cast<int>(columns_.size())) columns_.push_back({i, 0});
    ++columns_.back().rows;
  }
}

double SmoothFace::of_column(std::span<const double> radiosities, int column, double h) const {
  const Column& rows = columns_[column];
  const Between cells = between_centres(h / height_, rows.rows);
  const auto value = [&](int row) { return radiosities[rows.first + row]; };
  return mix(value(cells.first), value(cells.second), cells.share);
}

double SmoothFace::at(std::span<const double> radiosities, double w, double h) const {
  const Between cells = between_centres(w / width_, static_cast<int>(columns_.size()));
  const double light = mix(of_column(radiosities, cells.first, h),
                           of_column(radiosities, cells.second, h), cells.share);
  return std::max(light, 0.0);
}

solver::Picture picture_of_light(const Geometry& geometry, const Region& region,
                                 std::span<const double> radiosities, int width) {
  return Renderer(geometry, region, radiosities, width).run();
}

}  // namespace tabane::slalom
