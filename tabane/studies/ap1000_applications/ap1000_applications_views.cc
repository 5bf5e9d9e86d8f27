// The tables, charts and pictures of the study ap1000-applications, with the report's figures.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "tabane/comm/collective/choice.h"
#include "tabane/core/units.h"
#include "tabane/lab/record/published.h"
#include "tabane/studies/ap1000_applications/ap1000_applications.h"

namespace tabane::lab::ap1000_applications {
namespace {

// The seconds of steps over the whole.
double share_of(const Point& point, const std::vector<const char*>& steps) {
  const double seconds = std::accumulate(
      steps.begin(), steps.end(), 0.0,
      [&](double sum, const char* step) { return sum + median_beside(point, step).value_or(0); });
  return seconds / point.median();
}

std::string title_of(const std::string& name) {
  return std::ranges::find(applications(), name, &Application::name)->title;
}

double operations_of(const Point& point) { return *median_beside(point, "operations"); }

Entry rate_entry(const Point* point) {
  if (point == nullptr) return {};
  return {operations_of(*point) / point->median(), "FLOP/s"};
}

Entry limit_entry(const Point& point) {
  const auto limit = median_beside(point, "limit_per_second");
  if (!limit) return {};
  return {operations_of(point) / point.median() / *limit, "share"};
}

struct Findings {
  Record& record;
  const Points& points;
  const LastRuns& last;

  const Point* find(const Application& application, double n, double ranks,
                    std::string_view mechanisms = "all") const {
    return points.find({{"application", application.name},
                        {"n", n},
                        {"ranks", ranks},
                        {"mechanisms", std::string(mechanisms)}});
  }
  std::vector<double> sizes(const Application& application) const {
    return points.numbers("n", {{"application", application.name}});
  }
  std::vector<double> ranks(const Application& application) const {
    return points.numbers("ranks", {{"application", application.name}});
  }
};

// Like the report's tables: seconds, rate, share of communication, on each number of ranks.
void result_table(const Findings& data, const Application& application) {
  Rows rows{
      {application.size, "ranks", "time", "rate", "of the limit", "communication", "1 rank / this"},
      {}};
  for (const double n : data.sizes(application)) {
    for (const double p : data.ranks(application)) {
      const Point* point = data.find(application, n, p);
      if (point == nullptr) continue;
      rows.rows.push_back({count_entry(n),
                           count_entry(p),
                           median_entry(point, true),
                           rate_entry(point),
                           limit_entry(*point),
                           {share_of(*point, application.communication), "share"},
                           ratio_entry(data.find(application, n, 1), point)});
    }
  }
  std::string limit;
  for (const auto& [key, solution] : data.last) {
    if (key.starts_with("application=" + application.name + ";")) limit = solution.limit_is;
  }
  add_table(data.record, application.title + " with all mechanisms", std::move(rows),
            limit.empty() ? "No limit was measured."
                          : fmt::format("The limit is {}, measured in the same run. "
                                        "Communication: the share of the ranks' time in the steps "
                                        "{}.",
                                        limit, fmt::join(application.communication, ", ")));
}

// What each mechanism is worth, on the most ranks.
void worth_table(const Findings& data) {
  const auto with = [](std::string_view mechanisms) {
    return Factors{{"mechanisms", std::string(mechanisms)}};
  };
  std::vector<Factors> rows;
  for (const Application& application : applications()) {
    const auto ranks = data.ranks(application);
    if (ranks.empty() || ranks.back() < 2) continue;
    const Factors one{{"application", application.name}, {"ranks", ranks.back()}};
    std::ranges::copy(combinations(data.points, {"n"}, one), std::back_inserter(rows));
  }
  std::vector<Column> columns = {{"application", word_of("application", title_of)},
                                 {"size", level_of("n")},
                                 {"ranks", level_of("ranks")}};
  for (const std::string_view name : comm::kMechanismNames)
    columns.push_back({std::string(name), time_of(with(name))});
  columns.push_back({"messages / all", ratio_of(with("messages"), with("all"))});
  add_table(data.record, "What the mechanisms are worth", rows_of(columns, data.points, rows),
            "Time with plain messages alone, with broadcast, with global functions, and with all "
            "mechanisms. The last column is of runs taken in turn: above 1, the mechanisms help.");
}

// Calls and seconds of each step, of the last run on the most ranks.
void step_table(const Findings& data, const Application& application) {
  const auto sizes = data.sizes(application), ranks = data.ranks(application);
  if (sizes.empty() || ranks.empty()) return;
  const Point* point = data.find(application, sizes.front(), ranks.back());
  if (point == nullptr) return;
  const auto found = data.last.find(key_of(point->factors));
  if (found == data.last.end()) return;
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
  add_table(data.record,
            fmt::format("Where the time of {} goes: {:g} {}, {:g} ranks", application.title,
                        sizes.front(), application.size, ranks.back()),
            std::move(rows), "One run. Times are means of the ranks.");
}

// Rates over ranks, a curve for each set of mechanisms.
void rate_chart(const Findings& data, const Application& application) {
  const auto sizes = data.sizes(application);
  if (sizes.empty() || data.ranks(application).size() < 2) return;
  Curves curves{{"ranks", "1", false}, {"rate", "FLOP/s", false}, {}};
  for (const std::string_view name : comm::kMechanismNames) {
    PointList points;
    for (const double p : data.ranks(application)) {
      const Point* point = data.find(application, sizes.front(), p, p == 1 ? "all" : name);
      if (point != nullptr) points.push_back(point);
    }
    add_curve(curves, rate_over(std::string(name), points, "ranks", operations_of));
  }
  add_chart(data.record, application.name + ".rate",
            fmt::format("{}, {:g} {}: rate over ranks", application.title, sizes.front(),
                        application.size),
            "One curve for each set of mechanisms. The smallest problem is shown, since there the "
            "mechanisms decide.",
            std::move(curves));
}

// The largest rates here and those of the report, over ranks.
void then_and_now_chart(const Findings& data) {
  Curves curves{{"ranks", "1", true}, {"rate", "FLOP/s", true}, {}};
  const Record& report = published("ap1000-applications");
  for (const Application& application : applications()) {
    const auto sizes = data.sizes(application);
    if (sizes.empty()) continue;
    const int colour = static_cast<int>(curves.series.size() / 2);
    Curve here{
        .name = fmt::format("{}, {:g} {}", application.title, sizes.back(), application.size),
        .colour = colour};
    for (const double p : data.ranks(application)) {
      const Entry rate = rate_entry(data.find(application, sizes.back(), p));
      if (rate.value) add_place(here, p, *rate.value, {});
    }
    add_curve(curves, std::move(here));
    Curve then{.name = application.title + " on the AP1000 (1992)",
               .role = Role::published,
               .joined = false,
               .colour = colour};
    for (const Result& result : report.results) {
      if (!result.name.starts_with("ap1000.applications." + application.name + ".")) continue;
      add_place(then, *result.number_detail("ranks"),
                *result.number_detail("operations_per_second"), {});
    }
    add_curve(curves, std::move(then));
  }
  add_chart(data.record, "rates", "Rates then and now",
            "The largest problem of each application here, with all mechanisms, beside all sizes "
            "of the report.",
            std::move(curves));
}

void largest_table(const Findings& data) {
  Rows rows{{"ranks", "time given", "patches", "time", "rate"}, {}};
  for (const Point* point : data.points.where({{"application", "slalom in time"}}, "ranks")) {
    rows.rows.push_back({count_entry(point->number("ranks")),
                         {point->number("seconds"), "s"},
                         count_entry(*median_beside(*point, "patches")),
                         median_entry(point),
                         rate_entry(point)});
  }
  add_table(data.record, "SLALOM: the most patches in the time given", std::move(rows),
            "From opening the geometry to closing the answer. The benchmark gives 60 s: ask for "
            "them with --seconds 60.");
}

// The report's own results.
void report_table(Record& record) {
  const Record& report = published("ap1000-applications");
  Rows rows{{"AP1000 (1992)", "time", "rate"}, {}};
  for (const Result& result : report.results) {
    const auto rate = result.number_detail("operations_per_second");
    rows.rows.push_back({result.what, {result.value, "s"}, {rate, "FLOP/s"}});
  }
  add_table(record, "The report's figures", std::move(rows), report.sentences.front());
}

void add_picture(Record& record, const char* name, std::string title, std::string what,
                 const std::string& png) {
  if (png.empty()) return;
  record.views.push_back({.name = fmt::format("{}.picture.{}", family(record), name),
                          .title = std::move(title),
                          .content = Image{std::move(what), png}});
}

}  // namespace

void add_views(Record& record, const Points& points, const LastRuns& last,
               const Pictures& pictures) {
  const Findings data{record, points, last};
  worth_table(data);
  for (const Application& application : applications()) {
    result_table(data, application);
    step_table(data, application);
    rate_chart(data, application);
  }
  then_and_now_chart(data);
  largest_table(data);
  report_table(record);
  add_picture(record, "box", "The light in SLALOM's box",
              "The inside of a box: the ceiling gives light, one wall reflects red, one blue, the "
              "others grey.",
              pictures.box);
  add_picture(record, "mesh", "SCG's solution",
              "Highest in the middle of the square, and zero at its sides.", pictures.mesh);
}

}  // namespace tabane::lab::ap1000_applications
