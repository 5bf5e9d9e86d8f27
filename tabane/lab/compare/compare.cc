#include "tabane/lab/compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/record_head.h"

namespace tabane::lab {
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
  std::stable_sort(figures.begin(), figures.end(), [](const auto& a, const auto& b) {
    if (rank_of(a) != rank_of(b)) return rank_of(a) < rank_of(b);
    return std::abs(std::log(a.ratio)) > std::abs(std::log(b.ratio));
  });
}

bool is_speed(const std::string& unit) {
  return unit == "s" || unit == "ms" || unit == "us" || unit == "ns" || unit == "cycles" ||
         unit == "Hz" || unit.ends_with("/s");
}

std::string text_of(Finding finding, const std::string& unit) {
  switch (finding) {
    case Finding::none:
      return "no difference seen";
    case Finding::better:
      return is_speed(unit) ? "faster" : "better";
    case Finding::worse:
      return is_speed(unit) ? "slower" : "worse";
    case Finding::other:
      return "different";
    case Finding::few:
      return "too few samples";
    case Finding::unknown:
      break;
  }
  return "no interval";
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
  const std::size_t undecided = unknown + few + other.count(Finding::none);
  std::string text = fmt::format("{}: {} of {} figures differ from the baseline", label,
                                 other.figures.size() - undecided, other.figures.size());
  if (few > 0) text += fmt::format("; {} may differ, but too few samples show it", few);
  if (unknown > 0) text += fmt::format("; {} without an interval and not judged", unknown);
  text += fmt::format(". Differences below {} do not count.", show_percent(threshold));
  if (undecided == other.figures.size() && scatter == std::nullopt) return text;
  return text + (scatter ? fmt::format(" Two runs on one machine differ by about {} here (one "
                                       "standard deviation); the intervals include this scatter.",
                                       show_percent(std::expm1(*scatter)))
                         : " How much two runs on one machine differ is not known: that takes two "
                           "records of one machine with ten figures in common.");
}

View bars_of(const BesideBaseline& other, const std::string& label, const std::string& baseline) {
  Bars bars{.unit = "ratio", .bars = {}, .reference = 1.0, .log = true};
  for (const FigureRatio& figure : other.figures) {
    if (figure.finding == Finding::none || bars.bars.size() == kMostBars) break;
    bars.bars.push_back({.group = figure.name.substr(0, figure.name.find('.')),
                         .label = figure.name,
                         .value = figure.ratio,
                         .interval = figure.interval,
                         .remark = text_of(figure.finding, figure.unit)});
  }
  std::stable_sort(bars.bars.begin(), bars.bars.end(),
                   [](const Bar& a, const Bar& b) { return a.group < b.group; });
  return {.name = fmt::format("compare.ratios.{}", other.side + 1),
          .title = fmt::format("{} beside {}: ratios", label, baseline),
          .note = fmt::format("{} / {} with 95 % intervals; where no difference was seen there is "
                              "no bar.",
                              label, baseline),
          .content = std::move(bars)};
}

void add_results(Record& record, const BesideBaseline& other, const std::string& label,
                 const std::string& baseline) {
  for (const FigureRatio& figure : other.figures) {
    Result result;
    result.name = fmt::format("{}/{}", label, figure.name);
    result.what = fmt::format("{} over that of {}", figure.name, baseline);
    result.unit = "ratio";
    result.better = figure.better;
    result.value = figure.ratio;
    result.interval = figure.interval;
    result.details = {{"figure", figure.name},
                      {"unit", figure.unit},
                      {"baseline", figure.baseline},
                      {"value", figure.value},
                      {"finding", text_of(figure.finding, figure.unit)},
                      {"regression", figure.regression}};
    record.results.push_back(std::move(result));
  }
}

// "A beside B and C", "A beside B and 3 others"
std::string title_of(const std::vector<Side>& sides, std::size_t baseline) {
  std::vector<std::string> others;
  for (std::size_t i = 0; i < sides.size(); ++i)
    if (i != baseline) others.push_back(sides[i].label);
  return fmt::format("{} beside {}", join(others), sides[baseline].label);
}

void check(const std::vector<Side>& sides) {
  if (sides.size() < 2) throw core::UsageError("compare: at least two records are needed");
  for (const Side& side : sides)
    if (side.record.kind == Kind::comparison)
      throw core::UsageError(fmt::format(
          "compare: {} is itself a comparison; compare the records that it was made from",
          side.label));
}

}  // namespace

std::vector<std::string> labels_of(std::span<const Record> records,
                                   std::span<const std::string> stems) {
  std::vector<std::string> machines, labels;
  for (const Record& record : records) machines.push_back(machine_text(record, "name"));
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const bool alone = std::count(machines.begin(), machines.end(), machines[i]) == 1;
    std::string label = alone && !machines[i].empty() ? machines[i] : stems[i];
    const std::string plain = label;
    for (int more = 2; std::count(labels.begin(), labels.end(), label) > 0; ++more)
      label = fmt::format("{} ({})", plain, more);
    labels.push_back(std::move(label));
  }
  return labels;
}

std::size_t BesideBaseline::count(Finding finding) const {
  return static_cast<std::size_t>(std::count_if(
      figures.begin(), figures.end(), [&](const auto& one) { return one.finding == finding; }));
}

bool Comparisons::regression() const {
  return std::any_of(others.begin(), others.end(), [](const BesideBaseline& other) {
    return std::any_of(other.figures.begin(), other.figures.end(),
                       [](const FigureRatio& figure) { return figure.regression; });
  });
}

Rows figure_table(const std::vector<Side>& sides, std::size_t baseline, const BesideBaseline& other,
                  bool all) {
  Rows rows{{"figure", sides[baseline].label, sides[other.side].label, "ratio", "finding"}, {}};
  for (const FigureRatio& figure : other.figures) {
    if (!all && figure.finding == Finding::none) break;
    rows.rows.push_back({figure.name,
                         {figure.baseline, figure.unit},
                         {figure.value, figure.unit},
                         {figure.ratio, "ratio", figure.interval},
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
    record.views.push_back(bars_of(other, label, baseline));
    record.views.push_back({.name = fmt::format("compare.figures.{}", i + 1),
                            .title = fmt::format("{} beside {}: all figures", label, baseline),
                            .content = figure_table(sides, options.baseline, other, true)});
    all.others.push_back(std::move(other));
  }
  const std::size_t tables = record.views.size();
  add_merged_charts(record, sides, options.baseline);
  if (compared == 0 && record.views.size() == tables)
    throw core::UsageError(
        fmt::format("no figure and no curve in common: {}{}", title_of(sides, options.baseline),
                    record.skipped.empty()
                        ? ""
                        : ": " + record.skipped[0].name + " was " + record.skipped[0].reason));
  return all;
}

}  // namespace tabane::lab
