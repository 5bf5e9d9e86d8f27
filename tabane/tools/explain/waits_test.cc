#include <gtest/gtest.h>

#include <initializer_list>

#include "tabane/tools/explain/conclude.h"

namespace tabane::lab::explain {
namespace {

// A hundred looks at threads that do the same all the time.
Observed always(std::initializer_list<Doing> threads) {
  Observed observed;
  Moment moment;
  for (const Doing doing : threads) {
    ++moment.threads(doing);
    observed.threads.emplace_back().looks(doing) = 100;
  }
  for (ThreadSeen& thread : observed.threads)
    if (thread.looks(Doing::running) > 0 && moment.threads(Doing::running) == 1) thread.alone = 100;
  for (int i = 0; i < 100; ++i) {
    moment.seconds = i * 0.01;
    observed.moments.push_back(moment);
  }
  return observed;
}

TEST(Waits, AreNotKnownFromAFewLooks) {
  Observed observed = always({Doing::running});
  observed.moments.resize(9);
  EXPECT_FALSE(waits_of(observed, 2));
}

TEST(Waits, WhoSleepsAtTheOtherEndOfAPipeIsTheCause) {
  const auto waits = waits_of(always({Doing::sleep, Doing::pipe, Doing::child}), 2);
  EXPECT_NEAR((*waits)(Kind::sleep), 1, 1e-9);
  EXPECT_EQ((*waits)(Kind::pipe), 0);
  const auto outside = waits_of(always({Doing::pipe, Doing::child}), 2);
  EXPECT_NEAR((*outside)(Kind::pipe), 1, 1e-9);
}

// gzip -dc | wc
TEST(Waits, AtAPipeCountOnlyWhereNoThreadRuns) {
  const auto waits = waits_of(always({Doing::running, Doing::pipe}), 2);
  EXPECT_NEAR(waits->busy, 1, 1e-9);
  EXPECT_EQ((*waits)(Kind::pipe) + (*waits)(Kind::serial), 0);
}

TEST(Waits, OneThatNeverWorksIsNoneOfATeam) {
  const auto waits = waits_of(always({Doing::running, Doing::lock}), 2);
  EXPECT_EQ(waits->width, 1);
  EXPECT_NEAR(waits->busy, 1, 1e-9);
  EXPECT_EQ((*waits)(Kind::locks) + (*waits)(Kind::serial) + (*waits)(Kind::imbalance), 0);
}

// Who gives a lock back may take it again before others wake: looks of one run see one thread more
// often, but both do the same.
TEST(Waits, EqualWorkInTurnIsLocks) {
  Observed observed;
  observed.threads.resize(2);
  for (int i = 0; i < 100; ++i) {
    Moment moment{.seconds = i * 0.01};
    ThreadSeen &runs = observed.threads[i < 60 ? 0 : 1], &waits = observed.threads[i < 60 ? 1 : 0];
    ++runs.looks(Doing::running);
    runs.alone += i % 4 == 0 ? 0 : 1;
    ++waits.looks(i % 4 == 0 ? Doing::running : Doing::lock);
    moment.threads(Doing::running) = i % 4 == 0 ? 2 : 1;
    moment.threads(Doing::lock) = i % 4 == 0 ? 0 : 1;
    observed.moments.push_back(moment);
  }
  for (ThreadSeen& thread : observed.threads) thread.cpu_seconds = 0.62;
  const auto waits = waits_of(observed, 2);
  EXPECT_EQ((*waits)(Kind::serial) + (*waits)(Kind::imbalance), 0);
  EXPECT_NEAR((*waits)(Kind::locks), 0.75 / 2, 1e-6);
}

}  // namespace
}  // namespace tabane::lab::explain
