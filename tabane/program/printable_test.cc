#include <gtest/gtest.h>

#include "tabane/program/layout.h"

namespace tabane::program {
namespace {

TEST(Printable, LeavesOrdinaryNamesAsTheyAre) {
  for (const char* name : {"", "a b.txt", "漢字/é", "-rf", "\U0001F600"}) {
    EXPECT_EQ(printable(name), name);
  }
}

TEST(Printable, ShowsWhatCouldFoolATerminal) {
  EXPECT_EQ(printable("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(printable("\x1b[2J\x7f"), "\\x1b[2J\\x7f");
  EXPECT_EQ(printable("\u009b2J"), "\\xc2\\x9b2J");                 // CSI as one character
  EXPECT_EQ(printable("\u202Egnp.exe"), "\\xe2\\x80\\xaegnp.exe");  // right to left
}

TEST(Printable, KeepsEscapesApartFromBackslashes) {
  EXPECT_NE(printable("\n"), printable("\\n"));
  EXPECT_EQ(printable("\\n"), "\\\\n");
}

TEST(Printable, ShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("\xff"
                      "a"),
            "\\xffa");
  EXPECT_EQ(printable("\xe6\xbc"), "\\xe6\\xbc");                    // cut off
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");                    // overlong '/'
  EXPECT_EQ(printable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");           // overlong '/'
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
}

TEST(LossyUtf8, ReplacesOnlyWhatIsNotUtf8) {
  EXPECT_EQ(lossy_utf8("a\nb é"), "a\nb é");
  EXPECT_EQ(lossy_utf8("a\xff"
                       "b"),
            "a\uFFFD"
            "b");
}

TEST(PercentEncoded, HoldsEveryByte) {
  EXPECT_EQ(percent_encoded("a/b-1._~"), "a/b-1._~");
  EXPECT_EQ(percent_encoded(" %\n\xff"), "%20%25%0A%FF");
}

}  // namespace
}  // namespace tabane::program
