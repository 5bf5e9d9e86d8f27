#include "tabane/tools/slalom/geometry.h"

#include <gtest/gtest.h>

#include "tabane/core/text_of_error_test.h"
#include "tabane/tools/slalom/box_test.h"

namespace tabane::slalom {
namespace {

// Text with a part of the default one replaced.
std::string changed(std::string_view from, std::string_view to) {
  std::string text = default_geometry_text();
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, from.size(), to);
}

void expect_refused(const std::string& text, const std::string& because) {
  EXPECT_EQ(core::text_of_error<core::UsageError>([&] { parse_geometry(text, "geom"); }), because);
}

TEST(Geometry, HasTheBenchmarksBox) {
  const Geometry geometry = parse_geometry(default_geometry_text(), "geom");
  EXPECT_EQ(geometry.box, (std::array{13.5, 9.0, 8.0}));
  EXPECT_EQ(geometry.reflectivity[0], (Faces{.80, .99, .54, .84, .01, .84}));
  EXPECT_EQ(geometry.reflectivity[1], (Faces{.80, .01, .54, .84, .01, .84}));
  EXPECT_EQ(geometry.reflectivity[2], (Faces{.80, .01, .54, .84, .99, .84}));
  EXPECT_EQ(geometry.emissivity[2], (Faces{1.27, 0, 0, 0, 0, 0}));
  EXPECT_EQ(geometry.width(4), 9);
  EXPECT_EQ(geometry.height(4), 8);
  EXPECT_EQ(geometry.depth(1), 0);
  EXPECT_EQ(geometry.depth(4), 13.5);
}

TEST(Geometry, ReadsNumbersOnAnyLinesWithComments) {
  std::string text;
  for (const char c : changed("reflectivities of faces 1 to 6", "")) text += c == ' ' ? '\n' : c;
  EXPECT_EQ(parse_geometry(text, "geom"), parse_geometry(default_geometry_text(), "geom"));
  EXPECT_EQ(parse_geometry(changed("in green", "in green, 3 of 6") + "and 40 41 is comment\n", ""),
            parse_geometry(default_geometry_text(), ""));
}

TEST(Geometry, SaysWhatIsWrongAndWhere) {
  expect_refused("", "geom:1: the file ends after 0 of 39 numbers; expected size 1 of the box");
  expect_refused("13.5 9 8\n.8 .9\n",
                 "geom:2: the file ends after 5 of 39 numbers; expected the reflectivity of face 3 "
                 "in red");
  expect_refused(changed(".54", ".5x4"),
                 "geom:2: \".5x4\" is not a number; expected the reflectivity of face 3 in red");
  expect_refused(changed("9.0", "100"),
                 "geom:1: size 2 of the box is 100; expected 1 or more and less than 100");
  expect_refused(changed("9.0", "nan"),
                 "geom:1: size 2 of the box is nan; expected 1 or more and less than 100");
  expect_refused(changed("9.0", "0.99"),
                 "geom:1: size 2 of the box is 0.99; expected 1 or more and less than 100");
  expect_refused(changed(".99", "0.9991"),
                 "geom:2: the reflectivity of face 2 in red is 0.9991; expected from 1e-06 to "
                 "0.999");
  expect_refused(changed(".01", "0"),
                 "geom:2: the reflectivity of face 5 in red is 0; expected more than 0, as the "
                 "equations divide by it; 1e-06 is as good as black");
  expect_refused(changed("1.27 0 0", "1.27 0 -1"),
                 "geom:5: the emissivity of face 3 in red is -1; expected 0 or more");
  expect_refused(changed("1.27", "0"),
                 "geom:7: all emissivities in red are 0; expected a face that gives light");
  expect_refused(default_geometry_text() + "7\n",
                 "geom:8: \"7\" follows the last of 39 numbers; expected a comment");
}

std::array<int, kFaces> counts(const Region& region) {
  std::array<int, kFaces> counts{};
  for (int face = 0; face < kFaces; ++face) counts[face] = region.count(face);
  return counts;
}

TEST(Patches, AreSharedByArea) {
  EXPECT_EQ(counts(cut_into_patches(kBox, 6)), (std::array{1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(counts(cut_into_patches(kBox, 60)), (std::array{12, 7, 11, 12, 7, 11}));
  EXPECT_EQ(counts(cut_into_patches(kBox, 1000)), (std::array{201, 120, 179, 201, 120, 179}));
}

TEST(Patches, CoverEachFaceOnce) {
  for (int n : {6, 7, 60, 997}) {
    const Region region = cut_into_patches(kBox, n);
    ASSERT_EQ(region.patches.size(), static_cast<std::size_t>(n));
    std::array<double, kFaces> areas{};
    for (const Patch& patch : region.patches) {
      areas[patch.face] += patch.area();
      EXPECT_LE(patch.w + patch.width, kBox.width(patch.face) * (1 + 1e-15));
      EXPECT_LE(patch.h + patch.height, kBox.height(patch.face) * (1 + 1e-15));
    }
    for (int face = 0; face < kFaces; ++face) {
      EXPECT_NEAR(areas[face], kBox.width(face) * kBox.height(face), 1e-11);
    }
  }
}

TEST(Patches, OfAColumnFollowEachOther) {
  const Region region = cut_into_patches(kBox, 500);
  for (std::size_t i = 1; i < region.patches.size(); ++i) {
    const Patch &before = region.patches[i - 1], &patch = region.patches[i];
    if (before.face != patch.face || before.column != patch.column) {
      EXPECT_EQ(patch.h, 0);
      continue;
    }
    EXPECT_EQ(patch.w, before.w);
    EXPECT_NEAR(patch.h, before.h + before.height, 1e-14);
  }
}

TEST(Patches, TooFewForTheBoxAreRefused) {
  EXPECT_THROW(cut_into_patches(kBox, 5), core::UsageError);
  Geometry eccentric = kBox;
  eccentric.box = {99, 1, 1};
  EXPECT_EQ(core::text_of_error<core::UsageError>([&] { cut_into_patches(eccentric, 20); }),
            "an eccentric box (99 x 1 x 1) requires more patches than 20");
  EXPECT_NO_THROW(cut_into_patches(eccentric, 2000));
}

}  // namespace
}  // namespace tabane::slalom
