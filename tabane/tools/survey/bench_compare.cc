#include "tabane/tools/survey/bench_compare.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace tabane::bench {
namespace {

// f(first, second, figure of the first, the same figure of the second)
void for_each_pair(std::span<const lab::Record> surveys, auto f) {
  for (std::size_t second = 1; second < surveys.size(); ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      for (const lab::Result& a : surveys[first].results) {
        if (const lab::Result* b = surveys[second].find(a.name)) f(first, second, a, *b);
      }
    }
  }
}

bool matches(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  const std::string_view head = pattern.substr(0, star), tail = pattern.substr(star + 1);
  return name.size() >= head.size() + tail.size() && name.starts_with(head) &&
         name.ends_with(tail) &&
         name.substr(star, name.size() - head.size() - tail.size()).find('.') == name.npos;
}

double roof_in(const lab::Record& survey, const lab::Result& figure, const std::string& roofs) {
  if (figure.limit) return figure.limit->value;
  double roof = *figure.value;
  for (const lab::Result& each : survey.results) {
    if (!each.value || !matches(roofs, each.name)) continue;
    roof = figure.better == lab::Better::lower ? std::min(roof, *each.value)
                                               : std::max(roof, *each.value);
  }
  return roof;
}

}  // namespace

double IntervalPair::gap() const {
  const double middle = 0.25 * std::abs(a.low + a.high + b.low + b.high);
  const double apart = std::max(a.low, b.low) - std::min(a.high, b.high);
  return middle > 0 ? apart / middle : apart;
}

std::vector<IntervalPair> interval_pairs(std::span<const lab::Record> surveys) {
  std::vector<IntervalPair> pairs;
  for_each_pair(surveys, [&](std::size_t first, std::size_t second, const lab::Result& a,
                             const lab::Result& b) {
    if (a.interval && b.interval)
      pairs.push_back({a.name, a.unit, first, second, *a.interval, *b.interval});
  });
  std::ranges::stable_sort(pairs, std::greater{}, &IntervalPair::gap);
  return pairs;
}

std::vector<double> relative_half_widths(std::span<const lab::Record> surveys) {
  std::vector<double> widths;
  for (const lab::Record& survey : surveys) {
    for (const lab::Result& result : survey.results) {
      if (!result.interval || result.value.value_or(0) == 0) continue;
      widths.push_back((result.interval->high - result.interval->low) / 2 /
                       std::abs(*result.value));
    }
  }
  return widths;
}

std::vector<SharePair> share_pairs(std::span<const lab::Record> surveys) {
  std::vector<SharePair> pairs;
  for_each_pair(surveys, [&](std::size_t, std::size_t, const lab::Result& a, const lab::Result& b) {
    if (const auto x = a.of_limit(), y = b.of_limit(); x && y) pairs.push_back({a.name, *x, *y});
  });
  std::ranges::stable_sort(pairs, std::greater{},
                           [](const SharePair& pair) { return std::abs(pair.a - pair.b); });
  return pairs;
}

double SurveyFigure::off(double found) const {
  return united.contains(found) ? 0 : std::abs(found - median) / std::abs(median);
}

std::optional<SurveyFigure> figure_in_surveys(std::span<const lab::Record> surveys,
                                              const std::string& name, const std::string& roofs) {
  std::optional<SurveyFigure> said;
  std::vector<double> values;
  for (const lab::Record& survey : surveys) {
    const lab::Result* figure = survey.find(name);
    if (figure == nullptr || !figure->value) return std::nullopt;
    const core::Interval interval =
        figure->interval.value_or(core::Interval{*figure->value, *figure->value});
    const double roof = roof_in(survey, *figure, roofs);
    if (!said)
      said = SurveyFigure{figure->unit, figure->better == lab::Better::lower, 0, interval, roof};
    said->united.low = std::min(said->united.low, interval.low);
    said->united.high = std::max(said->united.high, interval.high);
    said->roof = said->lower_is_better ? std::min(said->roof, roof) : std::max(said->roof, roof);
    values.push_back(*figure->value);
  }
  if (said) said->median = core::median(values);
  return said;
}

}  // namespace tabane::bench
