#include "tabane/studies/ap1000_applications/ap1000_applications.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "tabane/comm/collective/choice.h"
#include "tabane/comm/grid.h"
#include "tabane/core/error.h"
#include "tabane/lab/record/published.h"
#include "tabane/lab/study/views_test.h"

namespace tabane::lab {
namespace {

using namespace ap1000_applications;

const Record& quick_study() {
  static const Record record =
      *run_ap1000_applications(core::Topology::detect(), {.quick = true,
                                                          .ranks = {comm::TransportKind::shm, 4},
                                                          .seconds = 0.05,
                                                          .block_seconds = 0.02});
  return record;
}

TEST(Ap1000Applications, MeasuresEachApplicationWithEachSetOfMechanisms) {
  EXPECT_TRUE(quick_study().complete);
  EXPECT_TRUE(warns(quick_study(), "quick"));
  for (const Application& application : applications()) {
    for (const MechanismSet& set : application.sets) {
      const auto is_it = [&](const Result& result) {
        return result.factors.match(
            {{"application", application.name}, {"ranks", 4}, {"mechanisms", set.name}});
      };
      const auto found = std::ranges::find_if(quick_study().results, is_it);
      ASSERT_NE(found, quick_study().results.end()) << application.name << " " << set.name;
      EXPECT_GT(*found->value, 0);
      // The steps add up to the whole, whatever their share.
      double steps = 0;
      for (const char* step : application.steps) {
        if (found->beside.contains(step)) steps += found->beside.find(step)->second.front();
      }
      EXPECT_GT(steps, 0.5 * found->samples.front()) << application.name;
      EXPECT_LT(steps, 1.2 * found->samples.front()) << application.name;
    }
  }
}

TEST(Ap1000Applications, ShowsTablesChartsAndPictures) {
  const Record& record = quick_study();
  EXPECT_EQ(missing_views("ap1000-applications", record), Names());
  EXPECT_EQ(table(record, "LINPACK: what each mechanism is worth on 4 ranks").rows.size(), 8U);
  EXPECT_EQ(table(record, "SCG: what each").rows.size(), 2 * 4U);
  EXPECT_EQ(table(record, "How each set makes the calls of LINPACK").columns.size(), 1 + 8U);
  EXPECT_FALSE(table(record, "What SLALOM calls").rows.empty());
  EXPECT_FALSE(table(record, "LINPACK with all").rows.empty());
  EXPECT_FALSE(table(record, "Where the time of SCG goes").rows.empty());
  // A busy machine may solve no box in the time given.
  const auto unsolved = static_cast<std::size_t>(std::ranges::count_if(
      record.skipped, [](const Skipped& one) { return one.name.starts_with("SLALOM on "); }));
  EXPECT_EQ(table(record, "SLALOM: the most patches").rows.size() + unsolved, 1 + 5U);
  EXPECT_EQ(table(record, "The report's figures").rows.size(), 8U);
  EXPECT_EQ(std::ranges::count_if(
                record.views,
                [](const View& view) { return std::holds_alternative<Image>(view.content); }),
            2);
  EXPECT_EQ(std::ranges::count_if(
                record.views,
                [](const View& view) { return std::holds_alternative<Curves>(view.content); }),
            5);
  const auto chart = std::ranges::find(
      record.views, "SLALOM: patches in the time given, over ranks", &View::title);
  ASSERT_NE(chart, record.views.end());
  for (const Curve& curve : std::get<Curves>(chart->content).series) {
    if (unsolved > 0) break;
    EXPECT_EQ(curve.x, (std::vector<double>{1, 4})) << curve.name;
  }
  const auto rates = std::ranges::find(record.views, "Rates then and now", &View::title);
  ASSERT_NE(rates, record.views.end());
  const Curves& curves = std::get<Curves>(rates->content);
  EXPECT_EQ(curves.series.size(), 6U);
  std::size_t published = 0;
  for (const Curve& curve : curves.series) {
    if (curve.role == Role::published) published += curve.x.size();
  }
  EXPECT_EQ(published, 8U);
}

Run simulated_run(int application, const std::string& set, int n, int ranks) {
  const auto& sets = applications(true)[static_cast<std::size_t>(application)].sets;
  const auto found = std::ranges::find(sets, set, &MechanismSet::name);
  return {.application = application,
          .set = static_cast<int>(found - sets.begin()),
          .n = n,
          .ranks = ranks,
          .grid = comm::fit_grid(ranks),
          .is_simulated = true};
}

// Rows that take a second here. The rates of computing are fitted to the first and to others, not
// to the last two.
TEST(SimulatedAp1000, TakesAsLongAsPublished) {
  const Record& report = published("ap1000-applications");
  const auto runner = launching_runner("ap1000:16x32", "setup=5");
  for (const auto& [application, n, ranks, error] :
       {std::tuple{0, 1000, 64, 0.05}, {1, 100, 256, 0.12}, {2, 1067, 16, 0.05}}) {
    const std::string name =
        fmt::format("ap1000.applications.{}.n{}.ranks{}",
                    applications(true)[static_cast<std::size_t>(application)].name, n, ranks);
    const Result* const row = report.find(name);
    ASSERT_NE(row, nullptr) << name;
    const Outcome outcome = runner->solve(simulated_run(application, "all", n, ranks));
    EXPECT_TRUE(outcome.solution.check.passed()) << name;
    EXPECT_NEAR(outcome.solution.seconds / *row->value, 1, error) << name;
  }
}

// Each mechanism helps: the curves are in the order of the report. And a run is repeated to the
// bit.
TEST(SimulatedAp1000, IsFasterWithEachMechanism) {
  const auto runner = launching_runner("ap1000:16x32", "setup=5");
  for (const auto& [application, n] : {std::pair{0, 200}, {1, 40}, {2, 200}}) {
    double before = 1e9;
    const Application& one = applications(true)[static_cast<std::size_t>(application)];
    for (const MechanismSet& set : one.sets) {
      const auto run = simulated_run(application, set.name, n, 16);
      const solver::Solution solution = runner->solve(run).solution;
      EXPECT_LT(solution.seconds, before) << one.name << ", " << set.name;
      before = solution.seconds;
      const solver::Solution again = runner->solve(run).solution;
      EXPECT_EQ(again.seconds, solution.seconds);
      EXPECT_EQ(again.check.residual, solution.check.residual);
    }
    EXPECT_EQ(one.sets.size(), 4U);
  }
}

TEST(SimulatedAp1000, ShowsThePublishedPoints) {
  const Record record =
      *run_ap1000_applications(core::Topology::detect(),
                               {.quick = true, .ranks = {.machine = "ap1000:4x4"}, .seconds = 0.5});
  EXPECT_TRUE(record.complete);
  EXPECT_EQ(record.machine["name"], "ap1000:4x4");
  const Rows& rows = table(record, "SLALOM with all");
  ASSERT_EQ(rows.rows.size(), 2U);  // on 4 and on 16 ranks, and only this is in the report
  EXPECT_FALSE(rows.rows[0].back().value);
  EXPECT_NEAR(rows.rows[1].back().value.value_or(0), 1, 0.05);
  const auto chart =
      std::ranges::find(record.views, "SLALOM, 1067 patches: rate over ranks", &View::title);
  ASSERT_NE(chart, record.views.end());
  const Curves& curves = std::get<Curves>(chart->content);
  EXPECT_EQ(curves.series.size(), 4U + 1);
  EXPECT_EQ(curves.series.back().x, std::vector<double>{16});
  EXPECT_NE(chart->note.find("1163 patches"), std::string::npos) << chart->note;
  const auto patches = std::ranges::find(
      record.views, "SLALOM: patches in the time given, over ranks", &View::title);
  ASSERT_NE(patches, record.views.end());
  EXPECT_EQ(std::get<Curves>(patches->content).series.back().y, (std::vector<double>{1067, 1666}));
}

// Times that are known when the user stops stay, also of a problem with some sets only.
TEST(SimulatedAp1000, StopsWithinARun) {
  int shown = 0, asked = 0;
  Hooks hooks;
  hooks.progress = [&](const std::string&, double, double) { ++shown; };
  hooks.stop_requested = [&] { return shown == 3 && ++asked > 100; };  // in the second run
  const Record record = *run_ap1000_applications(
      core::Topology::detect(), {.quick = true, .ranks = {.machine = "ap1000:2x2"}}, hooks);
  EXPECT_FALSE(record.complete);
  EXPECT_EQ(record.results.size(), 1U);
}

TEST(Ap1000Applications, RefusesOptionsThatCannotBe) {
  EXPECT_THROW(run_ap1000_applications(core::Topology::detect(), {.ranks = {.most_ranks = -1}}),
               core::UsageError);
  EXPECT_THROW(run_ap1000_applications(core::Topology::detect(), {.seconds = 1e9}),
               core::UsageError);
  EXPECT_THROW(run_ap1000_applications(core::Topology::detect(), {.grid = {70000, 70000}}),
               core::UsageError);
}

}  // namespace
}  // namespace tabane::lab
