#include "tabane/lab/compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numbers>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/lab/record/points.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/record_head.h"

namespace tabane::lab {
namespace {

constexpr double kNormal95 = 1.959964;      // two-sided 95 % of the standard normal distribution
constexpr double kDeviationOfMad = 1.4826;  // standard deviation over MAD, normally distributed
constexpr std::size_t kFewestForScatter = 10;
constexpr double kFalseDiscoveries = 0.01;

// Two-sided, of a ratio that is 1 in truth. The half of the interval on the side of 1 gives the
// standard deviation of the logarithm.
double chance_by_interval(const FigureRatio& figure) {
  const double log_ratio = std::log(figure.ratio);
  const double end = log_ratio > 0 ? figure.interval->low : figure.interval->high;
  const double half = std::abs(log_ratio - std::log(end));
  if (log_ratio == 0) return 1;
  if (half == 0) return 0;
  return std::erfc(kNormal95 * std::abs(log_ratio) / half / std::numbers::sqrt2);
}

double chance_of(const FigureRatio& figure) {
  return std::max(chance_by_interval(figure), figure.chance_of_samples);
}

core::Interval widened(double ratio, core::Interval interval, double scatter) {
  const double more = kNormal95 * scatter;
  return {ratio * std::exp(-std::hypot(std::log(ratio / interval.low), more)),
          ratio * std::exp(std::hypot(std::log(interval.high / ratio), more))};
}

// The largest chance that still counts: the k-th smallest of m with chance <= 1 % k / m.
double greatest_chance_that_counts(const std::vector<FigureRatio>& ratios,
                                   double (*chance)(const FigureRatio&)) {
  std::vector<double> chances;
  for (const FigureRatio& figure : ratios)
    if (figure.interval) chances.push_back(chance(figure));
  std::ranges::sort(chances);
  const auto m = static_cast<double>(chances.size());
  double greatest = -1;
  for (std::size_t k = 0; k < chances.size(); ++k)
    if (chances[k] <= kFalseDiscoveries * static_cast<double>(k + 1) / m) greatest = chances[k];
  return greatest;
}

Finding direction(const FigureRatio& figure) {
  if (figure.better == Better::neither) return Finding::other;
  return (figure.ratio > 1) == (figure.better == Better::higher) ? Finding::better : Finding::worse;
}

bool bounded(const Result& result) {
  return result.interval && result.samples.size() >= core::kFewestForInterval &&
         result.interval->low > 0 && std::isfinite(result.interval->high);
}

}  // namespace

std::string held_apart(const Json& a, const Json& b) {
  const auto in_a = a.find(detail::kHeldFixed), in_b = b.find(detail::kHeldFixed);
  if (in_a == a.end() || in_b == b.end() || *in_a == *in_b) return "";
  return fmt::format("measured with {}, in the baseline with {}", in_b->dump(), in_a->dump());
}

namespace {

std::string why_not_compared(const Result& a, const Result& b) {
  if (a.version != b.version)
    return fmt::format(
        "not comparable: the way of measuring has changed: version {} of the probe, {} in the "
        "baseline",
        b.version, a.version);
  if (const std::string fixed = held_apart(a.details, b.details); !fixed.empty()) return fixed;
  if (a.unit != b.unit) return fmt::format("in {}, in the baseline in {}", b.unit, a.unit);
  if (!(a.value.value_or(0) > 0) || !(b.value.value_or(0) > 0))
    return "no ratio, because a value is missing or not above 0";
  return "";
}

}  // namespace

core::Interval independent_ratio_interval(double a, core::Interval of_a, double b,
                                          core::Interval of_b) {
  const double ratio = a / b;
  const double down = std::hypot(std::log(a / of_a.low), std::log(of_b.high / b));
  const double up = std::hypot(std::log(of_a.high / a), std::log(b / of_b.low));
  return {ratio * std::exp(-down), ratio * std::exp(up)};
}

std::vector<FigureRatio> ratios_of(const Record& baseline, const Record& other,
                                   std::vector<Skipped>& left_out) {
  std::vector<FigureRatio> ratios;
  for (const Result& a : baseline.results) {
    const Result* b = other.find(a.name);
    if (b == nullptr) continue;
    if (std::string reason = why_not_compared(a, *b); !reason.empty()) {
      left_out.push_back({a.name, std::move(reason)});
      continue;
    }
    FigureRatio figure{a.name, a.unit, a.better, *a.value, *b->value, *b->value / *a.value};
    if (bounded(a) && bounded(*b)) {
      figure.interval = independent_ratio_interval(*b->value, *b->interval, *a.value, *a.interval);
      figure.chance_of_samples = core::rank_sum_chance(a.samples, b->samples);
    }
    ratios.push_back(std::move(figure));
  }
  return ratios;
}

std::optional<double> scatter_of(const std::vector<FigureRatio>& ratios) {
  std::vector<double> logs;
  for (const FigureRatio& figure : ratios) {
    if (!figure.interval) continue;
    const double log_ratio = std::log(figure.ratio);
    logs.push_back(figure.better == Better::higher ? -log_ratio : log_ratio);
  }
  if (logs.size() < kFewestForScatter) return std::nullopt;
  const double middle = core::median(logs);
  for (double& x : logs) x = std::abs(x - middle);
  return kDeviationOfMad * core::median(logs);
}

void judge(std::vector<FigureRatio>& ratios, double scatter, double threshold) {
  for (FigureRatio& figure : ratios)
    if (figure.interval) figure.interval = widened(figure.ratio, *figure.interval, scatter);
  const double counts = greatest_chance_that_counts(ratios, chance_of);
  const double counts_by_interval = greatest_chance_that_counts(ratios, chance_by_interval);
  const double floor = std::log1p(threshold);
  for (FigureRatio& figure : ratios) {
    if (!figure.interval) continue;
    const bool large = std::abs(std::log(figure.ratio)) > floor;
    const bool differs = large && chance_of(figure) <= counts;
    const bool may_differ = large && chance_by_interval(figure) <= counts_by_interval;
    figure.finding = differs ? direction(figure) : may_differ ? Finding::few : Finding::none;
    const double least = figure.ratio > 1 ? figure.interval->low : 1 / figure.interval->high;
    figure.regression = figure.finding == Finding::worse && std::log(least) > floor;
  }
}

namespace {

constexpr std::size_t kMostBars = 40;

std::string machine_text(const Record& record, const char* key) {
  const auto at = record.machine.find(key);
  return at != record.machine.end() && at->is_string() ? at->get<std::string>() : "";
}

bool of_one_machine(const Record& a, const Record& b) {
  const auto same = [&](const char* key) { return machine_text(a, key) == machine_text(b, key); };
  return !machine_text(a, "name").empty() && same("name") && same("cpu_model");
}

int rank_of(const FigureRatio& figure) {
  if (figure.finding == Finding::none) return 2;
  return figure.finding == Finding::unknown || figure.finding == Finding::few ? 1 : 0;
}

void sort_for_reading(std::vector<FigureRatio>& figures) {
  std::ranges::stable_sort(figures, [](const auto& a, const auto& b) {
    if (rank_of(a) != rank_of(b)) return rank_of(a) < rank_of(b);
    return std::abs(std::log(a.ratio)) > std::abs(std::log(b.ratio));
  });
}

bool is_speed(const std::string& unit) {
  return unit == "s" || unit == "ms" || unit == "us" || unit == "ns" || unit == "cycles" ||
         unit == "Hz" || unit.ends_with("/s");
}

std::string text_of(Finding finding, const std::string& unit) {
  const bool speed = is_speed(unit);
  const char* const texts[] = {"no difference seen",       speed ? "faster" : "better",
                               speed ? "slower" : "worse", "different",
                               "too few samples",          "no interval"};
  static_assert(std::size(texts) == static_cast<std::size_t>(Finding::unknown) + 1);
  return texts[static_cast<std::size_t>(finding)];
}

// "1.30 times as fast", "97 times as slow", "2.00 times as much: worse".
std::string ratio_in_words(const FigureRatio& figure) {
  const bool more = figure.ratio > 1, better = more == (figure.better == Better::higher);
  const bool directed = figure.better != Better::neither;
  const bool speed = directed && is_speed(figure.unit);
  const double times = speed && !more ? 1 / figure.ratio : figure.ratio;
  return fmt::format("{} times as {}{}", lab::text_of(Entry(times, "ratio")),
                     !speed   ? "much"
                     : better ? "fast"
                              : "slow",
                     speed || !directed ? ""
                     : better           ? ": better"
                                        : ": worse");
}

// What one machine's records differ by: that of the pair itself if it is of one machine, else the
// largest among all such pairs.
class Scatters {
 public:
  explicit Scatters(const std::vector<Side>& sides) {
    std::vector<Skipped> ignored;
    for (std::size_t i = 0; i < sides.size(); ++i) {
      for (std::size_t j = i + 1; j < sides.size(); ++j) {
        if (!of_one_machine(sides[i].record, sides[j].record)) continue;
        const auto scatter = scatter_of(ratios_of(sides[i].record, sides[j].record, ignored));
        if (!scatter) continue;
        pairs_[{i, j}] = *scatter;
        largest_ = std::max(largest_.value_or(0), *scatter);
      }
    }
  }
  std::optional<double> of(std::size_t a, std::size_t b) const {
    const auto own = pairs_.find(std::minmax(a, b));
    return own == pairs_.end() ? largest_ : std::optional(own->second);
  }

 private:
  std::map<std::pair<std::size_t, std::size_t>, double> pairs_;
  std::optional<double> largest_;
};

std::string sentence_about(const BesideBaseline& other, const std::string& label,
                           std::optional<double> scatter, double threshold) {
  const std::size_t unknown = other.count(Finding::unknown), few = other.count(Finding::few);
  const std::size_t judged = other.figures.size() - unknown;
  const std::size_t undecided = unknown + few + other.count(Finding::none);
  if (judged == 0 && unknown > 0)
    return fmt::format(
        "{}: {} shown with a ratio that is not judged: one of the two records gives no interval.",
        label, unknown == 1 ? "1 figure is" : fmt::format("{} figures are", unknown));
  std::string text = fmt::format("{}: {} of {} figures differ from the baseline", label,
                                 other.figures.size() - undecided, judged);
  if (few > 0) text += fmt::format("; {} may differ, but too few samples show it", few);
  if (unknown > 0) text += fmt::format("; {} more without an interval are not judged", unknown);
  text += fmt::format(". Differences below {} do not count.", show_percent(threshold));
  if (undecided == other.figures.size() && scatter == std::nullopt) return text;
  return text + (scatter ? fmt::format(" Two runs on one machine differ by about {} here (one "
                                       "standard deviation); the intervals include this scatter.",
                                       show_percent(std::expm1(*scatter)))
                         : " How much two runs on one machine differ is not known: that takes two "
                           "records of one machine with ten figures in common.");
}

// The bars of which something can be said, the best first.
std::optional<View> bars_of(const BesideBaseline& other, const std::string& label,
                            const std::string& baseline) {
  Bars bars{.unit = "ratio", .bars = {}, .reference = 1.0, .log = true};
  for (const FigureRatio& figure : other.figures) {
    if (figure.finding == Finding::none || bars.bars.size() == kMostBars) break;
    bars.bars.push_back({.group = text_of(figure.finding, figure.unit),
                         .label = figure.name,
                         .value = figure.ratio,
                         .interval = figure.interval,
                         .remark = ratio_in_words(figure)});
  }
  if (bars.bars.empty()) return std::nullopt;
  std::ranges::stable_sort(bars.bars, {}, &Bar::group);
  return View{.name = fmt::format("compare.ratios.{}", other.side + 1),
              .title = fmt::format("{} and {}: ratios", label, baseline),
              .note = fmt::format(
                  "{} / {}. The colour says which way is better: of a time the smaller one, of a "
                  "rate the larger one. Where no difference was seen there is no bar.",
                  label, baseline),
              .content = std::move(bars)};
}

void add_results(Record& record, const BesideBaseline& other, const std::string& label,
                 const std::string& baseline) {
  for (const FigureRatio& figure : other.figures)
    record.results.push_back({.name = fmt::format("{}/{}", label, figure.name),
                              .what = fmt::format("{} over that of {}", figure.name, baseline),
                              .unit = "ratio",
                              .better = figure.better,
                              .value = figure.ratio,
                              .interval = figure.interval,
                              .details = {{"figure", figure.name},
                                          {"unit", figure.unit},
                                          {"baseline", figure.baseline},
                                          {"value", figure.value},
                                          {"finding", text_of(figure.finding, figure.unit)},
                                          {"regression", figure.regression}}});
}

// "A and B compared with C"
std::string title_of(const std::vector<Side>& sides, std::size_t baseline) {
  std::vector<std::string> others;
  for (std::size_t i = 0; i < sides.size(); ++i)
    if (i != baseline) others.push_back(sides[i].label);
  return fmt::format("{} compared with {}", join(others), sides[baseline].label);
}

void check(const std::vector<Side>& sides) {
  if (sides.size() < 2) throw core::UsageError("compare: at least two records are needed");
  for (const Side& side : sides)
    if (side.record.kind == Kind::comparison)
      throw core::UsageError(
          "compare: {} is itself a comparison; compare the records that it was made from",
          side.label);
}

}  // namespace

std::vector<std::string> labels_of(std::span<const Record> records,
                                   std::span<const std::string> stems) {
  std::vector<std::string> machines, labels;
  for (const Record& record : records) machines.push_back(machine_text(record, "name"));
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const bool alone = std::ranges::count(machines, machines[i]) == 1;
    std::string label = alone && !machines[i].empty() ? machines[i] : stems[i];
    const std::string plain = label;
    for (int more = 2; std::ranges::count(labels, label) > 0; ++more)
      label = fmt::format("{} ({})", plain, more);
    labels.push_back(std::move(label));
  }
  return labels;
}

std::size_t BesideBaseline::count(Finding finding) const {
  return static_cast<std::size_t>(std::ranges::count(figures, finding, &FigureRatio::finding));
}

bool Comparisons::regression() const {
  return std::ranges::any_of(others, [](const BesideBaseline& other) {
    return std::ranges::any_of(other.figures,
                               [](const FigureRatio& figure) { return figure.regression; });
  });
}

Rows figure_table(const std::vector<Side>& sides, std::size_t baseline, const BesideBaseline& other,
                  bool all) {
  Rows rows{
      {"figure", sides[baseline].label, sides[other.side].label, "ratio", "which is", "finding"},
      {}};
  for (const FigureRatio& figure : other.figures) {
    if (!all && figure.finding == Finding::none) break;
    rows.rows.push_back({figure.name,
                         {figure.baseline, figure.unit},
                         {figure.value, figure.unit},
                         {figure.ratio, "ratio", figure.interval},
                         figure.finding == Finding::none ? "" : ratio_in_words(figure),
                         text_of(figure.finding, figure.unit)});
  }
  return rows;
}

Comparisons compare(const std::vector<Side>& sides, const CompareOptions& options) {
  check(sides);
  const std::string& baseline = sides[options.baseline].label;
  Comparisons all{.baseline = options.baseline, .others = {}, .record = {}};
  Record& record = all.record;
  record = begin_record(Kind::comparison, {"compare", "", ""}, options.command_line);
  record.title = title_of(sides, options.baseline);
  record.complete = true;
  const Scatters scatters(sides);
  std::size_t compared = 0;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (i == options.baseline) continue;
    const std::string& label = sides[i].label;
    std::vector<Skipped> left_out;
    BesideBaseline other{i, ratios_of(sides[options.baseline].record, sides[i].record, left_out),
                         0};
    for (Skipped& one : left_out) record.skipped.push_back({label + "/" + one.name, one.reason});
    const auto scatter = scatters.of(i, options.baseline);
    other.scatter = scatter.value_or(0);
    judge(other.figures, other.scatter, options.threshold);
    sort_for_reading(other.figures);
    compared += other.figures.size();
    record.sentences.push_back(sentence_about(other, label, scatter, options.threshold));
    add_results(record, other, label, baseline);
    if (auto bars = bars_of(other, label, baseline)) record.views.push_back(*std::move(bars));
    record.views.push_back({.name = fmt::format("compare.figures.{}", i + 1),
                            .title = fmt::format("{} and {}: all figures", label, baseline),
                            .content = figure_table(sides, options.baseline, other, true)});
    all.others.push_back(std::move(other));
  }
  const std::size_t tables = record.views.size();
  add_merged_charts(record, sides, options.baseline);
  if (compared == 0 && record.views.size() == tables)
    throw core::UsageError(
        "no figure and no curve in common: {}{}", title_of(sides, options.baseline),
        record.skipped.empty()
            ? ""
            : ": " + record.skipped[0].name + " was " + record.skipped[0].reason);
  return all;
}

}  // namespace tabane::lab
