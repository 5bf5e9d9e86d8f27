#include <gtest/gtest.h>

#include "tabane/core/error.h"
#include "tabane/lab/commands/child.h"

namespace tabane::lab {
namespace {

using Words = std::vector<std::string>;
using Values = std::vector<std::pair<std::string, std::string>>;

TEST(WordsOfLine, AreSplitAtBlanksOutsideQuotes) {
  EXPECT_EQ(words_of_line("  sort  -n\tfile\n"), (Words{"sort", "-n", "file"}));
  EXPECT_EQ(words_of_line("grep 'a b' \"c 'd'\" e\\ f"), (Words{"grep", "a b", "c 'd'", "e f"}));
  EXPECT_EQ(words_of_line("a'b'\"c\"d '' \"\""), (Words{"abcd", "", ""}));
  EXPECT_EQ(words_of_line("\"a\\\"b\\n\" 'c\\d'"), (Words{"a\"b\\n", "c\\d"}));
  EXPECT_EQ(words_of_line("end\\"), (Words{"end\\"}));
  EXPECT_EQ(words_of_line(" \t"), Words{});
}

TEST(WordsOfLine, NeedClosedQuotes) {
  EXPECT_THROW(words_of_line("echo 'a"), core::UsageError);
  EXPECT_THROW(words_of_line("echo \"a\\\""), core::UsageError);
}

TEST(Placeholders, AreFilledInWhereTheirNameIsKnown) {
  const Values values = {{"threads", "4"}, {"n", "{threads}"}};
  EXPECT_EQ(filled_in("make -j{threads} {other} {threads}", values), "make -j4 {other} 4");
  EXPECT_EQ(filled_in("{n}", values), "{threads}");  // what is filled in is not read again
  EXPECT_EQ(filled_in("${threads} {threads {} {{threads}}", values), "${threads} {threads {} {4}");
}

TEST(Placeholders, AreNamedOnceInOrder) {
  EXPECT_EQ(placeholders_of("a {b} {a} {b} ${c} { d; } {e-f}"), (Words{"b", "a", "e-f"}));
  EXPECT_EQ(placeholders_of("{"), Words{});
}

TEST(CommandOfLine, IsReadByAShellOrNot) {
  EXPECT_EQ(command_of_line("a | b").arguments, (Words{"/bin/sh", "-c", "a | b"}));
  EXPECT_EQ(command_of_line("a | b", "bash -e").arguments, (Words{"bash", "-e", "-c", "a | b"}));
  EXPECT_EQ(command_of_line("a 'b c'", "").arguments, (Words{"a", "b c"}));
  EXPECT_THROW(command_of_line(" "), core::UsageError);
  EXPECT_THROW(command_of_line("", ""), core::UsageError);
}

}  // namespace
}  // namespace tabane::lab
