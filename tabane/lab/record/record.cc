#include "tabane/lab/record/record.h"

#include <algorithm>

#include "tabane/core/error.h"
#include "tabane/lab/record/points.h"

namespace tabane::lab {

std::optional<double> Result::of_limit() const {
  if (!value || !limit || !(limit->value > 0)) return std::nullopt;
  if (better != Better::lower) return *value / limit->value;
  if (!(*value > 0)) return std::nullopt;
  return limit->value / *value;
}

std::optional<double> Result::number_detail(const char* detail) const {
  const auto at = details.find(detail);
  if (at == details.end() || !at->is_number()) return std::nullopt;
  return at->get<double>();
}

void set_samples(Result& result, std::vector<double> samples) {
  TABANE_ASSERT(!samples.empty());
  result.value = core::median(samples);
  if (samples.size() >= kFewestForInterval) result.interval = core::median_interval(samples);
  result.samples = std::move(samples);
}

std::optional<bool> Comparison::met() const {
  if (!figure.empty()) {
    if (!limit || !value) return std::nullopt;
    return at_least ? *value >= *limit : *value <= *limit;
  }
  if (!target || !ratio) return std::nullopt;
  // "Never slower" (a target of 1) also holds where no difference is seen; a share must be reached.
  return ratio->value >= *target || (*target == 1 && ratio->undecided());
}

namespace {

template <class Items>
auto find_named(Items& items, std::string_view name) -> decltype(&items.front()) {
  const auto it =
      std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.name == name; });
  return it == items.end() ? nullptr : &*it;
}

}  // namespace

const Result* Record::find(std::string_view result) const { return find_named(results, result); }
const View* Record::find_view(std::string_view view) const { return find_named(views, view); }
View* Record::find_view(std::string_view view) { return find_named(views, view); }

}  // namespace tabane::lab
