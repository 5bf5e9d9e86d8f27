#include "tabane/lab/record/record.h"

#include <algorithm>

#include "tabane/core/error.h"
#include "tabane/lab/record/points.h"

namespace tabane::lab {

std::optional<core::Ratio> Result::share_of_limit() const {
  if (!value || !limit || !(limit->value > 0)) return std::nullopt;
  const bool lower = better == Better::lower;
  if (lower && !(*value > 0)) return std::nullopt;
  if (!limit->samples.empty() && limit->samples.size() == samples.size())
    return lower ? core::ratio_of_passes(limit->samples, samples, passes)
                 : core::ratio_of_passes(samples, limit->samples, passes);
  const double share = lower ? limit->value / *value : *value / limit->value;
  return core::Ratio{share, {share, share}, 1};
}

std::optional<double> Result::of_limit() const {
  const auto share = share_of_limit();
  return share ? std::optional(share->value) : std::nullopt;
}

bool Result::is_above_limit() const {
  const auto share = share_of_limit();
  return share && share->interval.low > kAtTheLimit;
}

bool Result::repeats_one_thing() const {
  return !samples.empty() && !details.contains(detail::kPerPu) && !details.contains(detail::kPairs);
}

std::optional<core::TwoStates> Result::states() const {
  return repeats_one_thing() ? core::two_states(samples) : std::nullopt;
}

std::optional<double> Result::number_detail(const char* detail) const {
  const auto at = details.find(detail);
  if (at == details.end() || !at->is_number()) return std::nullopt;
  return at->get<double>();
}

namespace {

void summarize(Result& result) {
  const core::PassSummary summary = core::summarize_passes(result.samples, result.passes);
  result.value = summary.median;
  result.interval.reset();
  // Fewer samples of one pass than six cannot bound a median with 95 %; a few passes say at least
  // how far the machine moved.
  if (result.passes.size() > 1 || summary.observations >= core::kFewestForInterval)
    result.interval = summary.interval;
  if (result.limit && !result.limit->samples.empty())
    result.limit->value = core::summarize_passes(result.limit->samples, result.passes).median;
}

void append(std::vector<double>& samples, const std::vector<double>& later) {
  samples.insert(samples.end(), later.begin(), later.end());
}

// A value without samples as a sample.
void give_samples(Result& result) {
  if (result.samples.empty() && result.value) result.samples = {*result.value};
  if (result.passes.empty() && !result.samples.empty()) result.passes = {result.samples.size()};
}

}  // namespace

void set_samples(Result& result, std::vector<double> samples) {
  TABANE_ASSERT(!samples.empty());
  result.samples = std::move(samples);
  summarize(result);
}

void set_limit(Result& result, std::string how, std::vector<double> samples) {
  TABANE_ASSERT(samples.size() == result.samples.size());
  result.limit = Limit{0, std::move(how), std::move(samples)};
  summarize(result);
}

void add_pass(Result& result, Result later) {
  if (!later.value) return;
  if (!result.value) {
    result = std::move(later);
    return;
  }
  give_samples(result);
  give_samples(later);
  const bool paired = result.limit && later.limit && !result.limit->samples.empty() &&
                      !later.limit->samples.empty();
  if (paired) {
    append(result.limit->samples, later.limit->samples);
  } else {
    result.limit = later.limit;
  }
  append(result.samples, later.samples);
  result.passes.insert(result.passes.end(), later.passes.begin(), later.passes.end());
  result.details = std::move(later.details);
  summarize(result);
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
