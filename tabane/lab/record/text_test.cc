#include "tabane/lab/record/text.h"

#include <gtest/gtest.h>

namespace tabane::lab {
namespace {

TEST(CleanUtf8, KeepsValidTextAndReplacesTheRest) {
  EXPECT_EQ(clean_utf8("束ね é 😀"), "束ね é 😀");
  EXPECT_EQ(clean_utf8("a\xFF"
                       "b"),
            "a\uFFFD"
            "b");
  EXPECT_EQ(clean_utf8("\xC3"), "\uFFFD");                      // cut short
  EXPECT_EQ(clean_utf8("\xC0\xAF"), "\uFFFD\uFFFD");            // overlong
  EXPECT_EQ(clean_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");  // surrogate
  EXPECT_EQ(clean_utf8(std::string_view("a\0b\x1B\n", 5)), "a b \n");
}

TEST(EscapeHtml, LeavesNoMarkup) {
  EXPECT_EQ(escape_html("<a href=\"x\">'&"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;");
}

TEST(EscapeScript, LeavesNoTag) {
  EXPECT_EQ(escape_script("{\"a\":\"</script><!--\"}"), "{\"a\":\"\\u003c/script>\\u003c!--\"}");
}

TEST(PlotLabel, KeepsOnlyCharactersWithoutMeaning) {
  EXPECT_EQ(plot_label("memory.read (B/s), µs"), "memory.read (B/s), µs");
  EXPECT_EQ(plot_label("a'\nsystem(\"x\")`y`<>"), "a’?system(”x”)?y???");
  EXPECT_EQ(plot_label("abcdef", 3), "abc");
  EXPECT_EQ(plot_label("sleep 0.{block}; a | b * $c"), "sleep 0.{block}; a | b * $c");
}

TEST(Show, ScalesEachKindOfUnit) {
  EXPECT_EQ(show(2.44e9, "Hz"), "2.44 GHz");
  EXPECT_EQ(show(15e9, "B/s"), "15.0 GB/s");
  EXPECT_EQ(show(999.9e6, "B/s"), "1.00 GB/s");
  EXPECT_EQ(show(48.24e-9, "s"), "48.2 ns");
  EXPECT_EQ(show(92000, "ns"), "92.0 µs");
  EXPECT_EQ(show(65536, "B"), "64 KiB");
  EXPECT_EQ(show(4, "cycles"), "4.00 cycles");
  EXPECT_EQ(show(0.07194, "share"), "7.19 %");
  EXPECT_EQ(show(0.5, "ratio"), "0.5");
  EXPECT_EQ(show(0, "B/s"), "0.00 B/s");
}

TEST(ShowPercent, KeepsADigitForSmallShares) {
  EXPECT_EQ(show_percent(0.873), "87 %");
  EXPECT_EQ(show_percent(0.0312), "3.1 %");
  EXPECT_EQ(show_percent(1.2), "120 %");
  EXPECT_EQ(show_percent(0.003), "0.3 %");
  EXPECT_EQ(show_percent(0.0004), "below 0.1 %");
  EXPECT_EQ(show_percent(-0.0004), "above -0.1 %");
  EXPECT_EQ(show_percent(-0.64), "-64 %");
  EXPECT_EQ(show_percent(0), "0 %");
}

TEST(TextOf, ShowsValuesWithUnitAndInterval) {
  EXPECT_EQ(text_of(Entry()), "–");
  EXPECT_EQ(text_of("word"), "word");
  EXPECT_EQ(text_of({48.2e-9, "s"}), "48.2 ns");
  EXPECT_EQ(text_of({48.2e-9, "s", core::Interval{47.9e-9, 48.5e-9}}), "48.2 ns [47.9, 48.5]");
  EXPECT_EQ(text_of({0.000925, "ratio"}), "9.25e-04");
  EXPECT_EQ(text_of({0.0352, "ratio", core::Interval{0.0311, 0.12}}), "0.0352 [0.0311, 0.12]");
  EXPECT_EQ(text_of({1.419, "ratio", core::Interval{1.38, 1.47}}), "1.42 [1.38, 1.47]");
  EXPECT_EQ(text_of({51.63, "ratio", core::Interval{9.817, 124.4}}), "51.6 [9.82, 124]");
  EXPECT_EQ(text_of({0.5, "ratio"}), "0.50");
  EXPECT_EQ(text_of({0.643, "share"}), "64 %");
  EXPECT_EQ(text_of({0.0643, "share"}), "6.4 %");
  EXPECT_EQ(text_of({12, "1"}), "12");
  EXPECT_EQ(text_of({1943424, "1"}), "1943424");
  EXPECT_EQ(text_of({0.1234567, "1"}), "0.123457");
  EXPECT_EQ(text_of({0.0002, "share", core::Interval{0.0001, 0.004}}),
            "below 0.1 % [below 0.1 %, 0.4 %]");
}

// The vectors of RFC 4648, section 10.
TEST(Base64, WritesBytes) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_TRUE(is_base64(text));
  }
  EXPECT_EQ(to_base64("\xff\xfe\xfd"), "//79");
}

TEST(Base64, KnowsWhatIsNone) {
  for (const char* text : {"Zg=", "Zg===", "Z===", "====", "Zg==Zg==", "Zm9v\"", "Zm 9", "<img"}) {
    EXPECT_FALSE(is_base64(text)) << text;
  }
}

Result latency(std::vector<double> samples, std::vector<double> limit) {
  Result result;
  result.unit = "ns";
  result.better = Better::lower;
  set_samples(result, std::move(samples));
  set_limit(result, "in turn", std::move(limit));
  return result;
}

TEST(ShowShare, IsTheQuotientOfValueAndLimitWhereTheyAgree) {
  Result result = latency({80, 80, 80}, {40, 40, 40});
  EXPECT_EQ(show_share(result), "2.00 ×");
  EXPECT_EQ(show_share(result, true), "2.00 × the limit, 40.0 ns");
  result.better = Better::higher;
  EXPECT_EQ(show_share(result), "200 %");
  EXPECT_EQ(show_share(result, true), "200 % of 40.0 ns");
}

// The machine is slow in other rounds for the figure than for its limit.
TEST(ShowShare, ShowsBothWhereTurnsSayAnotherThanMedians) {
  const Result result = latency({100, 50, 80, 160, 80}, {40, 60, 32, 64, 60});
  EXPECT_EQ(*result.value, 80);
  EXPECT_EQ(result.limit->value, 60);
  EXPECT_EQ(show_share(result), "1.33 × (2.50 × in turn)");
  EXPECT_EQ(show_share(result, true), "1.33 × the limit, 60.0 ns (2.50 × in turn)");
}

}  // namespace

}  // namespace tabane::lab
