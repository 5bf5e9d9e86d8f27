#include "tabane/team/team_model.h"

#include <gtest/gtest.h>

#include "tabane/team/law_experiment_test.h"

namespace tabane::team {
namespace {

double makespan(double n, std::vector<WorkerClass> workers, double variation) {
  return expected_makespan(n, workers, variation);
}

TEST(ExpectedMakespan, OfEqualTasksIsAWholeNumberOfRounds) {
  const std::vector<WorkerClass> four{{.rate = 2, .count = 4}};
  EXPECT_NEAR(makespan(1, four, 0), 0.5, 1e-6);
  EXPECT_NEAR(makespan(4, four, 0), 0.5, 1e-6);
  EXPECT_NEAR(makespan(5, four, 0), 1.0, 1e-6);
  EXPECT_NEAR(makespan(8, four, 0), 1.0, 1e-6);
}

TEST(ExpectedMakespan, WaitsForTheSlowWorkerThatTookTheLastTask) {
  // Fast ones end tasks at 1, 2, 3 …, the slow one at 3. Task 4 of 4 begins at 1, after the slow
  // one took its first at 0.
  EXPECT_NEAR(makespan(4, {{.rate = 1, .count = 2}, {.rate = 1.0 / 3, .count = 1}}, 0), 3, 1e-6);
  EXPECT_NEAR(makespan(7, {{.rate = 1, .count = 2}, {.rate = 1.0 / 3, .count = 1}}, 0), 3, 1e-6);
}

TEST(ExpectedMakespan, IsTheMeanWorkWhenTasksAreMany) {
  EXPECT_NEAR(makespan(1e6, {{.rate = 1, .count = 10}}, 1), 1e5, 20);
}

TEST(ExpectedMakespan, OfOneWorkerIsTheSumWhateverTheVariation) {
  EXPECT_NEAR(makespan(50, {{.rate = 1, .count = 1}}, 1), 50, 1);
}

TEST(ExpectedMakespan, OfEqualTasksIsThatOfGreedyScheduling) {
  for (const std::size_t n : {1, 2, 7, 71, 73, 300, 1000}) {
    for (const std::vector<WorkerClass>& workers :
         {std::vector<WorkerClass>{{.rate = 1, .count = 72}},
          {{.rate = 0.7, .count = 3}},
          {{.rate = 1, .count = 30}, {.rate = 0.61, .count = 12}}}) {
      double count = 0;
      for (const WorkerClass& w : workers) count += w.count;
      if (double(n) < count && workers.size() > 1) continue;  // which of them begin is not told
      EXPECT_NEAR(makespan(double(n), workers, 0) / simulated_makespan(n, workers, 0), 1, 0.011)
          << n << " tasks, " << count << " workers";
    }
  }
}

TEST(ExpectedMakespan, OfVaryingTasksIsNearThatOfGreedyScheduling) {
  for (const double variation : {0.05, 0.1, 0.3, 0.5, 1.0}) {
    for (const std::size_t n : {7, 71, 73, 150, 300, 1000, 20'000}) {
      for (const double count : {2.0, 8.0, 36.0, 72.0}) {
        const std::vector<WorkerClass> workers{{.rate = 1, .count = count}};
        EXPECT_NEAR(
            makespan(double(n), workers, variation) / simulated_makespan(n, workers, variation), 1,
            0.12)
            << n << " tasks, " << count << " workers, variation " << variation;
      }
    }
  }
}

}  // namespace
}  // namespace tabane::team
