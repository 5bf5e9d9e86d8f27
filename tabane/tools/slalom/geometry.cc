#include "tabane/tools/slalom/geometry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/units.h"

namespace tabane::slalom {
namespace {

constexpr std::size_t kNumbers = 3 + 2 * kFaces * kColours;
// Below it, the diagonal of the systems, S / reflectivity, leaves no digits to anything else.
constexpr double kLeastReflectivity = 1e-6, kMostReflectivity = 0.999;

// The places of numbers in a file: sizes, then reflectivities, then emissivities, face by face of a
// colour.
constexpr std::size_t kFirstReflectivity = 3;
constexpr std::size_t kFirstEmissivity = kFirstReflectivity + kColours * kFaces;

std::size_t colour_of(std::size_t place) {
  return (place - kFirstReflectivity) / kFaces % kColours;
}
std::size_t face_of(std::size_t place) { return (place - kFirstReflectivity) % kFaces; }

double& number_at(Geometry& geometry, std::size_t place) {
  if (place < kFirstReflectivity) return geometry.box[place];
  auto& of_faces = place < kFirstEmissivity ? geometry.reflectivity : geometry.emissivity;
  return of_faces[colour_of(place)][face_of(place)];
}

std::string text_of(std::size_t place) {
  if (place < kFirstReflectivity) return fmt::format("size {} of the box", place + 1);
  return fmt::format("the {} of face {} in {}",
                     place < kFirstEmissivity ? "reflectivity" : "emissivity", face_of(place) + 1,
                     kColourNames[colour_of(place)]);
}

// What a wrong number should have been; empty: it is right.
std::string objection(std::size_t place, double number) {
  if (place < kFirstReflectivity) {
    return number >= 1 && number < 100 ? "" : "1 or more and less than 100";
  }
  if (place >= kFirstEmissivity) return number >= 0 && number < 1e100 ? "" : "0 or more";
  if (number == 0) {
    return fmt::format("more than 0, as the equations divide by it; {} is as good as black",
                       kLeastReflectivity);
  }
  return number >= kLeastReflectivity && number <= kMostReflectivity
             ? ""
             : fmt::format("from {} to {}", kLeastReflectivity, kMostReflectivity);
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  Geometry run() {
    while (!rest_.empty()) {
      ++line_;
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      take_line(rest_.substr(0, end));
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
    }
    if (place_ < kNumbers) {
      refuse(fmt::format("the file ends after {} of {} numbers; expected {}", place_, kNumbers,
                         text_of(place_)));
    }
    require_light();
    return geometry_;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw core::UsageError("{}:{}: {}", name_, std::max(line_, 1), what);
  }

  void take_line(std::string_view line) {
    constexpr std::string_view kBlanks = " \t\r,";
    while (true) {
      const std::size_t begin = line.find_first_not_of(kBlanks);
      if (begin == std::string_view::npos) return;
      line.remove_prefix(begin);
      const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
      if (!take_word(word)) return;
      line.remove_prefix(word.size());
    }
  }

  // Returns false at the comment.
  bool take_word(std::string_view word) {
    const auto number = core::number_in<double>(word.starts_with('+') ? word.substr(1) : word);
    if (!number) {
      if (std::string_view("+-.0123456789").find(word[0]) == std::string_view::npos) return false;
      if (place_ == kNumbers) return false;
      refuse(fmt::format("\"{}\" is not a number; expected {}", word, text_of(place_)));
    }
    if (place_ == kNumbers) {
      refuse(
          fmt::format("\"{}\" follows the last of {} numbers; expected a comment", word, kNumbers));
    }
    put(*number, word);
    return true;
  }

  void put(double number, std::string_view word) {
    const std::string expected = objection(place_, number);
    if (!expected.empty()) {
      refuse(fmt::format("{} is {}; expected {}", text_of(place_), word, expected));
    }
    number_at(geometry_, place_++) = number;
  }

  void require_light() const {
    for (std::size_t colour = 0; colour < kColours; ++colour) {
      if (std::ranges::max(geometry_.emissivity[colour]) > 0) continue;
      refuse(fmt::format("all emissivities in {} are 0; expected a face that gives light",
                         kColourNames[colour]));
    }
  }

  std::string_view rest_;
  const std::string& name_;
  int line_ = 0;
  std::size_t place_ = 0;  // numbers taken
  Geometry geometry_;
};

constexpr int kLeastPatches = 6;

// Returns the columns of a face with that many patches.
int columns_of_face(const Geometry& geometry, int face, int patches) {
  const double ratio = geometry.width(face) / geometry.height(face);
  return std::clamp(static_cast<int>(std::floor(std::sqrt(patches * ratio) + 0.5)), 1,
                    std::max(patches, 1));
}

[[noreturn]] void refuse_eccentric(const Geometry& geometry, int patches) {
  throw core::UsageError("an eccentric box ({} x {} x {}) requires more patches than {}",
                         geometry.box[0], geometry.box[1], geometry.box[2], patches);
}

}  // namespace

std::string default_geometry_text() {
  return "13.5 9.0 8.0                  sizes of the box\n"
         ".80 .99 .54 .84 .01 .84       reflectivities of faces 1 to 6 in red\n"
         ".80 .01 .54 .84 .01 .84       in green\n"
         ".80 .01 .54 .84 .99 .84       in blue\n"
         "1.27 0 0 0 0 0                emissivities in red\n"
         "1.27 0 0 0 0 0                in green\n"
         "1.27 0 0 0 0 0                in blue\n";
}

Geometry parse_geometry(std::string_view text, const std::string& name) {
  return Parser(text, name).run();
}

Geometry read_geometry(const std::filesystem::path& path) {
  return parse_geometry(core::read_file(path), path.string());
}

std::array<int, kFaces + 1> share_patches(const Geometry& geometry, int patches) {
  double whole = 0;
  for (int face = 0; face < kFaces; ++face) whole += geometry.width(face) * geometry.height(face);
  std::array<int, kFaces + 1> begin{};
  double until = 0;
  for (int face = 0; face < kFaces; ++face) {
    until += geometry.width(face) * geometry.height(face);
    begin[static_cast<std::size_t>(face) + 1] =
        static_cast<int>(std::floor(patches * until / whole + 0.5));
  }
  begin.back() = patches;
  return begin;
}

Region cut_into_patches(const Geometry& geometry, int patches) {
  if (patches < kLeastPatches) {
    throw core::UsageError("{} patches do not cover 6 faces: give at least {}", patches,
                           kLeastPatches);
  }
  Region region{.begin = share_patches(geometry, patches), .patches = {}};
  region.patches.reserve(patches);
  for (int face = 0; face < kFaces; ++face) {
    const std::int64_t count = region.count(face);
    if (count < 1) refuse_eccentric(geometry, patches);
    const int columns = columns_of_face(geometry, face, static_cast<int>(count));
    const double width = geometry.width(face) / columns;
    for (int column = 0; column < columns; ++column) {
      const auto row_begin = [&](std::int64_t k) { return (columns - 1 + k * count) / columns; };
      const auto rows = static_cast<int>(row_begin(column + 1) - row_begin(column));
      if (rows < 1) refuse_eccentric(geometry, patches);
      const double height = geometry.height(face) / rows;
      for (int row = 0; row < rows; ++row) {
        region.patches.push_back({face, column, column * width, row * height, width, height});
      }
    }
  }
  return region;
}

}  // namespace tabane::slalom
