#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "tabane/lab/record/text.h"
#include "tabane/lab/study/study.h"
#include "tabane/tools/tune/tune_record.h"

namespace tabane::lab::tune {
namespace {

constexpr double kLogFrom = 5;           // the greatest value over the least
constexpr std::size_t kFewestOfLaw = 3;  // numbers of workers, through fewer of which any law goes

// Of the values of these curves.
Axis axis_of(const TuneData& data, const std::vector<const Curve*>& curves) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const Curve* curve : curves) {
    for (const double y : curve->y) {
      least = std::min(least, y);
      most = std::max(most, y);
    }
  }
  return {data.header.goal, data.header.unit, most > kLogFrom * least};
}

const Dimension* dimension_of(const Space& space, Scale scale) {
  for (const Dimension& one : space.dimensions())
    if (one.scale == scale) return &one;
  return nullptr;
}

std::size_t index_of(const Space& space, const Dimension& dimension) {
  return static_cast<std::size_t>(&dimension - space.dimensions().data());
}

// The best median of each number of processes and threads, over all other factors.
void add_heat_map(Record& record, const TuneData& data) {
  const Dimension* processes = dimension_of(data.space, Scale::processes);
  const Dimension* threads = dimension_of(data.space, Scale::threads);
  if (processes == nullptr || threads == nullptr) return;
  const auto rows = processes->by_amount(), columns = threads->by_amount();
  const std::size_t p = index_of(data.space, *processes), t = index_of(data.space, *threads);
  Matrix matrix{.unit = data.header.unit,
                .better = data.header.inverted ? Better::higher : Better::lower,
                .row_axis = "processes",
                .column_axis = "threads of each"};
  for (const std::size_t row : rows) matrix.rows.push_back(processes->levels[row].text());
  for (const std::size_t column : columns) matrix.columns.push_back(threads->levels[column].text());
  matrix.values.assign(rows.size(), std::vector<std::optional<double>>(columns.size()));
  for (std::size_t i = 0; i < data.values.size(); ++i) {
    if (!data.was_run(i) || data.tuning.search->is_refused(i)) continue;
    const auto at = [&](const std::vector<std::size_t>& order, std::size_t d) {
      const auto level = static_cast<std::size_t>(data.candidate(i)[d]);
      return std::size_t(std::ranges::find(order, level) - order.begin());
    };
    const std::size_t row = at(rows, p), column = at(columns, t);
    std::optional<double>& value = matrix.values[row][column];
    const double median = core::median(data.values[i]);
    const bool better = !value || (data.header.inverted ? median > *value : median < *value);
    if (better) value = median;
    if (i == data.tuning.best) matrix.framed = Matrix::Cell{row, column};
  }
  add_chart(record, "heat_map", fmt::format("Processes and threads: {}", data.header.goal),
            "The best that was measured with these processes and threads, whatever the other "
            "factors; what is empty was not run. The frame marks the best of the search.",
            std::move(matrix));
}

void add_effects(Record& record, const TuneData& data) {
  double best = std::numeric_limits<double>::infinity();
  std::map<std::pair<std::size_t, std::size_t>, double> least;
  for (std::size_t i = 0; i < data.values.size(); ++i) {
    if (!data.tuning.search->possible(i)) continue;
    const double mean = data.tuning.search->belief(i).mean;
    if (!std::isfinite(mean)) continue;
    best = std::min(best, mean);
    for (std::size_t d = 0; d < data.space.dimensions().size(); ++d) {
      const auto level = static_cast<std::size_t>(data.candidate(i)[d]);
      const auto [at, is_new] = least.try_emplace({d, level}, mean);
      at->second = std::min(at->second, mean);
    }
  }
  Bars bars{.unit = "ratio", .reference = 1};
  for (const auto& [place, mean] : least) {
    const Dimension& dimension = data.space.dimensions()[place.first];
    bars.bars.push_back(
        {.group = dimension.name,
         .label = fmt::format("{} {}", dimension.name, dimension.levels[place.second].text()),
         .value = std::exp(mean - best)});
  }
  if (bars.bars.empty()) return;
  add_chart(
      record, "effects", "What each setting costs",
      "For each setting: the best result that the model expects with it, relative to the best "
      "of all. Where all bars of a factor are near 1, it does not matter.",
      std::move(bars));
}

void add_race(Record& record, const TuneData& data) {
  Curve runs{.name = "runs", .joined = false}, as_started{.name = "as started", .joined = false};
  Curve best{.name = "best median so far"};
  std::map<std::size_t, std::vector<double>> seen;
  std::map<std::size_t, double> medians;  // so far
  double number = 0;
  std::vector<Mark> marks;
  Phase phase = Phase::screening;
  for (const TunedRun& run : data.tuning.runs) {
    ++number;
    if (run.proposal.phase != phase) {
      phase = run.proposal.phase;
      marks.push_back({number, std::string(to_string(phase))});
    }
    if (!run.outcome.refused.empty() || run.outcome.stopped) continue;
    const double value = data.shown(run.outcome.value);
    Curve& curve = run.proposal.candidate == 0 ? as_started : runs;
    curve.x.push_back(number);
    curve.y.push_back(value);
    std::vector<double>& own = seen[run.proposal.candidate];
    own.push_back(run.outcome.value);
    if (data.tuning.search->is_refused(run.proposal.candidate)) continue;
    medians[run.proposal.candidate] = core::median(own);
    const auto least =
        std::ranges::min_element(medians, [](auto& a, auto& b) { return a.second < b.second; });
    best.x.push_back(number);
    best.y.push_back(data.shown(least->second));
  }
  Curves curves{{"run", ""}, axis_of(data, {&runs, &as_started}), {}};
  for (Curve* curve : {&runs, &as_started, &best}) add_curve(curves, std::move(*curve));
  curves.marks = std::move(marks);
  add_chart(
      record, "race", "The runs in their order",
      "Every run that was not cut short. Screening tries fewer and fewer workers, and each "
      "level of the other factors once. Looking runs what the model expects to gain most. Racing "
      "repeats the best few in turn with the command as started, and tries again what a "
      "single run made look bad. The proof measures the best again.",
      std::move(curves));
}

std::string note_of(const core::ScalabilityFit& fit, std::string_view worker) {
  constexpr double kPoor = 0.2, kNothing = 5e-4;
  std::string says = "read no more from it than where the search began";
  if (fit.misfit <= kPoor)
    says = fit.law.contention >= 1
               ? fmt::format("it says that more than one {} gains nothing", worker)
               : fmt::format("it says that {} of the work cannot be divided",
                             show_percent(fit.law.contention));
  if (fit.misfit <= kPoor && fit.law.contention < 1 && fit.law.coherency > kNothing)
    says += fmt::format(
        ", that each further {} adds {:.1f} % of the time of one, and that {:.0f} "
        "would be fastest",
        worker, 100 * fit.law.coherency, std::max(1.0, fit.peak()));
  return fmt::format(
      "Dashed: the scalability law that fits these points best. It misses them by {}; "
      "{}. The search looks first where the law expects most.",
      show_percent(fit.misfit), says);
}

void add_law(Record& record, const TuneData& data, Scale scale, const char* name,
             const std::optional<core::ScalabilityFit>& law) {
  if (!law) return;
  std::multimap<double, double> measured;  // the command as started may have as many as another
  std::set<double> different;
  for (std::size_t i = 0; i < data.values.size(); ++i) {
    if (!data.was_run(i) || !data.space.differs_only_in(scale, data.candidate(i))) continue;
    const double workers = data.space.amount(scale, data.candidate(i));
    measured.emplace(workers, core::median(data.values[i]));
    different.insert(workers);
  }
  if (different.size() < kFewestOfLaw) return;
  Curve points{.name = "measured", .joined = false}, fitted{.name = "law", .role = Role::fitted};
  for (const auto& [workers, value] : measured) {
    points.x.push_back(workers);
    points.y.push_back(value);
  }
  const double most = measured.rbegin()->first;
  for (double n = measured.begin()->first; n <= most * 1.001; n *= std::pow(2, 0.25)) {
    fitted.x.push_back(n);
    fitted.y.push_back(data.shown(law->seconds(n)));
  }
  Curves curves{{name, "", true}, axis_of(data, {&points}), {}};
  add_curve(curves, std::move(points));
  add_curve(curves, std::move(fitted));
  add_chart(record, fmt::format("law_{}", name), fmt::format("The law of {}", name),
            note_of(*law, std::string_view(name) == "threads" ? "thread" : "process"),
            std::move(curves));
}

}  // namespace

void add_tune_charts(Record& record, const TuneData& data) {
  add_heat_map(record, data);
  if (data.tuning.search) {
    add_law(record, data, Scale::threads, "threads", data.tuning.search->threads_law());
    add_law(record, data, Scale::processes, "processes", data.tuning.search->processes_law());
  }
  add_effects(record, data);
  add_race(record, data);
}

}  // namespace tabane::lab::tune
