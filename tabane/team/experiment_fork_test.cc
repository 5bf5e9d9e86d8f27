#include "tabane/team/experiment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <string>

#include "tabane/team/leftovers_test.h"
#include "tabane/team/team.h"

namespace tabane::team {
namespace {

TEST(SpreadOrder, NamesEachTaskOnce) {
  for (const std::size_t n : {1, 2, 3, 10, 97, 1024, 5000}) {
    const SpreadOrder order(n);
    std::set<std::size_t> seen;
    for (std::size_t k = 0; k < n; ++k) {
      ASSERT_LT(order(k), n);
      seen.insert(order(k));
    }
    EXPECT_EQ(seen.size(), n);
  }
}

TEST(SpreadOrder, LeavesNoLongGapAfterAnyBeginning) {
  constexpr std::size_t kTasks = 10'000;
  const SpreadOrder order(kTasks);
  std::set<std::size_t> seen{0, kTasks};
  for (std::size_t k = 0; k < 200; ++k) {
    seen.insert(order(k));
    std::size_t widest = 0;
    for (auto at = std::next(seen.begin()); at != seen.end(); ++at) {
      widest = std::max(widest, *at - *std::prev(at));
    }
    EXPECT_LE(widest, 3 * kTasks / (k + 1)) << k;
  }
}

TEST(SpreadOrder, StaysInsideTheLargestWork) {
  const std::size_t n = SIZE_MAX / 2;
  const SpreadOrder order(n);
  for (std::size_t k = 0; k < 1000; ++k) EXPECT_LT(order(k), n);
}

class ExperimentTest : public LeavesNothing {
 protected:
  ExperimentTest() : task_([this](std::size_t i) { return do_task(i); }) {}

  TaskExperiment experiment() { return TaskExperiment(100, sample_of<std::string>(task_), {}); }

  void TearDown() override {
    own_.reset();
    LeavesNothing::TearDown();
  }

  std::string do_task(std::size_t i) {
    ++calls_[i];
    changed_ = true;
    return std::to_string(i);
  }

  std::unique_ptr<SharedValues<int>> own_ = std::make_unique<SharedValues<int>>(100);
  SharedValues<int>& calls_ = *own_;
  std::atomic<bool> changed_ = false;  // written by all threads of a child
  std::function<std::string(std::size_t)> task_;
};

TEST_F(ExperimentTest, DoesTheFirstTasksOfItsOrderOnceInChildren) {
  for (const Shape shape : {Shape{1, 1}, Shape{1, 2}, Shape{2, 1}, Shape{2, 2}}) {
    const int before = calls_.sum();
    const SampleRun trial = experiment().run(shape, 7);
    EXPECT_EQ(calls_.sum() - before, 7);
    EXPECT_EQ(trial.task_seconds.size(), 7u);
    EXPECT_GT(trial.seconds, 0);
    for (const double seconds : trial.task_seconds) {
      EXPECT_GE(seconds, 0);
      EXPECT_LE(seconds, trial.seconds);
    }
  }
  const SpreadOrder order(100);
  for (std::size_t k = 0; k < 100; ++k) EXPECT_EQ(calls_[order(k)].load(), k < 7 ? 4 : 0);
  EXPECT_FALSE(changed_);
}

TEST_F(ExperimentTest, MeasuresStartsWithoutTasksAndResultsWithOne) {
  EXPECT_GT(experiment().start_seconds({1, 2}), 0);
  EXPECT_GT(experiment().start_seconds({2, 1}), 0);
  EXPECT_EQ(calls_.sum(), 0);
  EXPECT_GT(experiment().result_seconds(), 0);
  EXPECT_EQ(calls_.sum(), 1);
  EXPECT_FALSE(changed_);
}

TEST_F(ExperimentTest, NeedsNothingReturnedForTasksWithoutResult) {
  int calls = 0;
  const auto nothing = [&](std::size_t) { ++calls; };
  TaskExperiment experiment(5, sample_of<void>(nothing), {});
  EXPECT_EQ(experiment.result_seconds(), 0);
  EXPECT_EQ(experiment.run({2, 1}, 5).task_seconds.size(), 5u);
  EXPECT_EQ(calls, 0);
}

TEST_F(ExperimentTest, TellsAFailingTask) {
  const auto fails = [](std::size_t) -> int { throw 5; };
  TaskExperiment experiment(5, sample_of<int>(fails), {});
  EXPECT_THROW(experiment.run({1, 1}, 2), TaskError);
  EXPECT_THROW(experiment.result_seconds(), TaskError);
  EXPECT_THROW(TaskExperiment(0, sample_of<int>(fails), {}), core::UsageError);
}

TEST_F(ExperimentTest, GivesAShapeForRealTasks) {
  const Choice choice = Team::choose(100, task_, {.most_workers = 2});
  EXPECT_GE(choice.shape.processes, 1);
  EXPECT_LE(choice.shape.workers(), 2);
  EXPECT_FALSE(choice.reason.empty());
  EXPECT_FALSE(changed_);
}

}  // namespace
}  // namespace tabane::team
