#include "tabane/core/units.h"

#include <gtest/gtest.h>

#include "tabane/core/text_of_error_test.h"

namespace tabane::core {
namespace {

TEST(ParseSize, ReadsBinaryAndDecimalUnits) {
  EXPECT_EQ(parse_size("0"), 0u);
  EXPECT_EQ(parse_size("4096"), 4096u);
  EXPECT_EQ(parse_size("64K"), 65536u);
  EXPECT_EQ(parse_size("64k"), 65536u);
  EXPECT_EQ(parse_size("64KiB"), 65536u);
  EXPECT_EQ(parse_size("64kB"), 64000u);
  EXPECT_EQ(parse_size("1.5G"), 1610612736u);
  EXPECT_EQ(parse_size("2TB"), 2000000000000u);
}

TEST(ParseSize, RefusesWhatIsNotASize) {
  for (const char* text : {"", "K", "-1", "-1K", "1KB ", " 1", "1 K", "1e3", "0x10", "64Ki", "inf",
                           "nan", "1.5", "9999999999T", "1,5K"}) {
    EXPECT_THROW(parse_size(text), UsageError) << text;
  }
}

TEST(ParseSeconds, ReadsTheCommonUnits) {
  EXPECT_DOUBLE_EQ(parse_seconds("10"), 10);
  EXPECT_DOUBLE_EQ(parse_seconds("500ms"), 0.5);
  EXPECT_DOUBLE_EQ(parse_seconds("2m"), 120);
  EXPECT_DOUBLE_EQ(parse_seconds("1.5h"), 5400);
  EXPECT_DOUBLE_EQ(parse_seconds("250us"), 250e-6);
}

TEST(ParseSeconds, RefusesWhatIsNotATime) {
  const auto refusal = [](const char* text) {
    return text_of_error<UsageError>([&] { parse_seconds(text); });
  };
  for (const char* text : {"", "s", "-1s", "10 s", "1d", "nan", "inf", "1e400"}) {
    EXPECT_NE(refusal(text).find("is not a time"), std::string::npos) << text;
  }
  EXPECT_EQ(refusal("277778h"), "'277778h' is too long: at most 1000000000s");
}

TEST(FormatBytes, UsesTheLargestBinaryUnitThatLeavesAWholePart) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(65536), "64 KiB");
  EXPECT_EQ(format_bytes(1536), "1.50 KiB");
  EXPECT_EQ(format_bytes(1ull << 40), "1 TiB");
}

TEST(FormatValue, KeepsThreeSignificantDigitsWithAPrefix) {
  EXPECT_EQ(format_value(2.4449e9, "Hz"), "2.44 GHz");
  EXPECT_EQ(format_value(1.5e10, "B/s"), "15.0 GB/s");
  EXPECT_EQ(format_value(999.6, "B/s"), "1.00 kB/s");
  EXPECT_EQ(format_value(4.0, "cycles"), "4.00 cycles");
  EXPECT_EQ(format_value(0.953, "ratio"), "0.953");
  EXPECT_EQ(format_value(0.07194, "share"), "7.19 %");
  EXPECT_EQ(format_value(0, "share"), "0 %");
}

TEST(FormatSeconds, CoversNanosecondsToHours) {
  EXPECT_EQ(format_seconds(48.2e-9), "48.2 ns");
  EXPECT_EQ(format_seconds(1.24e-3), "1.24 ms");
  EXPECT_EQ(format_seconds(7.42e-6), "7.42 µs");
  EXPECT_EQ(format_seconds(3.06), "3.06 s");
  EXPECT_EQ(format_seconds(5400), "5400 s");
  EXPECT_EQ(format_seconds(0), "0 s");
}

TEST(Grouped, SeparatesThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1 000");
  EXPECT_EQ(grouped(1234567), "1 234 567");
}

TEST(Counted, AgreesWithTheNumber) {
  EXPECT_EQ(counted(0, "file"), "0 files");
  EXPECT_EQ(counted(1, "file"), "1 file");
  EXPECT_EQ(counted(1234, "file"), "1 234 files");
  EXPECT_EQ(counted(1, "directory", "directories"), "1 directory");
  EXPECT_EQ(counted(2, "directory", "directories"), "2 directories");
}

}  // namespace
}  // namespace tabane::core
