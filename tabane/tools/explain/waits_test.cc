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

// Two threads, of which both run at every so many looks, and else only one.
Observed in_turn(int together) {
  Observed observed;
  observed.threads.resize(2);
  for (int i = 0; i < 100; ++i) {
    const bool both = i % together == 0;
    Moment moment{.seconds = i * 0.01};
    ThreadSeen &runs = observed.threads[i < 60 ? 0 : 1], &waits = observed.threads[i < 60 ? 1 : 0];
    ++runs.looks(Doing::running);
    runs.alone += both ? 0 : 1;
    ++waits.looks(both ? Doing::running : Doing::lock);
    moment.threads(Doing::running) = both ? 2 : 1;
    moment.threads(Doing::lock) = both ? 0 : 1;
    observed.moments.push_back(moment);
  }
  for (ThreadSeen& thread : observed.threads) thread.cpu_seconds = 0.5 + 0.5 / together;
  return observed;
}

// Who gives a lock back may take it again before others wake: looks of one run see one thread more
// often, but both do the same. With a look in 20 one of them was seen with the other in more than a
// tenth of its looks, and the other one not.
TEST(Waits, EqualWorkInTurnIsLocks) {
  for (const int together : {4, 10, 20, 50}) {
    const auto waits = waits_of(in_turn(together), 2);
    EXPECT_EQ((*waits)(Kind::serial) + (*waits)(Kind::imbalance), 0) << together;
    EXPECT_NEAR((*waits)(Kind::locks), (1 - 1.0 / together) / 2, 1e-6) << together;
  }
}

// As a collector of garbage.
TEST(Waits, ASmallHelperOfOneThreadMakesNoTeam) {
  Observed observed = always({Doing::running, Doing::lock});
  for (int i = 0; i < 100; i += 20) {
    Moment& moment = observed.moments[static_cast<std::size_t>(i)];
    ++moment.threads(Doing::running), --moment.threads(Doing::lock);
    --observed.threads[0].alone;
    ++observed.threads[1].looks(Doing::running), --observed.threads[1].looks(Doing::lock);
  }
  const auto waits = waits_of(observed, 2);
  EXPECT_EQ(waits->width, 1);
  EXPECT_EQ((*waits)(Kind::locks) + (*waits)(Kind::serial) + (*waits)(Kind::imbalance), 0);
}

}  // namespace
}  // namespace tabane::lab::explain
