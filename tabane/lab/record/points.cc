#include "tabane/lab/record/points.h"

#include <fmt/format.h>

#include <algorithm>

#include "tabane/core/error.h"

namespace tabane::lab {

std::string Level::text() const { return is_number() ? fmt::format("{:.15g}", number()) : word(); }

const Level* Factors::find(std::string_view name) const {
  const auto at = std::ranges::find(all_, name, &Factor::name);
  return at == all_.end() ? nullptr : &at->level;
}

namespace {

const Level& require(const Factors& factors, std::string_view name) {
  const Level* level = factors.find(name);
  if (level == nullptr) throw core::Error("a point has no factor '" + std::string(name) + "'");
  return *level;
}

}  // namespace

double Factors::number(std::string_view name) const { return require(*this, name).number(); }
const std::string& Factors::word(std::string_view name) const {
  return require(*this, name).word();
}
std::string Factors::text(std::string_view name) const { return require(*this, name).text(); }

void Factors::set(std::string_view name, Level level) {
  const auto at = std::ranges::find(all_, name, &Factor::name);
  if (at != all_.end())
    at->level = std::move(level);
  else
    all_.push_back({std::string(name), std::move(level)});
}

bool Factors::match(const Factors& wanted) const {
  return std::ranges::all_of(wanted, [&](const Factor& factor) {
    const Level* level = find(factor.name);
    return level != nullptr && *level == factor.level;
  });
}

Factors Factors::with(const Factors& more) const {
  Factors all = *this;
  for (const Factor& factor : more) all.set(factor.name, factor.level);
  return all;
}

std::optional<core::Interval> Point::interval() const {
  if (samples.size() < core::kFewestForInterval) return std::nullopt;
  return core::median_interval(samples);
}

std::optional<core::Ratio> ratio_in_turn(const Point* a, const Point* b) {
  if (a == nullptr || b == nullptr || !a->measured()) return std::nullopt;
  if (a->block != b->block || a->samples.size() != b->samples.size()) return std::nullopt;
  return core::interleaved_ratio(a->samples, b->samples);
}

void Points::declare(const Factors& factors) {
  for (const Factor& factor : factors) known_.insert(factor.name);
}

std::size_t Points::add(Point point) {
  declare(point.factors);
  all_.push_back(std::move(point));
  return all_.size() - 1;
}

void Points::require_known(std::string_view factor) const {
  if (!known_.empty() && !known_.contains(factor))
    throw core::Error("no point has a factor '" + std::string(factor) + "'");
}

const Point* Points::find(const Factors& wanted) const {
  const auto found = where(wanted);
  return found.empty() ? nullptr : found.front();
}

std::vector<const Point*> Points::where(const Factors& wanted, std::string_view by) const {
  for (const Factor& factor : wanted) require_known(factor.name);
  std::vector<const Point*> found;
  for (const Point& point : all_)
    if (point.measured() && point.factors.match(wanted)) found.push_back(&point);
  if (!by.empty())
    std::ranges::stable_sort(found, [&](const Point* a, const Point* b) {
      return require(a->factors, by) < require(b->factors, by);
    });
  return found;
}

std::vector<Level> Points::levels(std::string_view factor, const Factors& wanted) const {
  require_known(factor);
  std::vector<Level> found;
  for (const Point* point : where(wanted)) {
    const Level* level = point->factors.find(factor);
    if (level != nullptr && std::ranges::find(found, *level) == found.end())
      found.push_back(*level);
  }
  std::ranges::stable_sort(found, [](const Level& a, const Level& b) {
    if (a.is_number() && b.is_number()) return a.number() < b.number();
    return a.is_number() && !b.is_number();
  });
  return found;
}

std::vector<double> Points::numbers(std::string_view factor, const Factors& wanted) const {
  std::vector<double> all;
  for (const Level& level : levels(factor, wanted))
    if (level.is_number()) all.push_back(level.number());
  return all;
}

std::vector<std::string> Points::words(std::string_view factor, const Factors& wanted) const {
  std::vector<std::string> all;
  for (const Level& level : levels(factor, wanted))
    if (!level.is_number()) all.push_back(level.word());
  return all;
}

const Point* fastest(const std::vector<const Point*>& points) {
  const auto at = std::ranges::min_element(
      points, [](const Point* a, const Point* b) { return a->median() < b->median(); });
  return at == points.end() ? nullptr : *at;
}

}  // namespace tabane::lab
