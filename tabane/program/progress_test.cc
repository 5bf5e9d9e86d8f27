#include "tabane/program/progress.h"

#include <gtest/gtest.h>

#include "tabane/program/layout.h"

namespace tabane::program {
namespace {

TEST(ProgressLine, ShowsBarShareNameAndTimeLeft) {
  EXPECT_EQ(progress_line("simd.dot.l1", 0.5, 62, 80),
            "[============            ]  50 %  simd.dot.l1  1:02 left");
  EXPECT_EQ(progress_line("simd.dot.l1", 1, -1, 80),
            "[========================] 100 %  simd.dot.l1");
}

TEST(ProgressLine, GivesUpTheBarBeforeTheText) {
  EXPECT_EQ(progress_line("simd.dot.l1", 0.5, 62, 50),
            "[======      ]  50 %  simd.dot.l1  1:02 left");
  EXPECT_EQ(progress_line("simd.dot.l1", 0.5, 62, 40), " 50 %  simd.dot.l1  1:02 left");
  EXPECT_EQ(progress_line("simd.dot.l1", 0.5, 62, 25), " 50 %  simd.d…  1:02 left");
}

TEST(ProgressLine, IsNeverWiderThanAsked) {
  for (std::size_t width = 0; width < 100; ++width) {
    for (const double seconds : {-1.0, 5.0, 36000.0}) {
      const std::string line = progress_line("memory.bandwidth.束ね.machine", 0.3, seconds, width);
      EXPECT_LE(display_width(line), width) << line;
    }
  }
}

}  // namespace
}  // namespace tabane::program
