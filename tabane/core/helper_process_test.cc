#include "tabane/core/helper_process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>

#include "tabane/core/error.h"

namespace tabane::core {
namespace {

HelperProgram shell(const std::string& script) {
  return {.name = "the helper", .command = {"sh", "-c", script}};
}

TEST(HelperProcess, AnswersLineByLine) {
  HelperProcess helper({.name = "cat", .command = {"cat"}});
  helper.send_line("one");
  EXPECT_EQ(helper.read_line(), "one");
  helper.send_line("two");
  helper.send_line("");
  EXPECT_EQ(helper.read_line(), "two");
  EXPECT_EQ(helper.read_line(), "");
}

TEST(HelperProcess, TakesLinesLargerThanASocketHolds) {
  HelperProcess helper(shell("head -c 1000001 | wc -c; cat"));
  helper.send_line(std::string(1'000'000, 'x'));
  EXPECT_EQ(std::stoul(helper.read_line()), 1'000'001u);
  helper.send_line("more");
  EXPECT_EQ(helper.read_line(), "more");
}

TEST(HelperProcess, GetsArgumentsAndVariablesAndAProgramApartFromItsName) {
  HelperProcess helper({.name = "a shell",
                        .command = {"called", "-c", "echo $0 $1 $TABANE_TEST", "zero", "one"},
                        .file = "/bin/sh",
                        .variables = {{"TABANE_TEST", "two"}}});
  EXPECT_EQ(helper.read_line(), "zero one two");
}

TEST(HelperProcess, ThatCannotBeStartedIsNamed) {
  try {
    HelperProcess helper({.name = "nothing", .command = {"/nonexistent/program"}});
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_EQ(error.code(), ENOENT);
    EXPECT_NE(std::string(error.what()).find("/nonexistent/program"), std::string::npos);
  }
}

TEST(HelperProcess, IsLostWhenItEndsBeforeItsAnswer) {
  HelperProcess helper(shell("read line; printf half"));
  helper.send_line("go");
  try {
    helper.read_line();
    FAIL();
  } catch (const LostError& error) {
    EXPECT_NE(std::string(error.what()).find("the helper"), std::string::npos) << error.what();
  }
  EXPECT_THROW(for (;;) helper.send_line("more"), LostError);
}

TEST(HelperProcess, ThatSaysNothingIsWaitedForNoLongerThanAsked) {
  HelperProcess helper({.name = "cat", .command = {"cat"}});
  EXPECT_FALSE(helper.answers_within(0));
  helper.send_line("one");
  EXPECT_TRUE(helper.answers_within(60));
  EXPECT_EQ(helper.read_line(), "one");
  helper.terminate();
  EXPECT_TRUE(helper.answers_within(60));
  EXPECT_THROW(helper.read_line(), LostError);
}

TEST(HelperProcess, IsEndedAlsoIfItIgnoresThat) {
  HelperProcess polite(shell("cat")), terminated(shell("while :; do sleep 0.1; done")),
      stubborn(shell("trap '' TERM; echo ready; while :; do sleep 0.1; done"));
  EXPECT_EQ(stubborn.read_line(), "ready");
  for (HelperProcess* one : {&polite, &terminated, &stubborn}) one->end_within(0.05);
}

TEST(HelperProcess, EndsWithItsObject) {
  { const HelperProcess helper(shell("cat")); }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace tabane::core
