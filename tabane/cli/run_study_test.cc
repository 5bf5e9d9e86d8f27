#include "tabane/cli/run_study.h"

#include <gtest/gtest.h>

#include <optional>

#include "tabane/cli/rank_options.h"
#include "tabane/lab/record/record.h"

namespace tabane::cli {
namespace {

// A study with an option of each kind. Its record is written as JSON to stdout alone.
std::string command_line_recorded(const std::vector<std::string>& arguments) {
  CLI::App app;
  StudyVerb verb(app, "some-study", "", "");
  bool quick = false;
  std::vector<unsigned> files;
  std::vector<std::uint64_t> sizes;
  std::string launcher = "mpirun";
  double seconds = 0;
  unsigned runs = 0;
  lab::RankOptions ranks;
  verb.add_common(quick, "");
  verb.add_list("--files", "LIST", files, "");
  verb.add_sizes("--sizes", "LIST", sizes, "");
  verb.add("--launcher", "WORDS", launcher, "");
  verb.add_time("--seconds", seconds, "");
  verb.add_count("-r,--runs", runs, "");
  add_rank_options(*verb, ranks);
  verb.runs([](const core::Topology&, const lab::Hooks&) {
    lab::Record record;
    record.kind = lab::Kind::study;
    record.complete = true;
    return record;
  });
  std::vector<std::string> words = {"tabane", "some-study", "--json", "-q"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  testing::internal::CaptureStdout();
  app.parse(static_cast<int>(argv.size()), argv.data());
  return lab::Json::parse(testing::internal::GetCapturedStdout()).at("command_line").text();
}

TEST(StudyVerb, RecordsWhatWasAskedForAndNotWhereItGoes) {
  EXPECT_EQ(command_line_recorded({}), "tabane study some-study");
  EXPECT_EQ(command_line_recorded({"--wide", "--quick"}), "tabane study some-study --quick");
}

TEST(StudyVerb, RecordsValuesAsTypedUnderLongNames) {
  EXPECT_EQ(command_line_recorded({"-n", "4", "--files", "1,2", "--files", "3", "--sizes", "4K,1M",
                                   "-r", "7", "--seconds", "2m"}),
            "tabane study some-study --files 1,2,3 --sizes 4K,1M --seconds 2m --runs 7 "
            "--processes 4");
}

TEST(StudyVerb, RecordsWordsWithBlanksAsAShellMustBeGivenThem) {
  EXPECT_EQ(command_line_recorded({"--launcher", "mpirun --mca btl tcp,self"}),
            "tabane study some-study --launcher 'mpirun --mca btl tcp,self'");
}

TEST(StudyVerb, RecordsNoFlagThatWasTurnedOff) {
  EXPECT_EQ(command_line_recorded({"--quick=false"}), "tabane study some-study");
  EXPECT_EQ(command_line_recorded({"--quick=true"}), "tabane study some-study --quick");
}

}  // namespace
}  // namespace tabane::cli
