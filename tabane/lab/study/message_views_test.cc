#include "tabane/lab/study/message_views.h"

#include <gtest/gtest.h>

#include <functional>

namespace tabane::lab {
namespace {

struct Data {
  std::vector<double> x, y;
};

Data over_powers(int most, const std::function<double(double)>& time) {
  Data data;
  for (int k = 0; k <= most; ++k) {
    data.x.push_back(std::exp2(k));
    data.y.push_back(time(data.x.back()));
  }
  return data;
}

// 1 µs and 1 GB/s, with a waver of 1 % that is no random number.
double wavering(double n) { return (1e-6 + n * 1e-9) * (1 + 0.01 * std::sin(7 * std::log(n + 1))); }

TEST(FitSegments, OneLineStaysOne) {
  const Data data = over_powers(22, wavering);
  const auto segments = fit_segments(data.x, data.y);
  ASSERT_EQ(segments.size(), 1u);
  EXPECT_EQ(segments[0].points, 23u);
  EXPECT_EQ(segments[0].from, 1);
  EXPECT_EQ(segments[0].to, std::exp2(22));
  EXPECT_NEAR(segments[0].line.t0(), 1e-6, 2e-8);
  EXPECT_NEAR(segments[0].line.r_inf(), 1e9, 2e7);
  EXPECT_NEAR(segments[0].line.n_half(), 1000, 40);
}

TEST(FitSegments, FindsTheBorderOfTwoProtocols) {
  // From 4 KiB on 10 µs more, and ten times as fast.
  const Data data =
      over_powers(22, [](double n) { return n < 4096 ? 1e-6 + n * 1e-9 : 11e-6 + n * 1e-10; });
  const auto segments = fit_segments(data.x, data.y);
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[0].to, 2048);
  EXPECT_EQ(segments[1].from, 4096);
  EXPECT_NEAR(segments[0].line.n_half(), 1000, 1);
  EXPECT_NEAR(segments[1].line.t0(), 11e-6, 1e-9);
  EXPECT_NEAR(segments[1].line.r_inf(), 1e10, 1e6);
}

TEST(FitSegments, IntervalsHoldTheValues) {
  const Data data = over_powers(20, wavering);
  const FitSegment segment = fit_segments(data.x, data.y).at(0);
  EXPECT_TRUE(segment.r_inf_interval().contains(segment.line.r_inf()));
  EXPECT_TRUE(segment.n_half_interval().contains(segment.line.n_half()));
  EXPECT_LT(segment.n_half_interval().low, segment.n_half_interval().high);
}

TEST(FitSegments, FewPointsMakeOneLineOrNone) {
  const std::vector<double> x = {1, 2, 3}, y = {2, 3, 4};
  EXPECT_TRUE(fit_segments({}, {}).empty());
  EXPECT_TRUE(fit_segments(std::span(x).first(1), std::span(y).first(1)).empty());
  const auto segments = fit_segments(x, y);
  ASSERT_EQ(segments.size(), 1u);
  EXPECT_NEAR(segments[0].line.t0(), 1, 1e-12);
}

}  // namespace

}  // namespace tabane::lab
