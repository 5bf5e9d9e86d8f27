#include "tabane/program/layout.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace tabane::program {
namespace {

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, display_width(line));
  return widest;
}

const std::vector<std::vector<std::string>> kProbes = {
    {"PROBE", "UNIT", "MEASURES"},
    {"memory.latency.l1", "ns", "a load that depends on the load before it, in the first cache"},
    {"clock", "Hz", "ticks per second"}};

const std::vector<std::vector<std::string>> kNumbers = {{"size", "copy", "read", "write"},
                                                        {"64 KiB", "12.34", "23.45", "34.56"},
                                                        {"128 KiB", "1.2", "2.3", "3.4"}};

TEST(DisplayWidth, CountsColumnsAndNotBytes) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("µs é"), 4U);
  EXPECT_EQ(display_width("束ね"), 4U);
  EXPECT_EQ(display_width("e\u0301"), 1U);
  EXPECT_EQ(display_width("\xff"), 1U);
}

TEST(CutToWidth, LeavesWhatFitsAndMarksWhatDoesNot) {
  EXPECT_EQ(cut_to_width("abcde", 5), "abcde");
  EXPECT_EQ(cut_to_width("abcdef", 5), "abcd…");
  EXPECT_EQ(cut_to_width("束ねる", 5), "束ね…");
  EXPECT_EQ(cut_to_width("束ねる", 4), "束…");
  EXPECT_EQ(cut_to_width("abc", 1), "…");
  EXPECT_EQ(cut_to_width("abc", 0), "");
}

TEST(WrapText, BreaksAtBlanksAndIndents) {
  EXPECT_EQ(wrap_text("one two three four", 9, 2), "one two\n  three\n  four");
  EXPECT_EQ(wrap_text("one two", 7), "one two");
  EXPECT_EQ(wrap_text("", 10), "");
  EXPECT_EQ(wrap_text("any length", kNoLimit), "any length");
}

TEST(WrapText, BreaksAWordThatIsLongerThanALine) {
  EXPECT_EQ(wrap_text("a bcdefgh i", 3), "a\nbcd\nefg\nh i");
  EXPECT_EQ(wrap_text("束ね", 1), "束\nね");
}

TEST(WrapText, KeepsLineEndsAndNoBreakSpaces) {
  EXPECT_EQ(wrap_text("one\n\ntwo three", 6, 1), "one\n\n two\n three");
  EXPECT_EQ(wrap_text("at 95\u00a0%", 5), "at\n95\u00a0%");
}

TEST(FitTable, LeavesATableThatFits) {
  EXPECT_EQ(fit_table(kNumbers, 32),
            "   size   copy   read  write\n"
            " 64 KiB  12.34  23.45  34.56\n"
            "128 KiB    1.2    2.3    3.4\n");
  EXPECT_EQ(fit_table(kProbes, kNoLimit).find("\n", 20) + 1,
            fit_table(kProbes, kNoLimit).find("memory"));
  EXPECT_EQ(fit_table({}, 80), "");
}

TEST(FitTable, WrapsWordsFirst) {
  EXPECT_EQ(fit_table(kProbes, 60),
            "PROBE              UNIT  MEASURES\n"
            "memory.latency.l1  ns    a load that depends on the load\n"
            "                         before it, in the first cache\n"
            "clock              Hz    ticks per second\n");
}

TEST(FitTable, MovesWordsBelowTheirRowWhereTheyWouldBeTooNarrow) {
  EXPECT_EQ(fit_table(kProbes, 36),
            "PROBE              UNIT\n"
            "memory.latency.l1  ns\n"
            "    MEASURES: a load that depends on\n"
            "    the load before it, in the first\n"
            "    cache\n"
            "clock              Hz\n"
            "    MEASURES: ticks per second\n");
}

TEST(FitTable, ContinuesNumbersInAnotherTable) {
  EXPECT_EQ(fit_table(kNumbers, 22),
            "   size   copy   read\n"
            " 64 KiB  12.34  23.45\n"
            "128 KiB    1.2    2.3\n"
            "\n"
            "   size  write\n"
            " 64 KiB  34.56\n"
            "128 KiB    3.4\n");
}

TEST(FitTable, RepeatsAllColumnsByWhichRowsDiffer) {
  const std::vector<std::vector<std::string>> rows = {{"way", "size", "copy", "read", "write"},
                                                      {"shm", "64", "12.34", "23.45", "34.56"},
                                                      {"shm", "128", "1.2", "2.3", "3.4"},
                                                      {"mpi", "64", "5.6", "6.7", "7.8"}};
  const std::string text = fit_table(rows, 24);
  EXPECT_EQ(text.substr(text.find("\n\n") + 2),
            "way  size  write\n"
            "shm    64  34.56\n"
            "shm   128    3.4\n"
            "mpi    64    7.8\n");
}

TEST(FitTable, IsNeverWiderThanAsked) {
  for (std::size_t width = 20; width < 120; ++width) {
    EXPECT_LE(widest_line(fit_table(kProbes, width)), width);
    EXPECT_LE(widest_line(fit_table(kNumbers, width)), width);
  }
}

TEST(TerminalWidth, FollowsTheTerminal) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(grantpt(terminal), 0);
  ASSERT_EQ(unlockpt(terminal), 0);
  const int window = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  ASSERT_GE(window, 0);
  for (const unsigned short columns : {60, 132}) {
    winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    ASSERT_EQ(ioctl(terminal, TIOCSWINSZ, &size), 0);
    EXPECT_EQ(terminal_width(window), columns);
    EXPECT_EQ(layout_width(window), columns);
  }
  EXPECT_EQ(layout_width(window, true), kNoLimit);
  close(window);
  close(terminal);
}

TEST(LayoutWidth, OfAFileIsTheSameEverywhere) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  unsetenv("COLUMNS");
  EXPECT_EQ(terminal_width(ends[1]), std::nullopt);
  EXPECT_EQ(layout_width(ends[1]), 100U);
  setenv("COLUMNS", "72", 1);
  EXPECT_EQ(layout_width(ends[1]), 72U);
  unsetenv("COLUMNS");
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace tabane::program
