#include "tabane/lab/record/record.h"

#include <algorithm>
#include <cmath>

#include "tabane/core/error.h"

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
  const auto it = std::ranges::find(items, name, &Items::value_type::name);
  return it == items.end() ? nullptr : &*it;
}

}  // namespace

const Result* Record::find(std::string_view result) const { return find_named(results, result); }
const View* Record::find_view(std::string_view view) const { return find_named(views, view); }
View* Record::find_view(std::string_view view) { return find_named(views, view); }

namespace {

void add(std::vector<double>& values, std::optional<double> value) {
  if (value && std::isfinite(*value)) values.push_back(*value);
}

std::optional<double> median_or_null(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(core::median(values));
}

// The curve of that name of every view that has one.
std::vector<const Curve*> curves_named(std::span<const View> views, const std::string& name) {
  std::vector<const Curve*> found;
  for (const View& view : views)
    for (const Curve& curve : std::get<Curves>(view.content).series)
      if (curve.name == name) found.push_back(&curve);
  return found;
}

Curve join_curves(const std::vector<const Curve*>& passes) {
  Curve joined = *passes.back();
  if (passes.size() < 2) return joined;
  std::map<double, std::vector<double>> points;
  for (const Curve* curve : passes)
    for (std::size_t i = 0; i < curve->x.size(); ++i) add(points[curve->x[i]], curve->y[i]);
  for (std::vector<double>* part : {&joined.x, &joined.y, &joined.low, &joined.high}) part->clear();
  joined.flagged.clear();
  for (const auto& [x, values] : points) {
    if (values.empty()) continue;
    const core::Interval interval = core::median_interval(values);
    joined.x.push_back(x);
    joined.y.push_back(core::median(values));
    joined.low.push_back(interval.low);
    joined.high.push_back(interval.high);
  }
  return joined;
}

void join(Curves& joined, std::span<const View> views) {
  std::vector<Curve> series;
  for (const View& view : views) {
    for (const Curve& curve : std::get<Curves>(view.content).series) {
      const bool known =
          std::ranges::any_of(series, [&](const Curve& one) { return one.name == curve.name; });
      if (!known) series.push_back(join_curves(curves_named(views, curve.name)));
    }
  }
  joined.series = std::move(series);
}

std::optional<double> cell(const Matrix& matrix, const std::string& row,
                           const std::string& column) {
  const auto r = std::ranges::find(matrix.rows, row);
  const auto c = std::ranges::find(matrix.columns, column);
  if (r == matrix.rows.end() || c == matrix.columns.end()) return std::nullopt;
  return matrix.values[static_cast<std::size_t>(r - matrix.rows.begin())]
                      [static_cast<std::size_t>(c - matrix.columns.begin())];
}

// The matrix with the most cells has the others' rows and columns.
void join(Matrix& joined, std::span<const View> views) {
  for (const View& view : views) {
    const auto& one = std::get<Matrix>(view.content);
    if (one.rows.size() * one.columns.size() > joined.rows.size() * joined.columns.size())
      joined = one;
  }
  for (std::size_t r = 0; r < joined.rows.size(); ++r) {
    for (std::size_t c = 0; c < joined.columns.size(); ++c) {
      std::vector<double> values;
      for (const View& view : views)
        add(values, cell(std::get<Matrix>(view.content), joined.rows[r], joined.columns[c]));
      joined.values[r][c] = median_or_null(values);
    }
  }
}

// Rows are the same if their first entry is.
void join(Rows& joined, std::span<const View> views) {
  for (auto& row : joined.rows) {
    for (std::size_t column = 1; column < row.size(); ++column) {
      std::vector<double> values;
      for (const View& view : views)
        for (const auto& other : std::get<Rows>(view.content).rows)
          if (other.front() == row.front() && column < other.size())
            add(values, other[column].value);
      if (!values.empty()) row[column].value = median_or_null(values);
    }
  }
}

void join(Bars&, std::span<const View>) {}  // made from results that are joined already
void join(Image&, std::span<const View>) {}

}  // namespace

View join_passes(std::span<const View> views) {
  View joined = views.back();
  if (views.size() > 1) std::visit([&](auto& content) { join(content, views); }, joined.content);
  return joined;
}

}  // namespace tabane::lab
