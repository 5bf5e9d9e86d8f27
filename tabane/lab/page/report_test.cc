#include "tabane/lab/page/report.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/lab/page/report_record_test.h"
#include "tabane/lab/record/has_test.h"

namespace tabane::lab {
namespace {

namespace fs = std::filesystem;

class ReportDirectory : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tabane-report-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  void TearDown() override { fs::remove_all(path_); }
  std::string read(const std::string& name) const {
    std::ifstream in(path_ / name, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }
  fs::path path_;
};

std::string page(const Record& record) { return render_html(record, make_figures(record)); }

TEST(RenderHtml, LoadsNothingFromElsewhere) {
  const std::string html = page(testing::full_record());
  for (const char* reference : {"http://", "https://", "src=", "@import", "url("})
    EXPECT_FALSE(has(html, reference)) << reference;
}

TEST(RenderHtml, ShowsEveryPartOfTheRecord) {
  const auto record = testing::full_record();
  const std::string html = page(record);
  for (const auto& result : record.results) EXPECT_TRUE(has(html, result.name)) << result.name;
  for (const auto& s : record.skipped) EXPECT_TRUE(has(html, s.reason));
  for (const auto& w : record.warnings) EXPECT_TRUE(has(html, w.may_mean));
  for (const auto& sentence : record.sentences) EXPECT_TRUE(has(html, sentence));
  for (const char* part : {"not readable", "clock.skew", "tabane survey -o example", "Hoefler"})
    EXPECT_TRUE(has(html, part)) << part;
}

TEST(RenderHtml, BeginsASurveyWithWhatToChange) {
  const auto record = testing::full_record();
  const std::string html = page(record);
  const auto box = html.find("What to change here");
  ASSERT_NE(box, std::string::npos);
  EXPECT_LT(box, html.find("id=headlines"));
  for (const auto& advice : record.advice) {
    EXPECT_TRUE(has(html, advice.change));
    EXPECT_TRUE(has(html, advice.gain));
    EXPECT_TRUE(has(html, advice.command));
  }
}

TEST(RenderHtml, ShowsTwoStatesTheIntervalOfAShareAndWhyThereIsNoFigure) {
  const std::string html = page(testing::full_record());
  EXPECT_TRUE(has(html, "two states: 122 GB/s for 33"));
  EXPECT_TRUE(has(html, "60 in 6 passes"));
  EXPECT_TRUE(has(html, "in turn 80 % – 80 %"));
  EXPECT_TRUE(has(html, "in 5 of 5 samples a thread did not get its CPU"));
}

// The machine is slow in other rounds for the figure than for its limit.
TEST(RenderHtml, ExplainsWhatInTurnMeansWhereItIsSaid) {
  Record record;
  Result& latency = record.results.emplace_back();
  latency.name = "comm.latency";
  latency.better = Better::lower;
  set_samples(latency, {100, 50, 80, 160, 80});
  set_limit(latency, "in turn", {40, 60, 32, 64, 60});
  EXPECT_TRUE(has(page(record), "(2.50 × in turn)</div>"));
  EXPECT_TRUE(has(page(record), "<p>In turn: figure and limit are measured alternately"));
  set_limit(latency, "in turn", {50, 25, 40, 80, 40});
  EXPECT_FALSE(has(page(record), "In turn:"));
}

TEST(RenderHtml, CarriesTheRecordThatItShows) {
  const auto record = testing::hostile_record();
  const std::string html = page(record), open = "id=record>";
  const auto begin = html.find(open) + open.size();
  const auto json = Json::parse(html.substr(begin, html.find("</script>", begin) - begin));
  EXPECT_EQ(json, to_json(record));
}

TEST(RenderHtml, LetsNoTextBecomeMarkup) {
  const std::string html = page(testing::hostile_record());
  EXPECT_FALSE(has(html, "<script>"));
  const auto ends = [&](std::string_view what) {
    std::size_t n = 0;
    for (auto at = html.find(what); at != std::string::npos; at = html.find(what, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(ends("</script>"), 1u);
  EXPECT_FALSE(has(html, "\xFF"));
}

TEST(RenderHtml, MakesAPageOfAnEmptyRecord) {
  const std::string html = render_html(Record(), {});
  EXPECT_TRUE(has(html, "This machine"));
  EXPECT_TRUE(has(html, "incomplete"));
  EXPECT_FALSE(has(html, "id=figures"));
}

TEST(RenderHtml, KeepsTheNumbersWhereNothingIsDrawn) {
  const auto record = testing::full_record();
  const std::string html = page(record);
  EXPECT_TRUE(has(html, "gnuplot did not run"));
  EXPECT_TRUE(has(html, "<details open>"));
}

TEST(RenderHtml, ShowsAStudyWithItsViewsInOrder) {
  const std::string html = page(testing::study_record());
  EXPECT_TRUE(has(html, "tabane study invented"));
  EXPECT_TRUE(has(html, "<h1>Messages of an invented machine</h1>"));
  EXPECT_TRUE(has(html, "A. Author, 1993, an invented machine"));
  EXPECT_TRUE(has(html, "<li>From 8 ranks up the tree is faster.</li>"));
  EXPECT_TRUE(has(html, "1.20 µs [1.10, 1.30]"));
  EXPECT_FALSE(has(html, "Good at"));
  EXPECT_FALSE(has(html, "At a glance"));
  EXPECT_FALSE(has(html, "More tables"));
  const auto table = html.find("Times of messages"), curve = html.find("id=\"invented_curve\""),
             matrix = html.find("Two numbers");
  EXPECT_LT(table, curve);
  EXPECT_LT(curve, matrix);
  EXPECT_NE(matrix, std::string::npos);
}

TEST(RenderHtml, ShowsComparisonsWithPeers) {
  const std::string html = page(testing::bench_record());
  for (const char* part : {"<h1>Copying, beside invented peers</h1>", "id=comparisons",
                           "copier 1.2 --threads 4", "1.32 [1.28, 1.36]", "no difference seen",
                           ">met<", ">missed<", "there is no tape", "at most 4 MiB", "make bench"})
    EXPECT_TRUE(has(html, part)) << part;
  EXPECT_FALSE(has(page(testing::full_record()), "id=comparisons"));
}

TEST(RenderHtml, NamesEachGroupOfResultsOnce) {
  Record record;
  for (const char* name : {"memory.a", "fork.b", "memory.c"})
    record.results.emplace_back().name = name;
  const std::string html = page(record);
  const std::string group = "<th colspan=6>Memory</th>";
  EXPECT_EQ(html.find(group), html.rfind(group));
  EXPECT_LT(html.find("memory.<wbr>c"), html.find("fork.<wbr>b"));
}

TEST(RenderHtml, ShowsTheEnvironmentAsPeopleReadIt) {
  Record record;
  record.environment["processor"]["SMT"] = "notsupported";
  record.environment["kernel"]["release"] = "nothing-6.1";
  record.environment["processor"]["steal"] = 0.002729627542005231;
  const std::string html = page(record);
  EXPECT_TRUE(has(html, "<dd>0.00273</dd>"));
  EXPECT_TRUE(has(html, "<dd>not supported</dd>"));
  EXPECT_TRUE(has(html, "<dd>nothing-6.1</dd>"));
}

TEST_F(ReportDirectory, HoldsThePageAndEveryFigure) {
  const auto remark = write_report(testing::full_record(), path_ / "new" / "place");
  path_ /= "new/place";
  EXPECT_TRUE(has(read("report.html"), "<!doctype html>"));
  for (const auto& figure : make_figures(testing::full_record())) {
    EXPECT_EQ(read(figure.id + ".gp"), figure.script);
    EXPECT_EQ(read(figure.id + ".dat"), figure.data);
    EXPECT_EQ(fs::exists(path_ / (figure.id + ".svg")), !remark.has_value()) << figure.id;
  }
  path_ = path_.parent_path().parent_path();
}

TEST_F(ReportDirectory, HasRemarkOrDrawingsForAnyRecord) {
  for (const auto& record :
       {testing::hostile_record(), testing::one_cpu_record(), testing::record_without_tables(),
        testing::full_record(2), testing::study_record(), testing::bench_record()}) {
    const auto remark = write_report(record, path_);
    EXPECT_TRUE(!remark || has(*remark, "not installed")) << remark.value_or("");
  }
  for (const auto& entry : fs::recursive_directory_iterator(path_)) {
    EXPECT_NE(entry.path().filename(), "owned");
    // Browsers blur the few pixels of an image over a whole map.
    if (entry.path().extension() == ".svg") {
      EXPECT_FALSE(has(core::read_file(entry.path()), "<image")) << entry.path();
    }
  }
}

TEST_F(ReportDirectory, LosesTheFiguresOfTheReportBefore) {
  write_report(testing::full_record(), path_);
  ASSERT_TRUE(fs::exists(path_ / "roofline.gp"));
  std::ofstream(path_ / "mine.svg") << "not a figure of a report";
  write_report(testing::study_record(), path_);
  for (const char* name : {"roofline.gp", "roofline.dat", "roofline.svg", "memcpy.gp"})
    EXPECT_FALSE(fs::exists(path_ / name)) << name;
  EXPECT_TRUE(fs::exists(path_ / "invented_curve.gp"));
  EXPECT_TRUE(fs::exists(path_ / "mine.svg"));
}

TEST_F(ReportDirectory, WritesNothingOutsideOfItself) {
  write_report(testing::hostile_record(), path_ / "a" / "b" / "c");
  EXPECT_EQ(std::distance(fs::directory_iterator(path_), {}), 1);
  EXPECT_EQ(std::distance(fs::directory_iterator(path_ / "a"), {}), 1);
  EXPECT_EQ(std::distance(fs::directory_iterator(path_ / "a" / "b"), {}), 1);
}

TEST_F(ReportDirectory, NamesTheFileThatCannotBeWritten) {
  fs::create_directory(path_ / "report.html");
  try {
    write_report(testing::record_without_tables(), path_);
    FAIL() << "wrote over a directory";
  } catch (const core::SystemError& error) {
    EXPECT_TRUE(has(error.what(), "report.html"));
  }
}

}  // namespace
}  // namespace tabane::lab
