// The tables, charts and pictures of the study ap1000-applications, with the report's figures.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tabane/comm/collective/choice.h"
#include "tabane/lab/record/published.h"
#include "tabane/studies/ap1000_applications/ap1000_applications.h"

namespace tabane::lab::ap1000_applications {
namespace {

std::string title_of(const std::string& name) {
  return std::ranges::find(applications(), name, &Application::name)->title;
}

double operations_of(const Point& point) { return *median_beside(point, "operations"); }

// The rate over the limit that was measured in the same run.
Entry share_of_limit(const Point& point) {
  const auto limit = median_beside(point, "limit_per_second");
  if (!limit) return {};
  return {operations_of(point) / point.median() / *limit, "share"};
}

Factors with(std::string_view mechanisms) { return {{"mechanisms", std::string(mechanisms)}}; }

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
void result_table(const StudyViews& views, const LastRuns& last, const ApplicationPoints& of) {
  const std::vector<const char*>& steps = of.application.communication;
  const auto communication = [&](const Point& point) {
    double seconds = 0;
    for (const char* step : steps) seconds += median_beside(point, step).value_or(0);
    return Entry(seconds / point.median(), "share");
  };
  std::string limit;
  for (const auto& [key, solution] : last) {
    if (key.starts_with("application=" + of.application.name + ";")) limit = solution.limit_is;
  }
  views.table("results",
              {{of.application.size, level_of("n")},
               {"ranks", level_of("ranks")},
               {"time", time_of({}, true), true},
               {"rate", rate_of({}, "FLOP/s", operations_of)},
               {"of the limit", shown_of({}, share_of_limit)},
               {"communication", shown_of({}, communication)},
               {"1 rank / this", ratio_of({{"ranks", 1}}, {})}},
              combinations(views.points, {"n", "ranks"}, of.factors.with(with("all"))),
              {{"application", of.application.title},
               {"limit", limit},
               {"steps", fmt::format("{}", fmt::join(steps, ", "))},
               {"no_limit", limit.empty() ? "No limit was measured." : ""}});
}

// What each mechanism is worth, on the most ranks.
void worth_table(const StudyViews& views) {
  std::vector<Factors> rows;
  for (const Application& application : applications()) {
    const ApplicationPoints of(views.points, application);
    if (of.ranks.empty() || of.ranks.back() < 2) continue;
    std::ranges::copy(
        combinations(views.points, {"n"}, of.factors.with({{"ranks", of.ranks.back()}})),
        std::back_inserter(rows));
  }
  std::vector<Column> columns = {{"application", word_of("application", title_of)},
                                 {"size", level_of("n")},
                                 {"ranks", level_of("ranks")}};
  for (const std::string_view name : comm::kMechanismNames)
    columns.push_back({std::string(name), time_of(with(name))});
  columns.push_back({"messages / all", ratio_of(with("messages"), with("all"))});
  views.table("worth", columns, rows);
}

// Calls and seconds of each step, of the last run on the most ranks.
void step_table(const StudyViews& views, const LastRuns& last, const ApplicationPoints& of) {
  if (of.sizes.empty() || of.ranks.empty()) return;
  const Point* point = views.points.find(of.factors.with(
      {{"n", of.sizes.front()}, {"ranks", of.ranks.back()}, {"mechanisms", "all"}}));
  const auto found = point == nullptr ? last.end() : last.find(key_of(point->factors));
  if (found == last.end()) return;
  const comm::StepTable& steps = found->second.steps;
  Rows rows{{"step", "times a rank", "time", "share", "slowest rank"}, {}};
  for (std::size_t step = 0; step < steps.names.size(); ++step) {
    const std::uint64_t times = steps.most_times(step);
    if (times == 0) continue;
    const double mean = steps.mean_seconds(step);
    rows.rows.push_back({steps.names[step],
                         count_entry(static_cast<double>(times)),
                         {mean, "s"},
                         {mean / found->second.seconds, "share"},
                         {steps.most_seconds(step), "s"}});
  }
  views.table("steps", std::move(rows), of.values(of.sizes.front()));
}

// Rates over ranks, a curve for each set of mechanisms; one rank uses none of them.
void rate_chart(const StudyViews& views, const ApplicationPoints& of) {
  if (of.sizes.empty() || of.ranks.size() < 2) return;
  std::vector<Factors> rows;
  for (const double ranks : of.ranks)
    rows.push_back(of.factors.with({{"n", of.sizes.front()}, {"ranks", ranks}}));
  Curves curves{{"ranks", "1", false}, {"rate", "FLOP/s", false}, {}};
  for (const std::string_view name : comm::kMechanismNames) {
    const Pick pick([name](const Points& points, const Factors& row) {
      return points.find(row.with(with(*row.find("ranks") == Level(1) ? "all" : name)));
    });
    add_curve(curves, curve_of(std::string(name), rate_of(pick, "FLOP/s", operations_of, true),
                               views.points, rows, "ranks"));
  }
  views.chart(of.application.name + ".rate", std::move(curves), of.values(of.sizes.front()),
              "rate");
}

// The largest rates here and those of the report, over ranks.
void then_and_now_chart(const StudyViews& views) {
  Curves curves{{"ranks", "1", true}, {"rate", "FLOP/s", true}, {}};
  for (const Application& application : applications()) {
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
    Curve then{.name = application.title + " on the AP1000 (1992)",
               .role = Role::published,
               .joined = false,
               .colour = colour};
    for (const Result& result : views.report.results) {
      if (!result.name.starts_with("ap1000.applications." + application.name + ".")) continue;
      add_place(then, *result.number_detail("ranks"),
                *result.number_detail("operations_per_second"), {});
    }
    add_curve(curves, std::move(then));
  }
  views.chart("rates", std::move(curves));
}

void largest_table(const StudyViews& views) {
  views.table(
      "largest",
      {{"ranks", level_of("ranks")},
       {"time given",
        [](const Points&, const Factors& row) { return Entry(row.number("seconds"), "s"); }},
       {"patches",
        shown_of({},
                 [](const Point& point) { return count_entry(*median_beside(point, "patches")); })},
       {"time", time_of()},
       {"rate", rate_of({}, "FLOP/s", operations_of)}},
      combinations(views.points, {"ranks", "seconds"}, {{"application", "slalom in time"}}));
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

void add_views(Record& record, const Points& points, const LastRuns& last,
               const Pictures& pictures) {
  const StudyViews views{record, points, published("ap1000-applications")};
  worth_table(views);
  for (const Application& application : applications()) {
    const ApplicationPoints of(points, application);
    result_table(views, last, of);
    step_table(views, last, of);
    rate_chart(views, of);
  }
  then_and_now_chart(views);
  largest_table(views);
  report_table(views);
  add_picture(views, "picture.box", pictures.box);
  add_picture(views, "picture.mesh", pictures.mesh);
}

}  // namespace tabane::lab::ap1000_applications
