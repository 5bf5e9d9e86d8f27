// Tables and charts of the study ap1000-applications from points that are known.
#include <gtest/gtest.h>

#include <algorithm>

#include "tabane/lab/study/views_test.h"
#include "tabane/studies/ap1000_applications/ap1000_applications.h"

namespace tabane::lab::ap1000_applications {
namespace {

// A dot.
constexpr const char* kPng =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+"
    "M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

// Each mechanism makes an application a tenth faster, and four ranks three times. A tenth of the
// time is in each step, half of the limit is reached.
Point known_point(const Application& application, std::size_t set, double n, int ranks) {
  const double operations = n * n * n;
  const double seconds =
      operations * 1e-9 * (1 - 0.1 * static_cast<double>(set)) / (ranks > 1 ? 3 : 1);
  Point point{.factors = {{"application", application.name},
                          {"n", n},
                          {"ranks", ranks},
                          {"mechanisms", application.sets[set].name}},
              .block = 1,
              .samples = std::vector<double>(6, seconds)};
  const auto see = [&](const char* what, double value) {
    point.beside[what] = std::vector<double>(6, value);
  };
  see("operations", operations);
  see("limit_per_second", 2 * operations / seconds);
  for (const char* step : application.steps) see(step, 0.1 * seconds);
  return point;
}

Outcome known_outcome(const Application& application, const Point& point) {
  Outcome outcome;
  outcome.solution.seconds = point.median();
  outcome.solution.limit = 2e9;
  outcome.solution.limit_is = "the rate of products of matrices";
  outcome.solution.steps.ranks.resize(1);
  for (const char* step : application.steps) {
    outcome.solution.steps.names.push_back(step);
    outcome.solution.steps.ranks[0].push_back({.times = 3, .seconds = 0.1 * point.median()});
  }
  outcome.calls = {{"broadcast", point.text("mechanisms"), 10, 0.2 * point.median()}};
  return outcome;
}

Record shown() {
  Points points;
  LastRuns last;
  points.declare({{"application", ""}, {"n", 0}, {"ranks", 0}, {"mechanisms", ""}});
  for (const Application& application : applications()) {
    for (std::size_t set = 0; set < application.sets.size(); ++set) {
      for (const int n : application.quick_sizes) {
        for (const int ranks : {1, 4}) {
          const Point point = known_point(application, set, n, ranks);
          points.add(point);
          last[key_of(point.factors)] = known_outcome(application, point);
        }
      }
    }
  }
  const Application& box = applications().back();
  for (std::size_t set = 0; set < box.sets.size(); ++set) {
    for (const int ranks : {1, 4}) {
      Point point = known_point(box, set, 500, ranks);
      point.factors = {{"application", "slalom in time"},
                       {"ranks", ranks},
                       {"mechanisms", box.sets[set].name},
                       {"seconds", 0.2}};
      point.beside["patches"] = std::vector<double>(6, 400.0 + 50.0 * static_cast<double>(set));
      points.add(point);
    }
  }
  Record record;
  record.name = "ap1000-applications";
  add_views(record, points, last, last, 2, {.box = kPng, .mesh = kPng});
  return record;
}

TEST(Ap1000ApplicationsViews, ShowWhatEachMechanismIsWorth) {
  const Record record = shown();
  keep_page(record);
  EXPECT_EQ(missing_views("ap1000-applications", record), Names());
  EXPECT_EQ(row_of(view_of(record, "LINPACK with all mechanisms"), 1),
            (Names{"1000", "4", "100 ms [100, 100]", "10.0 GFLOP/s", "50 %", "40 %",
                   "3.00 [3.00, 3.00]"}));
  EXPECT_EQ(row_of(view_of(record, "SCG: what each mechanism is worth"), 1),
            (Names{"100", "messages", "300 µs [300, 300]", "nothing", "1.11 [1.11, 1.11]",
                   "1.11 [1.11, 1.11]"}));
}

}  // namespace
}  // namespace tabane::lab::ap1000_applications
