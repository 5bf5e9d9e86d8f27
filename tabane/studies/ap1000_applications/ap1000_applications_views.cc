// The tables, charts and pictures of the study ap1000-applications, with the report's figures.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "tabane/comm/collective/choice.h"
#include "tabane/lab/record/published.h"
#include "tabane/studies/ap1000_applications/ap1000_applications.h"

namespace tabane::lab::ap1000_applications {
namespace {

double operations_of(const Point& point) { return *median_beside(point, "operations"); }

// The rate over the limit that was measured in the same run.
Entry share_of_limit(const Point& point) {
  const auto limit = median_beside(point, "limit_per_second");
  if (!limit) return {};
  return {operations_of(point) / point.median() / *limit, "share"};
}

Factors with(const std::string& mechanisms) { return {{"mechanisms", mechanisms}}; }

std::string base_of(const Application& application, const std::string& set) {
  const auto found = std::ranges::find(application.sets, set, &MechanismSet::name);
  return found == application.sets.end() ? "" : found->base;
}

// What an application has measured: sizes and numbers of ranks, the least first.
struct ApplicationPoints {
  const Application& application;
  Factors factors;
  std::vector<double> sizes, ranks;

  ApplicationPoints(const Points& points, const Application& one)
      : application(one),
        factors{{"application", one.name}},
        sizes(points.numbers("n", factors)),
        ranks(points.numbers("ranks", factors)) {}
  CaptionValues values(double n) const {
    return {{"application", application.title},
            {"unit", application.size},
            {"n", fmt::format("{:g}", n)},
            {"ranks", fmt::format("{:g}", ranks.back())}};
  }
};

// Like the report's tables: seconds, rate, share of communication, on each number of ranks.
void result_table(const StudyViews& views, const LastRuns& last, const ApplicationPoints& of,
                  bool is_simulated) {
  const std::vector<const char*>& steps = of.application.communication;
  const auto communication = [&](const Point& point) {
    double seconds = 0;
    for (const char* step : steps) seconds += median_beside(point, step).value_or(0);
    return Entry(seconds / point.median(), "share");
  };
  std::string limit;
  for (const auto& [key, outcome] : last) {
    const std::string& is = outcome.solution.limit_is;
    if (key.starts_with("application=" + of.application.name + ";") && outcome.solution.limit > 0)
      limit = is;
  }
  std::vector<Column> columns{{of.application.size, level_of("n")},
                              {"ranks", level_of("ranks")},
                              {"time", time_of({}, true), true},
                              {"rate", rate_of({}, "FLOP/s", operations_of)},
                              {"communication", shown_of({}, communication)},
                              {"1 rank / this", ratio_of({{"ranks", 1}}, {})}};
  if (!is_simulated)
    columns.insert(columns.end() - 2, {"of the limit", shown_of({}, share_of_limit)});
  if (is_simulated) {
    const Cell theirs = [&views](const Points&, const Factors& row) -> Entry {
      const Result* const found = views.report.find(
          fmt::format("ap1000.applications.{}.n{:g}.ranks{:g}", row.word("application"),
                      row.number("n"), row.number("ranks")));
      return found == nullptr ? Entry() : Entry{found->value, "s"};
    };
    columns.back() = {"AP1000 (1992)", theirs};
    columns.push_back({"this / AP1000", [theirs](const Points& points, const Factors& row) {
                         const Entry published = theirs(points, row);
                         const Point* const point = points.find(row);
                         if (!published.value || point == nullptr) return Entry();
                         return Entry(point->median() / *published.value, "ratio");
                       }});
  }
  views.table("results", columns,
              combinations(views.points, {"n", "ranks"}, of.factors.with(with("all"))),
              {{"application", of.application.title},
               {"limit", limit},
               {"steps", fmt::format("{}", fmt::join(steps, ", "))},
               {"no_limit", limit.empty() && !is_simulated ? "No limit was measured." : ""}});
}

// What each mechanism is worth, on the most ranks.
void worth_table(const StudyViews& views, const ApplicationPoints& of, int pus) {
  if (of.ranks.empty() || of.ranks.back() < 2) return;
  std::vector<Factors> rows;
  for (const double n : of.sizes) {
    for (const MechanismSet& set : of.application.sets)
      rows.push_back(
          of.factors.with({{"n", n}, {"ranks", of.ranks.back()}, {"mechanisms", set.name}}));
  }
  const auto base = [&of](const Factors& row) {
    return base_of(of.application, row.find("mechanisms")->text());
  };
  const Pick with_base([base](const Points& points, const Factors& row) {
    return base(row).empty() ? nullptr : points.find(row.with(with(base(row))));
  });
  CaptionValues values = of.values(of.sizes.front());
  if (pus > 0 && of.ranks.back() > pus) values["pus"] = fmt::format("{}", pus);
  views.table("worth",
              {{of.application.size, level_of("n")},
               {"mechanisms", word_of("mechanisms")},
               {"time", time_of({}, true), true},
               {"base", [base](const Points&, const Factors& row) { return Entry(base(row)); }},
               {"base / this", ratio_of(with_base, {})},
               {"nothing / this", ratio_of(with("nothing"), {})}},
              rows, values);
}

// What ranks call with the last set, and by which means they do so with each set.
void call_tables(const StudyViews& views, const LastRuns& counted, const ApplicationPoints& of) {
  if (of.ranks.empty()) return;
  Rows calls{{"call", "by", "calls a rank", "time a rank", "share"}, {}};
  Rows means{{"call"}, {}};
  for (const MechanismSet& set : of.application.sets) {
    const auto run = counted.find(key_of(of.factors.with(
        {{"n", of.application.chart_size}, {"ranks", of.ranks.back()}, {"mechanisms", set.name}})));
    if (run == counted.end()) return;
    means.columns.push_back(set.name);
    for (const Calls& one : run->second.calls) {
      auto row = std::ranges::find_if(
          means.rows, [&](const auto& entries) { return entries.front().text == one.call; });
      if (row == means.rows.end()) row = means.rows.insert(row, {Entry(one.call)});
      row->resize(means.columns.size());
      std::string& text = row->back().text;
      text += (text.empty() ? "" : ", ") + one.how;
    }
    for (auto& row : means.rows) row.resize(means.columns.size());
    if (set.name != "all") continue;
    for (const Calls& one : run->second.calls) {
      calls.rows.push_back({one.call,
                            one.how,
                            count_entry(one.calls),
                            {one.seconds, "s"},
                            {one.seconds / run->second.solution.seconds, "share"}});
    }
  }
  const CaptionValues values = of.values(of.application.chart_size);
  views.table("calls", std::move(calls), values);
  views.table("means", std::move(means), values);
}

// Calls and seconds of each step, of the last run on the most ranks.
void step_table(const StudyViews& views, const LastRuns& last, const ApplicationPoints& of) {
  if (of.sizes.empty() || of.ranks.empty()) return;
  const Point* point = views.points.find(of.factors.with(
      {{"n", of.sizes.front()}, {"ranks", of.ranks.back()}, {"mechanisms", "all"}}));
  const auto found = point == nullptr ? last.end() : last.find(key_of(point->factors));
  if (found == last.end()) return;
  const solver::Solution& solution = found->second.solution;
  const comm::StepTable& steps = solution.steps;
  Rows rows{{"step", "times a rank", "time", "share", "slowest rank"}, {}};
  for (std::size_t step = 0; step < steps.names.size(); ++step) {
    const std::uint64_t times = steps.most_times(step);
    if (times == 0) continue;
    const double mean = steps.mean_seconds(step);
    rows.rows.push_back({steps.names[step],
                         count_entry(static_cast<double>(times)),
                         {mean, "s"},
                         {mean / solution.seconds, "share"},
                         {steps.most_seconds(step), "s"}});
  }
  views.table("steps", std::move(rows), of.values(of.sizes.front()));
}

// The point with this set; one rank uses none of them.
Pick with_set(const MechanismSet& set) {
  return Pick([name = set.name](const Points& points, const Factors& row) {
    return points.find(row.with(with(*row.find("ranks") == Level(1) ? "all" : name)));
  });
}

double rate_in_report(const Result& run) { return *run.number_detail("operations_per_second"); }

// Of ap1000.applications.slalom.n1067.ranks16.
double size_in_report(const Result& run) {
  return std::strtod(run.name.c_str() + run.name.find(".n") + 2, nullptr);
}

// size: "n1000."; empty: of all sizes.
bool is_of(const Result& run, const Application& application, const std::string& size) {
  return run.name.starts_with("ap1000.applications." + application.name + "." + size);
}

// Something of the report's runs of an application over ranks.
Curve reported(const StudyViews& views, const Application& application, const std::string& size,
               double (*of)(const Result& run) = rate_in_report) {
  Curve then{.name = application.title + " on the AP1000 (1992)",
             .role = Role::published,
             .joined = false};
  for (const Result& run : views.report.results) {
    if (!is_of(run, application, size)) continue;
    add_place(then, *run.number_detail("ranks"), of(run), {});
  }
  return then;
}

// Rates over ranks, a curve for each set of mechanisms.
void rate_chart(const StudyViews& views, const ApplicationPoints& of, bool is_simulated) {
  if (of.sizes.empty() || of.ranks.size() < 2) return;
  const int n = of.application.chart_size;
  std::vector<Factors> rows;
  for (const double ranks : of.ranks) rows.push_back(of.factors.with({{"n", n}, {"ranks", ranks}}));
  Curves curves{{"ranks", "1", false}, {"rate", "FLOP/s", false}, {}};
  for (const MechanismSet& set : of.application.sets) {
    add_curve(curves, curve_of(set.name, rate_of(with_set(set), "FLOP/s", operations_of, true),
                               views.points, rows, "ranks"));
  }
  CaptionValues values = of.values(n);
  if (is_simulated) {
    const std::string size = fmt::format("n{}.", n);
    add_curve(curves, reported(views, of.application, size));
    for (const Result& run : views.report.results) {
      if (is_of(run, of.application, size)) values["remark"] = run.details.value("remark", "");
    }
  }
  views.chart(of.application.name + ".rate", std::move(curves), values, "rate");
}

// The largest rates here and those of the report, over ranks.
void then_and_now_chart(const StudyViews& views, bool is_simulated) {
  Curves curves{{"ranks", "1", true}, {"rate", "FLOP/s", true}, {}};
  for (const Application& application : applications(is_simulated)) {
    const ApplicationPoints of(views.points, application);
    if (of.sizes.empty()) continue;
    const int colour = static_cast<int>(curves.series.size() / 2);
    Curve here =
        curve_of(fmt::format("{}, {:g} {}", application.title, of.sizes.back(), application.size),
                 rate_of({}, "FLOP/s", operations_of), views.points,
                 combinations(views.points, {"ranks"},
                              of.factors.with({{"n", of.sizes.back()}, {"mechanisms", "all"}})),
                 "ranks");
    here.colour = colour;
    add_curve(curves, std::move(here));
    Curve then = reported(views, application, "");
    then.colour = colour;
    add_curve(curves, std::move(then));
  }
  views.chart("rates", std::move(curves));
}

// The most patches, as a table and over ranks.
void largest_views(const StudyViews& views, bool is_simulated) {
  const auto patches = [](const Point& point) {
    return count_entry(*median_beside(point, "patches"));
  };
  const Factors largest{{"application", "slalom in time"}};
  views.table("largest",
              {{"ranks", level_of("ranks")},
               {"mechanisms", word_of("mechanisms")},
               {"time given", [](const Points&,
                                 const Factors& row) { return Entry(row.number("seconds"), "s"); }},
               {"patches", shown_of({}, patches)},
               {"time", time_of()},
               {"rate", rate_of({}, "FLOP/s", operations_of)}},
              combinations(views.points, {"ranks", "mechanisms", "seconds"}, largest));
  Curves curves{{"ranks", "1", false}, {"patches", "1", false}, {}};
  const Application& box = applications(is_simulated).back();
  for (const MechanismSet& set : box.sets) {
    add_curve(curves, curve_of(set.name, shown_of(with_set(set), patches), views.points,
                               combinations(views.points, {"ranks", "seconds"}, largest), "ranks"));
  }
  if (is_simulated) add_curve(curves, reported(views, box, "", size_in_report));
  views.chart("slalom.patches", std::move(curves), {}, "patches");
}

// The report's own results.
void report_table(const StudyViews& views) {
  const auto row_of = [](const Result& result) -> std::vector<Entry> {
    return {result.what,
            {result.value, "s"},
            {result.number_detail("operations_per_second"), "FLOP/s"}};
  };
  views.table("report", rows_of({"AP1000 (1992)", "time", "rate"}, views.report.results, row_of),
              {{"sentence", views.report.sentences.front()}});
}

void add_picture(const StudyViews& views, const std::string& name, const std::string& png) {
  if (png.empty()) return;
  Caption text = views.caption(name);
  views.record.views.push_back({.name = fmt::format("{}.{}", family(views.record), name),
                                .title = std::move(text.title),
                                .content = Image{std::move(text.note), png}});
}

}  // namespace

void add_views(Record& record, const Points& points, const LastRuns& last, const LastRuns& counted,
               int pus, const Pictures& pictures) {
  const StudyViews views{record, points, published("ap1000-applications")};
  const bool is_simulated = pus == kSimulated;
  for (const Application& application : applications(is_simulated)) {
    const ApplicationPoints of(points, application);
    result_table(views, last, of, is_simulated);
    worth_table(views, of, pus);
    call_tables(views, counted, of);
    step_table(views, last, of);
    rate_chart(views, of, is_simulated);
  }
  then_and_now_chart(views, is_simulated);
  largest_views(views, is_simulated);
  report_table(views);
  add_picture(views, "picture.box", pictures.box);
  add_picture(views, "picture.mesh", pictures.mesh);
}

}  // namespace tabane::lab::ap1000_applications
