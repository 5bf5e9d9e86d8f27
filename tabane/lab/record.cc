#include "tabane/lab/record.h"

#include <algorithm>

#include "tabane/core/error.h"

namespace tabane::lab {

std::optional<double> Result::of_limit() const {
  if (!value || !limit || !(limit->value > 0)) return std::nullopt;
  if (better != Better::lower) return *value / limit->value;
  if (!(*value > 0)) return std::nullopt;
  return limit->value / *value;
}

void set_samples(Result& result, std::vector<double> samples) {
  TABANE_ASSERT(!samples.empty());
  result.value = core::median(samples);
  // Fewer samples than six cannot bound a median with 95 %.
  if (samples.size() >= 6) result.interval = core::median_interval(samples);
  result.samples = std::move(samples);
}

namespace {

template <class T>
const T* find_named(const std::vector<T>& items, std::string_view name) {
  const auto it =
      std::find_if(items.begin(), items.end(), [&](const T& item) { return item.name == name; });
  return it == items.end() ? nullptr : &*it;
}

}  // namespace

const Result* SurveyRecord::find(std::string_view name) const { return find_named(results, name); }

const Table* SurveyRecord::find_table(std::string_view name) const {
  return find_named(tables, name);
}

}  // namespace tabane::lab
