// The tables and charts of the study process-thread, with the report's figures.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <set>

#include "tabane/core/fit.h"
#include "tabane/lab/record/published.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/study/study.h"
#include "tabane/studies/process_thread/process_thread.h"

namespace tabane::lab::process_thread {

std::vector<Column> speedup_columns(const Pick& one, const std::vector<WorkerLine>& lines) {
  std::vector<Column> columns = {{"workers", level_of("workers")}};
  for (const WorkerLine& line : lines) {
    columns.push_back({line.head, time_of(line.pick)});
    columns.push_back({"speed-up", ratio_of(one, line.pick, false)});  // charts show intervals
  }
  columns.push_back({"P x T", shown_of(lines.back().pick, shape_label)});
  return columns;
}

Curves speedup_curves(const Points& points, const Pick& one, const std::vector<WorkerLine>& lines,
                      const std::vector<Factors>& rows) {
  Curves curves{.x = {"workers", ""}, .y = {"speed-up", "ratio"}, .series = {}, .ideal = true};
  for (const WorkerLine& line : lines)
    add_curve(curves, curve_of(line.name, ratio_of(one, line.pick), points, rows, "workers"));
  return curves;
}

void add_gain(const StudyViews& views, const std::string& workload, const std::string& allocator,
              const char* team, const Entry& gain) {
  add_result(views.record, fmt::format("gain.{}.{}", workload, allocator),
             fmt::format("time of threads only over that of {}, one worker per PU", team), gain,
             Better::higher);
}

double seconds_per_request(const Point& point) {
  return point.median() / point.beside.at("requests").front();
}

Entry shape_label(const Point& point) {
  const bool mines = point.factors.find("workers") != nullptr;
  const double processes = point.number(mines ? "team_processes" : "processes");
  const double threads = mines ? point.number("workers") / processes : point.number("threads");
  return fmt::format("{:.0f} x {:.0f}", processes, threads);
}

std::string ends_of(const Curves& curves) {
  std::map<double, std::string> ends;
  for (const Curve& curve : curves.series) {
    if (curve.role != Role::measured) continue;
    std::string& all = ends[curve.x.back()];
    all += all.empty()
               ? fmt::format("At {}: ", curves.x.unit.empty()
                                            ? fmt::format("{:g} {}", curve.x.back(), curves.x.name)
                                            : show(curve.x.back(), curves.x.unit))
               : "; ";
    all += fmt::format("{} {}", curve.name, text_of({curve.y.back(), curves.y.unit}));
  }
  return fmt::format("{}", fmt::join(std::views::values(ends), ". "));
}

namespace {

std::string title_of(const std::string& workload) { return find_workload(workload).title; }

// The point with these factors, whatever the row has.
Pick always(const Factors& wanted) {
  return Pick([wanted](const Points& points, const Factors&) { return points.find(wanted); });
}

Cell time_per_request(Pick pick) {
  return shown_of(std::move(pick),
                  [](const Point& point) { return Entry(seconds_per_request(point), "s"); });
}

// The fastest of the points with the row's levels of these factors.
Pick fastest_with(std::vector<const char*> names, std::function<bool(const Point&)> fits = {}) {
  return Pick([=](const Points& points, const Factors& row) {
    Factors wanted;
    for (const char* name : names) wanted.set(name, *row.find(name));
    PointList all = points.where(wanted);
    if (fits) std::erase_if(all, [&](const Point* point) { return !fits(*point); });
    return fastest(all);
  });
}

// ---- scaling: a workload with an allocator; a row has a number of workers ----

int workers_of(const Factors& row) { return static_cast<int>(row.number("workers")); }

// The fastest shape with several processes. workers: 0: as many as the row says.
Pick fastest_team(int fewest_threads, int workers = 0) {
  return Pick([=](const Points& points, const Factors& row) {
    const int wanted = workers > 0 ? workers : workers_of(row);
    const auto fits = [=](const Point& point) {
      const Shape shape = shape_of(point.factors);
      return shape.processes > 1 && shape.threads >= fewest_threads && shape.workers() == wanted;
    };
    return fastest_with({"workload", "allocator"}, fits)(points, row);
  });
}

// Threads only, processes only, and the fastest teams of several processes with several threads.
std::vector<WorkerLine> lines_of(const Factors& what) {
  const auto alone = [what](const char* one, const char* several) {
    return Pick([=](const Points& points, const Factors& row) {
      return points.find(what.with({{one, 1}, {several, workers_of(row)}}));
    });
  };
  return {{"threads", "threads only", alone("processes", "threads")},
          {"processes", "processes only", alone("threads", "processes")},
          {"teams", "best team", fastest_team(2)}};
}

std::vector<Factors> rows_of_workers(const Points& points, const Factors& what) {
  std::set<int> numbers;
  for (const Point* point : points.where(what)) numbers.insert(shape_of(point->factors).workers());
  std::vector<Factors> rows;
  for (const int workers : numbers) rows.push_back(what.with({{"workers", workers}}));
  return rows;
}

Curves efficiencies(Curves curves) {
  curves.y.name = "efficiency";
  for (Curve& curve : curves.series) {
    for (auto* values : {&curve.y, &curve.low, &curve.high})
      for (std::size_t i = 0; i < values->size(); ++i) (*values)[i] /= curve.x[i];
  }
  return curves;
}

// Adds the scalability law of a curve, fitted up to one worker per PU, because more take turns.
// False if no law fits.
bool add_law(const StudyViews& views, Curves& curves, const Curve& measured, int pus,
             std::vector<std::string>& said) {
  std::vector<core::TimePoint> points;
  for (std::size_t i = 0; i < measured.x.size(); ++i) {
    if (measured.x[i] <= pus) points.push_back({measured.x[i], 1 / measured.y[i]});
  }
  if (points.size() < 2) return true;  // there is nothing to fit
  const std::optional<core::ScalabilityLaw> law = core::scalability_law_of(points);
  if (!law) return false;
  Curve fitted{.name = measured.name + ", law", .role = Role::fitted, .colour = measured.colour};
  for (int workers = 1; workers <= pus; ++workers) {
    fitted.x.push_back(workers);
    fitted.y.push_back(law->speedup(workers));
  }
  curves.series.push_back(std::move(fitted));
  const std::string slower =
      law->coherency < 5e-4 ? "" : fmt::format("{:.1f} %", 100 * law->coherency);
  said.push_back(views
                     .caption("law", {{"name", measured.name},
                                      {"divided", law->contention < 5e-4
                                                      ? "all work can be divided"
                                                      : show_percent(law->contention) +
                                                            " of the work cannot be divided"},
                                      {"coherency", slower}})
                     .note);
  return true;
}

void shapes_map(const StudyViews& views, const std::vector<Result>& choices, const Factors& what,
                CaptionValues values) {
  const Points& points = views.points;
  const Factors one = what.with({{"processes", 1}, {"threads", 1}});
  Matrix matrix =
      matrix_of(ratio_of(always(one), {}), points, combinations(points, {"processes"}, what),
                combinations(points, {"threads"}, what));
  matrix.unit = "ratio";
  matrix.better = Better::higher;
  matrix.row_axis = "processes";
  matrix.column_axis = "threads in each";
  const PointList all = points.where(what);
  const auto speed_up = [&](const Point* point) { return ratio_entry(points.find(one), point); };
  const Point* best = *std::ranges::max_element(
      all, {}, [&](const Point* point) { return speed_up(point).value.value_or(0); });
  values["most"] = text_of(speed_up(best));
  values["shape"] = text_of(shape_label(*best));
  const auto choice = std::ranges::find_if(
      choices, [&](const Result& result) { return result.factors.match(what); });
  if (choice != choices.end()) {
    values["reason"] = choice->details.at("reason").text();
    const auto row = std::ranges::find(matrix.rows, choice->factors.text("processes"));
    const auto column = std::ranges::find(matrix.columns, choice->factors.text("threads"));
    if (row != matrix.rows.end() && column != matrix.columns.end())
      matrix.framed = {static_cast<std::size_t>(row - matrix.rows.begin()),
                       static_cast<std::size_t>(column - matrix.columns.begin())};
  }
  views.chart("shapes." + what.word("workload"), std::move(matrix), values, "shapes");
}

void scaling(const StudyViews& views, const std::vector<Result>& choices,
             const std::string& workload, int pus) {
  const Points& points = views.points;
  const std::string allocator = points.words("allocator").front();
  const Factors what{{"workload", workload}, {"allocator", allocator}},
      one = what.with({{"processes", 1}, {"threads", 1}});
  if (points.find(one) == nullptr) return;
  const std::vector<Factors> rows = rows_of_workers(points, what);
  const std::vector<WorkerLine> lines = lines_of(what);
  const Curves measured = speedup_curves(points, always(one), lines, rows);
  Curves curves = measured;
  curves.series.clear();
  std::vector<std::string> laws, unfitted;
  int colour = 0;
  for (Curve curve : measured.series) {
    curve.colour = colour++;
    curves.series.push_back(curve);
    if (curve.name != lines.back().name && !add_law(views, curves, curve, pus, laws))
      unfitted.push_back(curve.name);
  }
  CaptionValues values = {{"title", fmt::format("{} ({})", title_of(workload), allocator)},
                          {"laws", fmt::format("{}", fmt::join(laws, "; "))},
                          {"same_laws", laws.empty() ? "" : "the law"},
                          {"unfitted", join(unfitted)}};
  views.table("speedup", speedup_columns(always(one), lines), rows, values);
  for (const char* chart : {"scaling", "efficiency"}) {
    values["ends"] = ends_of(curves);
    views.chart(fmt::format("{}.{}", chart, workload), curves, values, chart);
    curves = efficiencies(std::move(curves));
  }
  shapes_map(views, choices, what, std::move(values));
}

// A curve per allocator for threads, and one for the fastest shape with several processes.
void allocators_chart(const StudyViews& views, const std::string& workload) {
  Curves all{.x = {"workers", ""}, .y = {"speed-up", "ratio"}, .series = {}, .ideal = true};
  int colour = 0;
  for (const std::string& allocator : views.points.words("allocator", {{"workload", workload}})) {
    const Factors what{{"workload", workload}, {"allocator", allocator}};
    const Pick one = always(what.with({{"processes", 1}, {"threads", 1}}));
    const Curves curves = speedup_curves(
        views.points, one,
        {lines_of(what).front(), {.name = "processes", .head = "", .pick = fastest_team(1)}},
        rows_of_workers(views.points, what));
    int shape = 0;
    for (Curve curve : curves.series) {
      curve.name = fmt::format("{}, {}", allocator, curve.name);
      curve.colour = colour;
      curve.shape = shape++;
      all.series.push_back(std::move(curve));
    }
    ++colour;
  }
  const CaptionValues values = {{"title", title_of(workload)}, {"ends", ends_of(all)}};
  views.chart("allocators." + workload, std::move(all), values, "allocators");
}

// ---- against each other ----

void comparison(const StudyViews& views, int pus) {
  const Pick one{{"processes", 1}, {"threads", 1}}, threads{{"processes", 1}, {"threads", pus}},
      team = fastest_team(1, pus);
  const std::vector<Factors> rows = having(combinations(views.points, {"workload", "allocator"}),
                                           views.points, {one, threads, team});
  for (const Factors& row : rows)
    add_gain(views, row.word("workload"), row.word("allocator"), "the best team",
             ratio_of(threads, team)(views.points, row));
  views.table("comparison",
              {{"workload", word_of("workload", title_of)},
               {"allocator", word_of("allocator")},
               {"one worker", time_per_request(one)},
               {"threads only", time_per_request(threads)},
               {"with processes", time_per_request(team)},
               {"P x T", shown_of(team, shape_label)},
               {"threads / processes", ratio_of(threads, team)},
               {fmt::format("report, {} workers", views.reported("workers")),
                published_of(views.report, "gain.{workload}.{allocator}")}},
              rows);
}

// What the report varies: the share of large chunks, and of new keys.
void shares(const StudyViews& views, int pus) {
  const Pick one{{"processes", 1}, {"threads", 1}}, threads{{"processes", 1}, {"threads", pus}},
      team = fastest_team(1, pus);
  const Points& points = views.points;
  const std::vector<std::string> allocators = points.words("allocator");
  if (allocators.empty()) return;
  const Cell ratio = ratio_of(threads, team);
  const auto reported = [&](const Factors& row, const char* ways) {
    return published_of(views.report, "speedup.{workload}." + std::string(ways))(points, row);
  };
  Rows table{{"share", "of", "one worker", "threads: speed-up", "processes: speed-up",
              "threads / processes", "report: threads", "report: teams"},
             {}};
  Curves curves{{"share of large chunks or new keys, %", ""}, {"threads / processes", "ratio"}, {}};
  for (const auto& [of, share_of] :
       {std::pair("large chunks", &Workload::large_share), {"new keys", &Workload::new_share}}) {
    Curve curve{.name = of};
    for (const Workload& workload : workloads()) {
      const std::optional<double> share = workload.*share_of;
      const Factors what{{"workload", workload.name}, {"allocator", allocators.front()}};
      const Entry gain = share ? ratio(points, what) : Entry();
      if (!gain.value) continue;
      add_place(curve, 100 * *share, *gain.value, gain.interval);
      table.rows.push_back({{*share, "share"},
                            of,
                            time_per_request(one)(points, what),
                            ratio_of(one, threads)(points, what),
                            ratio_of(one, team)(points, what),
                            gain,
                            reported(what, "threads"),
                            reported(what, "teams")});
    }
    add_curve(curves, std::move(curve));
  }
  views.table("shares.table", std::move(table));
  views.chart("shares", std::move(curves));
}

// Memory next to speed: of threads, and of the team that the report would take.
void memory(const StudyViews& views, int pus) {
  const auto memory_of = [&](const Point* point) -> Entry {
    const auto found = std::ranges::find_if(views.record.results, [&](const Result& result) {
      return result.name.starts_with("process_thread.memory.") && result.factors == point->factors;
    });
    return found == views.record.results.end() ? Entry() : Entry(found->value, "B");
  };
  const auto row_of = [&](std::string what, std::string allocator, const Point* threads,
                          const Point* team) -> std::vector<Entry> {
    if (threads == nullptr || team == nullptr) return {};
    const Entry few = memory_of(threads), many = memory_of(team);
    if (!few.value || !many.value) return {};
    return {std::move(what),
            std::move(allocator),
            few,
            many,
            shape_label(*team),
            {*many.value / *few.value, "ratio"},
            ratio_entry(threads, team)};
  };
  const Shape shape = team_of_processes(pus);
  const Points& points = views.points;
  Rows rows{{"workload", "allocator", "threads only", "with processes", "P x T",
             "memory, processes / threads", "time, threads / processes"},
            {}};
  const auto add = [&](std::vector<Entry> row) {
    if (!row.empty()) rows.rows.push_back(std::move(row));
  };
  for (const Factors& row : combinations(points, {"workload", "allocator"})) {
    const std::string workload = row.word("workload"), allocator = row.word("allocator");
    add(row_of(title_of(workload), allocator,
               points.find(shape_factors(workload, allocator, {1, pus})),
               points.find(shape_factors(workload, allocator, shape))));
  }
  for (const Factors& row : combinations(points, {"program", "under"})) {
    const std::string program = row.word("program"), under = row.word("under");
    add(row_of("mining, " + program, under,
               points.find(mining_factors(program, under, {"threads", {1, pus}})),
               points.find(mining_factors(program, under, {"tree", shape}))));
  }
  views.table("memory", std::move(rows));
}

// Of the samples of automatic teams: how many predicted a time, and how many of these held.
struct PredictionTally {
  std::size_t predicted = 0, held = 0;

  void add(const Point& automatic) {
    for (const double one : automatic.beside.at("held")) {
      predicted += !std::isnan(one);
      held += one == 1;
    }
  }
};

Entry predictions_held(const Point& automatic) {
  PredictionTally tally;
  tally.add(automatic);
  if (tally.predicted == 0) return "none made";
  return fmt::format("{} of {}", tally.held, tally.predicted);
}

CaptionValues tally_values(Record& record, const PredictionTally& all) {
  if (all.predicted == 0) return {{"none", "No time was predicted."}};
  const double share = double(all.held) / double(all.predicted);
  add_result(record, "choice.predictions_held",
             "share of predicted times whose interval held what the work then took", {share, ""},
             Better::higher);
  return {{"predicted", std::to_string(all.predicted)},
          {"held", std::to_string(all.held)},
          {"share", show_percent(share)}};
}

void choice_table(const StudyViews& views, const std::vector<Result>& choices) {
  const Pick automatic([](const Points& points, const Factors& row) {
    return points.find(automatic_factors(row.word("workload"), row.word("allocator")));
  });
  const Pick best = fastest_with({"workload", "allocator"});
  const Cell ratio = ratio_of(automatic, best);
  std::vector<Factors> rows;
  PredictionTally all;
  std::size_t good = 0;
  std::string reasons;
  for (const Result& choice : choices) {
    const Factors& row = choice.factors;
    const Entry to_best = ratio(views.points, row);
    if (!to_best.value || views.points.find(row) == nullptr) continue;
    rows.push_back(row);
    all.add(*automatic(views.points, row));
    good += *to_best.value <= 1.1;
    if (*row.find("allocator") == views.points.levels("allocator").front())
      reasons += fmt::format(" {}: {}.", row.word("workload"), choice.details.at("reason").text());
  }
  if (rows.empty()) return;
  const auto predicted = [&](const Points&, const Factors& row) {
    const Result& choice = *std::ranges::find(choices, row, &Result::factors);
    return choice.value ? Entry(*choice.value, "s", choice.interval) : Entry("not known");
  };
  CaptionValues values = tally_values(views.record, all);
  values.insert({{"good", std::to_string(good)},
                 {"cases", std::to_string(rows.size())},
                 {"reasons", reasons}});
  views.table("choices",
              {{"workload", word_of("workload", title_of)},
               {"allocator", word_of("allocator")},
               {"chosen", shown_of({}, shape_label)},
               {"predicted", predicted},
               {"measured", time_of()},
               {"best", shown_of(best, shape_label)},
               {"best measured", time_of(best)},
               {"chosen with sample / best", ratio},
               {"sample", shown_of(automatic,
                                   [](const Point& point) {
                                     const auto seconds = median_beside(point, "sample_s");
                                     return seconds == 0 ? Entry("none") : Entry(seconds, "s");
                                   })},
               {"predictions held", shown_of(automatic, predictions_held)}},
              rows, values);
  views.record.sentences.push_back(views.caption("finding.choices", values).note);
}

// What the page begins with: the gains of all workloads and of mining.
void gain_sentence(const StudyViews& views) {
  const std::string begin = family(views.record) + ".gain.";
  const Result* most = nullptr;
  std::size_t faster = 0, slower = 0, known = 0;
  for (const Result& gain : views.record.results) {
    if (!gain.name.starts_with(begin)) continue;
    if (most == nullptr || *gain.value > *most->value) most = &gain;
    known += gain.interval.has_value();
    faster += gain.interval && gain.interval->low > 1;
    slower += gain.interval && gain.interval->high < 1;
  }
  if (most == nullptr) return;
  const std::size_t dot = most->name.rfind('.');
  const std::string workload = most->name.substr(begin.size(), dot - begin.size());
  const bool mines = workload.starts_with("mining-");
  const Entry reported =
      views.published(mines ? "gain.mining" : "gain." + most->name.substr(begin.size()));
  CaptionValues values = {
      {"most", text_of({most->value, "ratio"})},
      {"case", fmt::format("{} ({})", mines ? "mining, " + workload.substr(7) : title_of(workload),
                           most->name.substr(dot + 1))},
      {"reported", reported.value ? text_of(reported) : ""}};
  if (known > 0)
    values.insert({{"faster", std::to_string(faster)},
                   {"slower", std::to_string(slower)},
                   {"cases", std::to_string(known)}});
  auto& all = views.record.sentences;
  all.insert(all.begin(), views.caption("finding.gain", values).note);
}

}  // namespace

void add_views(Record& record, const Points& points, const std::vector<Result>& choices, int pus) {
  const Record& report = published("process-thread");
  const StudyViews views{record,
                         points,
                         report,
                         {{"pus", std::to_string(pus)},
                          {"children", std::to_string(kForkChildren)},
                          {"summary", report.machine.at("summary").get<std::string>()}}};
  add_fork_views(views);
  for (const std::string& workload : points.words("workload")) {
    if (find_workload(workload).between) continue;
    scaling(views, choices, workload, pus);
    allocators_chart(views, workload);
  }
  comparison(views, pus);
  shares(views, pus);
  choice_table(views, choices);
  add_mining_views(record, points, pus);
  memory(views, pus);
  gain_sentence(views);
}

}  // namespace tabane::lab::process_thread
