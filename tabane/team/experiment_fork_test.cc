#include "tabane/team/experiment.h"

#include <gtest/gtest.h>

#include <algorithm>
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

  // Tasks that are only asked how long they take.
  StartedWork experiment() { return StartedWork(100, tasks_, {}, Trial::discards); }

  void TearDown() override {
    own_.reset();
    returned_.reset();
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
  std::optional<ReturnedResults> returned_{std::in_place, std::nullopt};
  int taken_ = 0;  // results
  TaskSet tasks_ = {
      .begin_run = [this](std::size_t workers,
                          bool forked) { returned_->begin_run(workers, forked); },
      .do_tasks =
          [this](Progress& at, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end && at.begins(i); ++i) {
              returned_->put(at.worker.index, i, task_(i));
            }
          },
      .finish = [this](const Worker& worker) { returned_->flush(worker.index); },
      .end_run = [this] { returned_->take([this](std::size_t, Reader&) { ++taken_; }); }};
};

TEST_F(ExperimentTest, DoesTheFirstTasksOfItsOrderOnceInChildren) {
  StartedWork asked = experiment();
  for (const Shape shape : {Shape{1, 1}, Shape{1, 2}, Shape{2, 1}, Shape{2, 2}}) {
    const int before = calls_.sum();
    const SampleRun trial = asked.run(shape, 7);
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
  EXPECT_EQ(asked.left(), 100u);
  EXPECT_FALSE(changed_);
}

TEST_F(ExperimentTest, MeasuresStartsWithoutTasksAndResultsWithOne) {
  StartedWork asked = experiment();
  EXPECT_GT(asked.start_seconds({1, 2}), 0);
  EXPECT_GT(asked.start_seconds({2, 1}), 0);
  EXPECT_EQ(calls_.sum(), 0);
  EXPECT_EQ(asked.result_seconds(), 0);
  asked.run({1, 1}, 1);
  EXPECT_GT(asked.result_seconds(), 0);
  EXPECT_EQ(calls_.sum(), 1);
  EXPECT_EQ(taken_, 1);
  EXPECT_FALSE(changed_);
}

TEST_F(ExperimentTest, TellsAFailingTask) {
  task_ = [](std::size_t) -> std::string { throw 5; };
  EXPECT_THROW(experiment().run({1, 1}, 2), TaskError);
  EXPECT_THROW(StartedWork(0, tasks_, {}, Trial::discards), core::UsageError);
}

TEST_F(ExperimentTest, GivesAShapeForRealTasks) {
  const Choice choice = Team::choose(100, task_, {.most_workers = 2});
  EXPECT_GE(choice.shape.processes, 1);
  EXPECT_LE(choice.shape.workers(), 2);
  EXPECT_FALSE(choice.reason.empty());
  EXPECT_FALSE(changed_);
}

TEST_F(ExperimentTest, GivesAShapeForTasksWithoutResultOrWithOneThatCannotBeReturned) {
  int calls = 0;
  struct Unreturnable {
    std::unique_ptr<int> own;
  };
  EXPECT_LE(Team::choose(50, [&](std::size_t) { ++calls; }, {.most_workers = 2}).shape.workers(),
            2);
  EXPECT_LE(
      Team::choose(50, [&](std::size_t) { return Unreturnable{std::make_unique<int>(++calls)}; },
                   {.most_workers = 2})
          .shape.workers(),
      2);
  EXPECT_EQ(calls, 0);
  EXPECT_THROW(Team::choose(5, [](std::size_t) -> int { throw 5; }), TaskError);
}

}  // namespace
}  // namespace tabane::team
