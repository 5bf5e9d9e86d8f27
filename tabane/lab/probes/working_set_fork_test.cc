#include "tabane/lab/probes/working_set.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tabane/simd/compressible_test.h"

namespace tabane::lab {
namespace {

TEST(Mixes, CountTheOperandsThatTheyTouch) {
  EXPECT_EQ(bytes_of(Mix::read), 8);
  EXPECT_EQ(bytes_of(Mix::read2), 16);
  EXPECT_EQ(bytes_of(Mix::update), 24);
  EXPECT_EQ(arrays_of(Mix::update), 2);
  EXPECT_EQ(bytes_of(Mix::triad), 24);
  EXPECT_EQ(arrays_of(Mix::triad), 3);
}

TEST(Roofs, HaveSeveralLoopsForEachMix) {
  for (const Mix mix : kMixes) EXPECT_GE(roofs_of(mix).size(), 3u) << name_of(mix);
}

TEST(WorkingSet, IsCutIntoArraysThatFillItAndStayNormalUnderAllKernelsInTurn) {
  WorkingSet set(48 * 1024);
  for (int round = 0; round < 20; ++round) {
    for (const Kernel& kernel : vector_kernels()) {
      const Arrays arrays = set.next(kernel.mix);
      const std::size_t bytes =
          arrays.a.size() * 8 * static_cast<std::size_t>(arrays_of(kernel.mix));
      EXPECT_LE(bytes, 48u * 1024);
      EXPECT_GE(bytes, 47u * 1024);
      for (int pass = 0; pass < 50; ++pass) kernel.run(arrays);
      for (const auto& array : {arrays.a, arrays.b, arrays.c}) {
        EXPECT_TRUE(std::ranges::all_of(array, [](double v) { return std::isnormal(v); }))
            << kernel.name;
      }
    }
  }
}

// A roof then goes over both in one call.
TEST(WorkingSet, PutsTwoArraysThatAreOnlyReadBehindEachOther) {
  for (const std::size_t bytes : {std::size_t{24} << 10, 4 * WorkingSet::kWindow}) {
    WorkingSet set(bytes);
    const Arrays arrays = set.next(Mix::read2);
    EXPECT_EQ(arrays.b.data(), arrays.a.data() + arrays.a.size());
    const Arrays copied = set.next(Mix::copy);
    EXPECT_NE(copied.b.data(), copied.a.data() + copied.a.size());
  }
}

TEST(WorkingSet, HasAtLeastOneLineForEachArray) {
  WorkingSet set(0);
  for (const Kernel& kernel : vector_kernels()) {
    EXPECT_EQ(set.elements(kernel.mix), 8u);
    kernel.run(set.next(kernel.mix));
  }
}

TEST(WorkingSet, WalksALargeSetInWindows) {
  WorkingSet set(4 * WorkingSet::kWindow);
  const double* first = set.next(Mix::triad).a.data();
  for (int window = 1; window < 4; ++window) {
    const Arrays arrays = set.next(Mix::read);
    EXPECT_EQ(arrays.a.data() - first, window * static_cast<long>(WorkingSet::kWindow / 8));
  }
  EXPECT_EQ(set.next(Mix::copy).a.data(), first);
}

TEST(WorkingSet, HoldsValuesThatNoHardwareCanMakeShorterBeforeAndAfterItsRoofs) {
  for (const std::size_t bytes : {std::size_t{48} << 10, 4 * WorkingSet::kWindow}) {
    WorkingSet set(bytes);
    for (const Mix mix : {Mix::read, Mix::write, Mix::copy, Mix::triad}) {
      EXPECT_EQ(simd::compressible_lines(set.next(Mix::read).a), 0u) << name_of(mix);
      for (const Loop& roof : roofs_of(mix)) roof.on(set)(5);
    }
    for (int window = 0; window < 4; ++window)
      EXPECT_EQ(simd::compressible_lines(set.next(Mix::read).a), 0u);
  }
}

TEST(WorkingSet, ForgetsTheOneNumberThatSetHasLeft) {
  for (const std::size_t bytes : {std::size_t{48} << 10, 4 * WorkingSet::kWindow}) {
    WorkingSet set(bytes);
    const auto kernel = std::ranges::find(vector_kernels(), "set", &Kernel::name);
    loop_of(*kernel).on(set)(3);
    set.generate_last(3);
    for (int window = 0; window < 4; ++window)
      EXPECT_EQ(simd::compressible_lines(set.next(Mix::read).a), 0u);
  }
}

TEST(WorkingSet, CanBeAPartOfAnother) {
  WorkingSet whole(1 << 20);
  WorkingSet part(whole, 512 << 10, 512 << 10);
  const Arrays arrays = part.next(Mix::triad);
  EXPECT_EQ(arrays.a.data() - whole.next(Mix::read).a.data(), (512 << 10) / 8);
  EXPECT_TRUE(std::ranges::all_of(arrays.c, [](double v) { return v >= 1 && v < 2; }));
}

TEST(Rates, AreAmountsOverSeconds) {
  core::Series series;
  series.samples = {0.5, 2};
  EXPECT_EQ(rates(series, 10), (std::vector<double>{20, 5}));
}

}  // namespace

}  // namespace tabane::lab
