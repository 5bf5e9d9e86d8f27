#include "tabane/tools/tune/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "tabane/core/error.h"

namespace tabane::lab::tune {
namespace {

// Counts up like the wheels of an odometer. Returns false after the last.
bool advance(Candidate& candidate, const std::vector<Dimension>& dimensions) {
  for (std::size_t d = dimensions.size(); d-- > 0;) {
    if (++candidate[d] < static_cast<int>(dimensions[d].levels.size())) return true;
    candidate[d] = 0;
  }
  return false;
}

}  // namespace

std::vector<std::size_t> Dimension::by_amount() const {
  std::vector<std::size_t> order(levels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (amounts.empty()) return order;
  std::ranges::stable_sort(order, {}, [&](std::size_t level) { return amounts[level]; });
  return order;
}

Space::Space(std::vector<Dimension> dimensions, const Legal& legal)
    : dimensions_(std::move(dimensions)) {
  Candidate candidate(dimensions_.size(), 0);
  bool first = true;
  do {
    if (first || !legal || legal(candidate)) candidates_.push_back(candidate);
    first = false;
    if (candidates_.size() > kMostCandidates)
      throw core::UsageError("more than {} combinations; vary less, for example with --only",
                             kMostCandidates);
  } while (advance(candidate, dimensions_));
}

std::size_t Space::index_of(const Candidate& candidate) const {
  const auto at = std::ranges::lower_bound(candidates_, candidate);
  const bool found = at != candidates_.end() && *at == candidate;
  return found ? static_cast<std::size_t>(at - candidates_.begin()) : candidates_.size();
}

double Space::amount(Scale scale, const Candidate& candidate) const {
  for (std::size_t d = 0; d < dimensions_.size(); ++d)
    if (dimensions_[d].scale == scale)
      return dimensions_[d].amounts[static_cast<std::size_t>(candidate[d])];
  return 1;
}

bool Space::differs_only_in(Scale scale, const Candidate& candidate) const {
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    const auto level = static_cast<std::size_t>(candidate[d]);
    const Dimension& other = dimensions_[d];
    if (other.scale == scale) continue;
    if (other.counts_workers() ? other.amounts[level] != 1 : level != 0) return false;
  }
  return true;
}

int Space::changes(const Candidate& candidate) const {
  return static_cast<int>(std::ranges::count_if(candidate, [](int level) { return level != 0; }));
}

Factors Space::factors(const Candidate& candidate) const {
  Factors factors;
  for (std::size_t d = 0; d < dimensions_.size(); ++d)
    factors.set(dimensions_[d].name, dimensions_[d].levels[static_cast<std::size_t>(candidate[d])]);
  return factors;
}

std::string Space::text(const Candidate& candidate) const {
  std::string text;
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    if (candidate[d] == 0) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", dimensions_[d].name,
                        dimensions_[d].levels[static_cast<std::size_t>(candidate[d])].text());
  }
  return text.empty() ? kAsStarted : text;
}

std::vector<int> ladder(int most, const std::vector<int>& marks) {
  std::set<int> steps{most};
  for (int step = 1; step <= most; step *= 2) steps.insert(step);
  for (const int mark : marks)
    if (mark >= 1 && mark <= most) steps.insert(mark);
  return {steps.begin(), steps.end()};
}

}  // namespace tabane::lab::tune
