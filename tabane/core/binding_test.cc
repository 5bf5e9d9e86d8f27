#include "tabane/core/binding.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"

namespace tabane::core {
namespace {

using List = std::vector<unsigned>;

List parse(std::string_view text, const List& all = {}) { return parse_cpu_list(text, all); }

TEST(ParseCpuList, ReadsIndicesRangesAndStrides) {
  EXPECT_EQ(parse("0"), (List{0}));
  EXPECT_EQ(parse("0-3,8"), (List{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse("0-15:4"), (List{0, 4, 8, 12}));
  EXPECT_EQ(parse("1-4:2,7"), (List{1, 3, 7}));
  EXPECT_EQ(parse("5-5"), (List{5}));
  EXPECT_EQ(parse("65535"), (List{65535}));
}

TEST(ParseCpuList, KeepsTheOrderWrittenWithoutRepetition) {
  EXPECT_EQ(parse("8,0-2,1,8"), (List{8, 0, 1, 2}));
}

TEST(ParseCpuList, AllIsTheListGiven) {
  EXPECT_EQ(parse("all", {4, 2, 9}), (List{4, 2, 9}));
  EXPECT_EQ(parse("all"), List{});
}

TEST(ParseCpuList, RefusesWhatItCannotReadAndQuotesThePart) {
  for (const char* bad : {"", ",", "0,", ",0", "a", "-1", "3-1", "0-3:0", "0-", "0-3:", "1:2",
                          "0x1", "0 ,1", " 0", "65536", "0-65536", "99999999999", "all,1", "+1"}) {
    EXPECT_THROW(parse(bad, {0, 1}), UsageError) << '"' << bad << '"';
  }
  try {
    parse("0-2,oops,5");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("\"oops\""), std::string::npos) << error.what();
  }
}

TEST(FormatCpuList, WritesTheShortestRanges) {
  EXPECT_EQ(format_cpu_list({}), "");
  EXPECT_EQ(format_cpu_list(List{7}), "7");
  EXPECT_EQ(format_cpu_list(List{0, 1, 2, 8}), "0-2,8");
  EXPECT_EQ(format_cpu_list(List{8, 1, 0, 2, 1}), "0-2,8");
  EXPECT_EQ(format_cpu_list(List{0, 2, 4}), "0,2,4");
}

TEST(FormatCpuList, IsReadBackAsTheSameSet) {
  for (const List& list : {List{0}, List{0, 1}, List{0, 2, 3, 4, 9, 65535}}) {
    EXPECT_EQ(parse(format_cpu_list(list)), list);
  }
}

using List = std::vector<unsigned>;

TEST(ScopedBinding, BindsAndPutsTheOldBindingBack) {
  const List before = thread_binding();
  ASSERT_FALSE(before.empty());
  {
    const ScopedBinding binding(before.back());
    EXPECT_EQ(thread_binding(), List{before.back()});
  }
  EXPECT_EQ(thread_binding(), before);
}

TEST(BindThisThread, ToNoPusChangesNothing) {
  const List before = thread_binding();
  bind_this_thread({});
  EXPECT_EQ(thread_binding(), before);
}

TEST(BindThisThread, NamesThePusThatTheSystemRefuses) {
  try {
    bind_this_thread(List{60'000});
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_NE(std::string(error.what()).find("60000"), std::string::npos);
  }
}

}  // namespace
}  // namespace tabane::core
