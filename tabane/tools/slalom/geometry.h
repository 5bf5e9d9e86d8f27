// The box of SLALOM: its size, and how its six faces reflect and give light. As a file, "geom": 39
// numbers, on each line as many as one likes; after its last number a line may have a comment.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tabane::slalom {

inline constexpr int kFaces = 6, kColours = 3;
inline constexpr std::array<std::string_view, kColours> kColourNames{"red", "green", "blue"};

// What the faces have of a colour; face f here is face f + 1 in files.
using Faces = std::array<double, kFaces>;

// Face f spans the axes f and f + 1 (mod 3), and is normal to axis f + 2: at 0 for the first three,
// at the other end of the box for the others.
struct Geometry {
  std::array<double, 3> box{};
  std::array<Faces, kColours> reflectivity{}, emissivity{};

  double width(int face) const { return box[face % 3]; }
  double height(int face) const { return box[(face + 1) % 3]; }
  // Place of the face on its normal axis.
  double depth(int face) const { return face < 3 ? 0 : box[(face + 2) % 3]; }
  bool operator==(const Geometry&) const = default;
};

// The benchmark's: 13.5 x 9 x 8, one grey face gives light, one is red and one is blue.
std::string default_geometry_text();

// name: for errors. throws: core::UsageError naming the line, what is there and what was expected:
// 1 <= sizes < 100, 0 < reflectivities <= 0.999, emissivities >= 0 with light in each colour.
Geometry parse_geometry(std::string_view text, const std::string& name);
// throws: as parse_geometry(); core::SystemError.
Geometry read_geometry(const std::filesystem::path& path);

// A rectangle in the coordinates of its face: w along its width, h along its height.
struct Patch {
  int face = 0;
  int column = 0;  // of its face; the patches of a column follow each other along h
  double w = 0, h = 0, width = 0, height = 0;

  double area() const { return width * height; }
};

struct Region {
  std::array<int, kFaces + 1> begin{};  // of each face's patches; the last is their number
  std::vector<Patch> patches;           // face by face, and on a face column by column

  int count(int face) const { return begin[static_cast<std::size_t>(face) + 1] - begin[face]; }
  int size() const { return begin.back(); }
};

// Patches per face by area, in the sense of Region::begin. A face may have none.
std::array<int, kFaces + 1> share_patches(const Geometry& geometry, int patches);

// patches: at least 6. throws: core::UsageError if a face or a column would have no patch, as in
// an eccentric box.
Region cut_into_patches(const Geometry& geometry, int patches);

}  // namespace tabane::slalom
