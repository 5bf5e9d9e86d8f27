#include "tabane/tools/tune/surrogate.h"

#include <algorithm>
#include <cmath>

namespace tabane::lab::tune {
namespace {

// Two levels of equal amount need not behave alike: one is the command as started.
constexpr double kAlike = 0.9;

double squared(double x) { return x * x; }

// Matérn's with 3/2, which lets slopes change but not jump.
double matern(double distance) {
  const double x = std::sqrt(3.0) * distance;
  return (1 + x) * std::exp(-x);
}

std::vector<double> correlations(const Dimension& dimension, double octaves) {
  const std::size_t n = dimension.levels.size();
  std::vector<double> table(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double& value = table[i * n + j];
      if (i == j) {
        value = 1;
      } else if (dimension.scale != Scale::choice) {
        const double apart = std::log2(dimension.amounts[i] / dimension.amounts[j]);
        value = (i == 0 || j == 0 ? kAlike : 1) * matern(std::abs(apart) / octaves);
      }
    }
  }
  return table;
}

}  // namespace

double Belief::deviation() const { return std::sqrt(std::max(0.0, variance)); }

Kernel::Kernel(const Space& space, const Prior& prior) : prior_(prior) {
  for (const Dimension& dimension : space.dimensions()) {
    scales_.push_back(dimension.scale);
    sizes_.push_back(dimension.levels.size());
    tables_.push_back(correlations(dimension, prior.octaves));
    std::vector<double>& logs = logs_.emplace_back();
    if (!dimension.counts_workers()) continue;
    for (const double amount : dimension.amounts) logs.push_back(std::log2(amount));
  }
}

double Kernel::log_workers(const Candidate& candidate) const {
  double sum = 0;
  for (std::size_t d = 0; d < logs_.size(); ++d)
    if (!logs_[d].empty()) sum += logs_[d][static_cast<std::size_t>(candidate[d])];
  return sum;
}

double Kernel::operator()(const Candidate& a, const Candidate& b) const {
  double sum = squared(prior_.offset), shape = 1, words = 0, words_in_shape = 0, pairs = 0;
  for (std::size_t d = 0; d < scales_.size(); ++d) {
    const double r = correlation(d, a[d], b[d]);
    if (scales_[d] == Scale::processes || scales_[d] == Scale::threads) {
      sum += squared(prior_.workers) * r;
      shape *= r;
    } else {
      const bool word = scales_[d] == Scale::choice;
      sum += squared(word ? prior_.choice : prior_.amount) * r;
      pairs += words * r;  // over all earlier ones
      words += r;
      words_in_shape += r;
    }
  }
  const double total = matern(std::abs(log_workers(a) - log_workers(b)) / prior_.total_octaves);
  sum += total * (squared(prior_.total) + squared(prior_.choice_total) * words_in_shape);
  sum += squared(prior_.shape) * shape + squared(prior_.choice_shape) * shape * words_in_shape +
         squared(prior_.pair) * pairs;
  return a == b ? sum + squared(prior_.own) : sum;
}

Surrogate::Surrogate(const std::vector<Candidate>& candidates, const Kernel& kernel,
                     std::vector<double> means)
    : candidates_(candidates), kernel_(kernel) {
  for (std::size_t i = 0; i < candidates.size(); ++i)
    beliefs_.push_back({means[i], kernel(candidates[i], candidates[i])});
}

void Surrogate::observe(std::size_t candidate, double value, double variance) {
  const std::size_t n = candidates_.size();
  std::vector<float> covariance(n);
  for (std::size_t i = 0; i < n; ++i)
    covariance[i] = static_cast<float>(kernel_(candidates_[candidate], candidates_[i]));
  for (const std::vector<float>& row : rows_) {
    const float at = row[candidate];
    for (std::size_t i = 0; i < n; ++i) covariance[i] -= at * row[i];
  }
  const double total = std::max<double>(covariance[candidate], 0) + variance;
  const double surprise = value - beliefs_[candidate].mean;
  log_likelihood_ -= 0.5 * (std::log(total) + squared(surprise) / total);
  const auto scale = static_cast<float>(1 / std::sqrt(total));
  for (std::size_t i = 0; i < n; ++i) {
    beliefs_[i].mean += covariance[i] * surprise / total;
    beliefs_[i].variance -= squared(covariance[i]) / total;
    covariance[i] *= scale;
  }
  rows_.push_back(std::move(covariance));
}

}  // namespace tabane::lab::tune
