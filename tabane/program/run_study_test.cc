#include "tabane/program/run_study.h"

#include <gtest/gtest.h>

#include <memory>

#include "tabane/lab/record/record.h"
#include "tabane/program/rank_options.h"

namespace tabane::program {
namespace {

// A study with an option of each kind. Its record is written as JSON to stdout alone.
Definition define() {
  struct Values {
    bool quick = false;
    std::vector<unsigned> files;
    std::vector<std::uint64_t> sizes;
    std::string launcher = "mpirun";
    double seconds = 0;
    unsigned runs = 0;
    lab::RankOptions ranks;
  };
  const auto options = std::make_shared<StudyOptions>();
  const auto values = std::make_shared<Values>();
  return study(options,
               table(options->rows(values->quick, ""),
                     std::vector<Option>{{"--files LIST", &values->files, "", {.commas = true}},
                                         sizes_row("--sizes LIST", values->sizes, ""),
                                         {"--launcher WORDS", &values->launcher, ""},
                                         time_row("--seconds TIME", values->seconds, ""),
                                         {"-r,--runs N", &values->runs, ""}},
                     rank_rows(values->ranks)),
               [values](const core::Topology&, const lab::Hooks&) {
                 lab::Record record;
                 record.kind = lab::Kind::study;
                 record.complete = true;
                 return record;
               });
}

constexpr Verb kStudy{.name = "some-study", .what = "", .define = define};
constexpr const Verb* kStudies[] = {&kStudy, nullptr};
constexpr Verb kAbove{.name = "tabane study", .what = "", .below = kStudies};

std::string command_line_recorded(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"some-study", "--json", "-q"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  testing::internal::CaptureStdout();
  understand(kAbove, words).run();
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
}  // namespace tabane::program
