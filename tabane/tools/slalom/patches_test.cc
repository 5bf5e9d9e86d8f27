#include "tabane/tools/slalom/patches.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"
#include "tabane/tools/slalom/box_test.h"

namespace tabane::slalom {
namespace {

std::array<int, kFaces> counts(const Region& region) {
  std::array<int, kFaces> counts{};
  for (int face = 0; face < kFaces; ++face)
    counts[static_cast<std::size_t>(face)] = region.count(face);
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
      areas[static_cast<std::size_t>(patch.face)] += patch.area();
      EXPECT_LE(patch.w + patch.width, kBox.width(patch.face) * (1 + 1e-15));
      EXPECT_LE(patch.h + patch.height, kBox.height(patch.face) * (1 + 1e-15));
    }
    for (int face = 0; face < kFaces; ++face) {
      EXPECT_NEAR(areas[static_cast<std::size_t>(face)], kBox.width(face) * kBox.height(face),
                  1e-11);
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
  try {
    cut_into_patches(eccentric, 20);
    FAIL();
  } catch (const core::UsageError& error) {
    EXPECT_STREQ(error.what(), "an eccentric box (99 x 1 x 1) requires more patches than 20");
  }
  EXPECT_NO_THROW(cut_into_patches(eccentric, 2000));
}

}  // namespace
}  // namespace tabane::slalom
