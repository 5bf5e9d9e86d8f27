#include "tabane/device/module.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tabane/core/text_of_error_test.h"

namespace tabane::device {
namespace {

Description described(const char* name, const char* platform, Kind kind) {
  Description description;
  description.name = name;
  description.platform = platform;
  description.kind = kind;
  description.compute_units = 8;
  description.memory_bytes = std::uint64_t{4} << 30;
  return description;
}

const Devices kThree{.list = {described("pthread-x86", "Portable Computing Language", Kind::cpu),
                              described("Phi", "Old Makers", Kind::accelerator),
                              described("H200", "NVIDIA CUDA", Kind::gpu)},
                     .reason = ""};

TEST(ChooseDevice, PrefersGpusToAcceleratorsToOthers) {
  EXPECT_EQ(choose_device(kThree, ""), 2u);
  EXPECT_EQ(choose_device({.list = {kThree.list[0], kThree.list[1]}, .reason = ""}, ""), 1u);
  EXPECT_EQ(choose_device({.list = {kThree.list[0]}, .reason = ""}, ""), 0u);
}

TEST(ChooseDevice, TakesAnIndexOrAPartOfANameInAnyCase) {
  EXPECT_EQ(choose_device(kThree, "1"), 1u);
  EXPECT_EQ(choose_device(kThree, "h2"), 2u);
  EXPECT_EQ(choose_device(kThree, "portable"), 0u);
  EXPECT_EQ(choose_device(kThree, "OLD"), 1u);
}

TEST(ChooseDevice, ListsWhatThereIsForAnotherOne) {
  for (const char* wanted : {"3", "abacus", "-1", "99999999999999999999"}) {
    const std::string why = core::text_of_error([&] { choose_device(kThree, wanted); });
    EXPECT_TRUE(why.starts_with(fmt::format("there is no OpenCL device {}, only 0: ", wanted)))
        << why;
    EXPECT_NE(why.find("1: Phi (Old Makers), accelerator of 8 units, 4 GiB"), std::string::npos)
        << why;
  }
}

TEST(ChooseDevice, SaysWhyThereIsNone) {
  const Devices none{.list = {}, .reason = "nobody has one"};
  EXPECT_EQ(core::text_of_error([&] { choose_device(none, ""); }),
            "there is no OpenCL device: nobody has one");
}

TEST(Devices, AreThereOrHaveAReason) {
  EXPECT_NE(devices().list.empty(), devices().reason.empty());
}

}  // namespace
}  // namespace tabane::device
