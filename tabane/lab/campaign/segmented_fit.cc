#include "tabane/lab/campaign/segmented_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tabane::lab {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Residuals below this are as good as none: no border is worth more than the clock can tell.
constexpr double kFinest = 1e-3;

// Sum of squared relative residuals about the best line through points [begin, end).
double cost_of_line(std::span<const double> x, std::span<const double> y, std::size_t begin,
                    std::size_t end) {
  double sw = 0, sx = 0, sy = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const double w = 1 / (y[i] * y[i]);
    sw += w;
    sx += w * x[i];
    sy += w * y[i];
  }
  const double mx = sx / sw, my = sy / sw;
  double sxx = 0, sxy = 0, syy = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const double w = 1 / (y[i] * y[i]);
    sxx += w * (x[i] - mx) * (x[i] - mx);
    sxy += w * (x[i] - mx) * (y[i] - my);
    syy += w * (y[i] - my) * (y[i] - my);
  }
  return std::max(0.0, sxx > 0 ? syy - sxy * sxy / sxx : syy);
}

// The cheapest ways to cut the first points into so many parts.
class Cuts {
 public:
  Cuts(std::span<const double> x, std::span<const double> y, std::size_t most, std::size_t fewest)
      : n_(x.size()) {
    cost_.assign(most + 1, std::vector<double>(n_ + 1, kInfinity));
    last_cut_.assign(most + 1, std::vector<std::size_t>(n_ + 1, 0));
    cost_[0][0] = 0;
    for (std::size_t begin = 0; begin < n_; ++begin) {
      for (std::size_t end = begin + fewest; end <= n_; ++end) {
        const double line = cost_of_line(x, y, begin, end);
        for (std::size_t parts = 1; parts <= most; ++parts) {
          const double cost = cost_[parts - 1][begin] + line;
          if (cost >= cost_[parts][end]) continue;
          cost_[parts][end] = cost;
          last_cut_[parts][end] = begin;
        }
      }
    }
  }

  // Smaller is better; a part costs a line's two parameters and a border.
  double criterion(std::size_t parts) const {
    const auto n = static_cast<double>(n_);
    const double variance = cost_[parts][n_] / n + kFinest * kFinest;
    return n * std::log(variance) + 3 * static_cast<double>(parts) * std::log(n);
  }
  // Where the parts begin, and the end.
  std::vector<std::size_t> borders(std::size_t parts) const {
    std::vector<std::size_t> at = {n_};
    for (; parts > 0; --parts) at.push_back(last_cut_[parts][at.back()]);
    std::reverse(at.begin(), at.end());
    return at;
  }

 private:
  std::size_t n_;
  std::vector<std::vector<double>> cost_;  // by parts and points
  std::vector<std::vector<std::size_t>> last_cut_;
};

}  // namespace

core::Interval FitSegment::r_inf_interval() const {
  const auto rate = [](double slope) { return slope > 0 ? 1 / slope : kInfinity; };
  return {rate(line.slope_interval.high), rate(line.slope_interval.low)};
}

core::Interval FitSegment::n_half_interval() const {
  const core::Interval rate = r_inf_interval();
  return {std::max(0.0, line.intercept_interval.low) * rate.low,
          std::max(0.0, line.intercept_interval.high) * rate.high};
}

std::vector<FitSegment> fit_segments(std::span<const double> x, std::span<const double> y,
                                     std::size_t most, std::size_t fewest) {
  if (x.size() < 2) return {};
  fewest = std::clamp<std::size_t>(fewest, 2, x.size());
  const Cuts cuts(x, y, most, fewest);
  std::size_t best = 1;
  for (std::size_t parts = 2; parts <= most; ++parts) {
    if (cuts.criterion(parts) < cuts.criterion(best)) best = parts;
  }
  const std::vector<std::size_t> borders = cuts.borders(best);
  std::vector<FitSegment> segments;
  for (std::size_t i = 0; i + 1 < borders.size(); ++i) {
    const std::size_t begin = borders[i], points = borders[i + 1] - begin;
    segments.push_back({x[begin], x[begin + points - 1], points,
                        core::fit_line(x.subspan(begin, points), y.subspan(begin, points),
                                       core::FitWeight::relative)});
  }
  return segments;
}

}  // namespace tabane::lab
