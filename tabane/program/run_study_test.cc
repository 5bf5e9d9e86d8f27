#include "tabane/program/run_study.h"

#include <gtest/gtest.h>

#include "tabane/program/run_options.h"

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

TEST(CommandLine, RepeatsWhatIsNoListAndEndsWithTheCommand) {
  static Words vary, command;
  static std::string save;
  constexpr Verb kTune{.name = "tune", .what = "", .define = [] {
                         return Definition{{{"--vary NAME=VALUES", &vary, ""},
                                            {"--save FILE", &save, ""},
                                            {"COMMAND", &command, "", {.is_command = true}}},
                                           [](const Given& given) {
                                             std::fputs(command_line_of(given).c_str(), stdout);
                                             return kOk;
                                           }};
                       }};
  testing::internal::CaptureStdout();
  understand(kTune, {"--vary", "a=1,2", "--save", "x", "--vary", "b=3", "sh", "-c", "echo a b"})
      .run();
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "tune --vary a=1,2 --vary b=3 -- sh -c 'echo a b'");
}

lab::Result figure(const char* name, const char* unit, lab::Better better = lab::Better::higher) {
  lab::Result result;
  result.name = name;
  result.unit = unit;
  result.better = better;
  return result;
}

TEST(ResultLine, ShowsValueSpreadAndShareOfTheLimit) {
  lab::Result result = figure("simd.dot.l1", "FLOP/s");
  result.limit = lab::Limit{2e10, "peak"};
  lab::set_samples(result, std::vector<double>(6, 1.9e10));
  EXPECT_EQ(result_line(result),
            "simd.dot.l1                          19.0 GFLOP/s  ± 0.0 %    95 % of limit");
}

TEST(ResultLine, PutsItsFigureBehindALongerName) {
  lab::Result result = figure("device.0.transfer.to_device.pageable", "FLOP/s");
  EXPECT_EQ(result_line(result, 40), result.name + std::string(5 + 2, ' ') + "not measured");
  result.value = 1.9e10;
  EXPECT_EQ(result_line(result, 40), result.name + std::string(5 + 2, ' ') + "19.0 GFLOP/s");
}

TEST(ResultLine, KeepsADigitOfASmallShare) {
  lab::Result result = figure("fork.rate", "1/s");
  result.limit = lab::Limit{1000, "peak"};
  result.value = 3;
  EXPECT_TRUE(result_line(result).ends_with(" 0.3 % of limit")) << result_line(result);
  result.value = 0.1;
  EXPECT_TRUE(result_line(result).ends_with(" below 0.1 % of limit")) << result_line(result);
}

TEST(ResultLine, GivesTheIntervalOfAShareAndNamesARoofThatIsTooLow) {
  lab::Result result = figure("simd.axpy.l2", "FLOP/s");
  lab::set_samples(result, {90, 92, 94, 96, 98, 100});
  lab::set_limit(result, "in turn", std::vector<double>(6, 100.0));
  EXPECT_TRUE(result_line(result).ends_with("95 % of limit ± 5")) << result_line(result);
  lab::set_limit(result, "in turn", std::vector<double>(6, 65.0));
  EXPECT_TRUE(result_line(result).ends_with("146 % of limit: the roof is too low"))
      << result_line(result);
}

TEST(ResultLine, ShowsATimeAsAMultipleOfItsLimit) {
  lab::Result result = figure("comm.latency", "s", lab::Better::lower);
  lab::set_samples(result, std::vector<double>(6, 80e-9));
  result.limit = lab::Limit{50e-9, "a cache line"};
  EXPECT_TRUE(result_line(result).ends_with(" 1.60 × the limit")) << result_line(result);
  lab::set_samples(result, {80e-9, 84e-9, 88e-9, 92e-9, 96e-9, 102e-9});
  lab::set_limit(result, "in turn", std::vector<double>(6, 80e-9));
  EXPECT_TRUE(result_line(result).ends_with(" 1.12 × the limit ± 0.14")) << result_line(result);
}

TEST(ResultLine, ShowsBothStatesOfAFigureThatHasTwo) {
  lab::Result result;
  result.name = "memory.bandwidth.triad.dram.machine";
  result.unit = "B/s";
  std::vector<double> samples(30, 60e9);
  for (std::size_t i = 0; i < samples.size(); i += 3) samples[i] = 120e9;
  lab::set_samples(result, samples);
  EXPECT_TRUE(
      result_line(result).ends_with("two states: 120 GB/s for 33 % of the time, else 60.0 GB/s"))
      << result_line(result);
}

TEST(ResultLine, SaysNotMeasuredAndWhyRatherThanZero) {
  lab::Result result;
  result.name = "numa.latency";
  result.unit = "ns";
  EXPECT_TRUE(result_line(result).ends_with("not measured"));
  result.reason = "a thread did not get its CPU";
  EXPECT_TRUE(result_line(result).ends_with("not measured: a thread did not get its CPU"));
}

TEST(ResultLine, ShowsTheEndsOfAnIntervalWiderThanTheValue) {
  lab::Result result;
  result.name = "a";
  result.unit = "s";
  result.value = 1;
  result.interval = core::Interval{0.5, 5};
  EXPECT_NE(result_line(result).find("[500 ms, 5.00 s]"), std::string::npos) << result_line(result);
}

}  // namespace
}  // namespace tabane::program
