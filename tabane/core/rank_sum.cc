#include "tabane/core/rank_sum.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "tabane/core/error.h"

namespace tabane::core {
namespace {

// Twice the mean rank of each sample of `s`, which is sorted: an integer. Ranks count from 1.
std::vector<std::size_t> doubled_ranks(std::span<const double> s) {
  std::vector<std::size_t> ranks(s.size());
  for (std::size_t first = 0, end = 0; first < s.size(); first = end) {
    while (end < s.size() && s[end] == s[first]) ++end;
    std::fill(ranks.begin() + static_cast<std::ptrdiff_t>(first),
              ranks.begin() + static_cast<std::ptrdiff_t>(end), first + 1 + end);
  }
  return ranks;
}

// Of all ways to choose k of the ranks, the share whose sum is at least `distance` from the mean of
// all, k / n of the sum of all ranks: a distance in units of 1 / n.
double share_of_choices(std::span<const std::size_t> ranks, std::size_t k, double distance) {
  const std::size_t total = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0});
  // ways[j][sum]: to choose j of the ranks seen so far with this sum
  std::vector<std::vector<double>> ways(k + 1, std::vector<double>(total + 1));
  ways[0][0] = 1;
  std::size_t most = 0;  // the sum of those seen
  for (const std::size_t rank : ranks) {
    for (std::size_t j = k; j-- > 0;) {
      for (std::size_t sum = 0; sum <= most; ++sum) ways[j + 1][sum + rank] += ways[j][sum];
    }
    most += rank;
  }
  const auto n = static_cast<double>(ranks.size());
  const double mean = static_cast<double>(k) * static_cast<double>(total);
  double far = 0, all = 0;
  for (std::size_t sum = 0; sum <= total; ++sum) {
    all += ways[k][sum];
    if (std::abs(n * static_cast<double>(sum) - mean) >= distance) far += ways[k][sum];
  }
  return far / all;
}

}  // namespace

double rank_sum_chance(std::span<const double> a, std::span<const double> b) {
  TABANE_ASSERT(!a.empty() && !b.empty());
  constexpr std::size_t kMostForExact = 40;
  std::vector<double> both(a.begin(), a.end());
  both.insert(both.end(), b.begin(), b.end());
  std::ranges::sort(both);
  const std::vector<std::size_t> ranks = doubled_ranks(both);
  double of_a = 0, total = 0, squares = 0;
  for (const double x : a) {
    of_a += static_cast<double>(
        ranks[static_cast<std::size_t>(std::ranges::lower_bound(both, x) - both.begin())]);
  }
  for (const std::size_t rank : ranks) {
    total += static_cast<double>(rank);
    squares += static_cast<double>(rank) * static_cast<double>(rank);
  }
  const auto n = static_cast<double>(both.size()), k = static_cast<double>(a.size());
  const double distance = std::abs(n * of_a - k * total);
  if (both.size() <= kMostForExact) return share_of_choices(ranks, a.size(), distance);
  const double variance =
      k * (n - k) / (n - 1) * (squares - total * total / n);  // n times the sum's
  return variance > 0 ? std::erfc(distance / std::sqrt(2 * n * variance)) : 1;
}

}  // namespace tabane::core
