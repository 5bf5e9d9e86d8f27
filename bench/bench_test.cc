#include "bench/bench.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tabane::bench {
namespace {

void work(std::uint64_t iterations) {
  for (std::uint64_t i = 0; i < iterations; ++i) core::keep(i);
}
[[noreturn]] void fail(std::uint64_t) { throw std::runtime_error("out of paper"); }

Contender contender(std::string name, core::Work does) {
  return {.name = std::move(name), .work = std::move(does), .amount = 1};
}

// What one pass over these questions leaves behind.
struct Asked {
  explicit Asked(std::function<void(Panel&)> questions)
      : panel({"topic", "a topic", std::move(questions)},
              {.measure = {.budget_seconds = 0, .min_epochs = 3, .max_epochs = 3}}) {
    panel.run();
    comparisons = panel.record().comparisons;
  }
  Panel panel;
  std::vector<lab::Comparison> comparisons;
};

TEST(Panel, APeerThatFailsIsNamedAndTheOthersAreCompared) {
  const Asked asked([](Panel& panel) {
    panel.ask({"speed",
               "1/s",
               contender("ours", work),
               {contender("printer", fail), contender("b", work)}});
  });
  ASSERT_EQ(asked.comparisons.size(), 2u);
  EXPECT_EQ(asked.comparisons[0].peer_name, "printer");
  EXPECT_EQ(asked.comparisons[0].skipped, "failed: out of paper");
  EXPECT_FALSE(asked.comparisons[0].ratio);
  EXPECT_EQ(asked.comparisons[1].peer_name, "b");
  EXPECT_TRUE(asked.comparisons[1].ratio);
  EXPECT_TRUE(asked.panel.skipped());
  EXPECT_FALSE(asked.panel.failed());
}

TEST(Panel, WhereTabaneFailsNothingIsCompared) {
  const Asked asked([](Panel& panel) {
    panel.ask({"speed", "1/s", contender("ours", fail), {contender("b", work)}});
  });
  ASSERT_EQ(asked.comparisons.size(), 1u);
  EXPECT_EQ(asked.comparisons[0].skipped, "tabane failed: out of paper");
  EXPECT_TRUE(asked.panel.failed());
}

TEST(Panel, WhatThrowsBetweenQuestionsEndsOnlyItsPart) {
  const Asked asked([](Panel& panel) {
    panel.part("printing", [] { fail(1); });
    panel.ask({"speed", "1/s", contender("ours", work), {contender("b", work)}});
    fail(1);
  });
  ASSERT_EQ(asked.comparisons.size(), 3u);
  EXPECT_EQ(asked.comparisons[0].question, "printing");
  EXPECT_EQ(asked.comparisons[0].skipped, "failed: out of paper");
  EXPECT_TRUE(asked.comparisons[1].ratio);
  EXPECT_EQ(asked.comparisons[2].question, "the rest of topic");
  EXPECT_TRUE(asked.panel.failed());
}

TEST(Panel, WhereEverybodyTakesPartNothingIsSkipped) {
  const Asked asked([](Panel& panel) {
    panel.ask({"speed", "1/s", contender("ours", work), {contender("b", work)}});
  });
  EXPECT_FALSE(asked.panel.skipped());
  EXPECT_FALSE(asked.panel.failed());
}

TEST(RegisteredTopic, FilesOfOneNameAskInTheOrderOfTheirPaths) {
  std::string asked;
  const auto topic = [&](const char* name, char asks) {
    return Topic{name, "a topic", [&asked, asks](Panel&) { asked += asks; }};
  };
  RegisteredTopic(topic("shared", '3'), "b.cc");
  RegisteredTopic(topic("shared", '2'), "a.cc");
  RegisteredTopic(topic("alone", '1'), "c.cc");
  const std::vector<Topic> topics = registered_topics();
  ASSERT_EQ(topics.size(), 2U);
  for (const Topic& each : topics) Panel(each, {}).run();
  EXPECT_EQ(asked, "123");
}

}  // namespace
}  // namespace tabane::bench
