#include "tabane/lab/study/captions.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"
#include "tabane/lab/study/views_test.h"

namespace tabane::lab {
namespace {

constexpr const char* kCaptions = R"([watch]
Messages of {size}, over time
Larger points are
far below.[ Here {slow} are.]

[bare]
No note
)";

Caption caption(const char* name, const CaptionValues& values) {
  return caption_of(kCaptions, name, [&](std::string_view wanted) -> std::optional<std::string> {
    const auto found = values.find(wanted);
    if (found == values.end()) return std::nullopt;
    return found->second;
  });
}

TEST(Captions, HaveATitleAndANoteWithTheirValues) {
  const Caption watch = caption("watch", {{"size", "[1] {MiB}"}, {"slow", "3"}});
  EXPECT_EQ(watch.title, "Messages of [1] {MiB}, over time");
  EXPECT_EQ(watch.note, "Larger points are far below. Here 3 are.");
  EXPECT_EQ(caption("bare", {}).title, "No note");
  EXPECT_EQ(caption("bare", {}).note, "");
}

TEST(Captions, LeaveOutWhatStandsInBracketsWithoutAValue) {
  for (const CaptionValues& values :
       {CaptionValues{{"size", ""}}, CaptionValues{{"size", ""}, {"slow", ""}}})
    EXPECT_EQ(caption("watch", values).note, "Larger points are far below.");
}

TEST(Captions, AreNotGuessed) {
  EXPECT_THROW(caption("watch", {{"slow", "3"}}), core::Error);
  EXPECT_THROW(caption("wat", {}), core::Error);
}

TEST(Captions, OfStudiesAreNamedByTheirFolders) {
  EXPECT_FALSE(caption_files().empty());
  for (const CaptionFile& file : caption_files()) {
    EXPECT_EQ(std::string_view(file.study).find('_'), std::string_view::npos);
    EXPECT_TRUE(std::string_view(file.text).starts_with('[')) << file.study;
  }
}

TEST(Captions, NameTheirTables) {
  Record record;
  record.name = "pc-cluster";
  const Points none;
  const StudyViews views{record, none, record};
  views.table("product", Rows{{"n"}, {{"1"}}});
  views.table("product", Rows{{"n"}, {}});
  views.table("product", Rows{{"n"}, {{"2"}}});
  ASSERT_EQ(record.views.size(), 2u);
  EXPECT_EQ(record.views[0].name, "pc_cluster.product");
  EXPECT_EQ(record.views[1].name, "pc_cluster.product.2");
}

TEST(PageOfReports, NamesViewsThatAreMissing) {
  Record record;
  record.views.push_back({.name = "ha8000.simd"});
  const char* const several = "more than one NUMA node";
  const Names missing = missing_views("ha8000", record, {{several, false}});
  EXPECT_TRUE(std::ranges::count(missing, "ha8000.clocks") == 1);
  EXPECT_TRUE(std::ranges::count(missing, "ha8000.simd") == 0);
  EXPECT_TRUE(std::ranges::count(missing, "ha8000.places") == 0);  // has a condition
  EXPECT_EQ(missing_views("ha8000", record, {{"", false}, {several, true}}),
            Names{"ha8000.places"});
}

TEST(PageOfReports, HasTheConditionsThatItsTestsKnow) {
  EXPECT_THROW(missing_views("ha8000", {}), std::runtime_error);
  EXPECT_THROW(missing_views("ha8000", {}, {{"more than one NUMA node", true}, {"none", true}}),
               std::runtime_error);
  EXPECT_THROW(missing_views("ha9000", {}), std::runtime_error);
}

}  // namespace
}  // namespace tabane::lab
