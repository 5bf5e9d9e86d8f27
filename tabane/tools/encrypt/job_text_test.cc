#include "tabane/tools/encrypt/job_text.h"

#include <gtest/gtest.h>

namespace tabane::program {
namespace {

using namespace encrypt;

JobReport some_outcome() {
  JobReport outcome;
  outcome.complete = true;
  outcome.files = outcome.files_total = 1234;
  outcome.bytes = outcome.bytes_total = 2'000'000'000;
  outcome.directories = 10;
  outcome.threads = 2;
  outcome.seconds = 2;
  return outcome;
}

TEST(ProgressText, NamesFilesAndBytesInOneUnit) {
  EXPECT_EQ(
      progress_text(
          {.files = 1234, .bytes = 3ULL << 29, .files_total = 20000, .bytes_total = 3ULL << 30}),
      "1 234 of 20 000 files, 1.50 of 3 GiB");
  EXPECT_EQ(progress_text({.files = 0, .bytes = 5, .files_total = 1, .bytes_total = 2048}),
            "0 of 1 files, 5 B of 2 KiB");
  EXPECT_EQ(progress_text({}), "0 of 0 files, 0 of 0 B");
  EXPECT_EQ(progress_text({}, 2.5e9), "0 of 0 files, 0 of 0 B, 2.50 GB/s");
  EXPECT_EQ(progress_text({}, 0), "0 of 0 files, 0 of 0 B, 0 B/s");
}

TEST(ProgressShare, RunsFromNothingToAll) {
  EXPECT_EQ(progress_share({.files_total = 2, .bytes_total = 10}), 0);
  EXPECT_EQ(progress_share({.files = 1, .files_total = 2}), 0.5);  // empty files count too
  EXPECT_EQ(progress_share({.files = 2, .bytes = 10, .files_total = 2, .bytes_total = 10}), 1);
  EXPECT_EQ(progress_share({.bytes = 99, .bytes_total = 10}), 1);  // files that grow
  EXPECT_EQ(progress_share({}), 1);
}

TEST(SummaryText, NamesTheFigures) {
  JobReport outcome = some_outcome();
  outcome.copy_share = {.value = 0.25, .interval = {0.242, 0.263}, .pairs = 60};
  outcome.symlinks = 1;
  outcome.special = 2;
  outcome.excluded = 3;
  outcome.files_kept = 1;
  EXPECT_EQ(summary_text({}, outcome),
            "encrypted 1 234 files, 1.86 GiB in 2.00 s: 1.00 GB/s, 617 files/s\n"
            "2 threads, openssl; 25 % [24, 26] of the speed of plain copying\n"
            "left out: 1 symbolic link, 2 special files, 3 excluded\n"
            "kept: 1 file complete already\n");
}

TEST(SummaryText, NamesLinksAndTheRoot) {
  JobReport outcome = some_outcome();
  outcome.links = 1;
  outcome.root.emplace();
  outcome.root->fill(std::byte{0xA5});
  std::string root;
  for (int i = 0; i < 32; ++i) root += "a5";
  EXPECT_EQ(summary_text({}, outcome),
            "encrypted 1 234 files, 1 symbolic link, 1.86 GiB in 2.00 s: 1.00 GB/s, 617 files/s\n"
            "2 threads, openssl\n"
            "root: " +
                root + "\n");
  EXPECT_EQ(to_json({}, outcome)["root"], root);
  EXPECT_TRUE(to_json({}, some_outcome())["root"].is_null());
}

TEST(Json, TellsTheKindOfADifferenceFromTheManifest) {
  JobReport outcome = some_outcome();
  outcome.failures = {{"a", "was renamed: it is b", "renamed"}, {"c", "at byte 96: damaged"}};
  const lab::Json failures = to_json({.direction = Direction::verify}, outcome)["failures"];
  EXPECT_EQ(failures[0]["difference"], "renamed");
  EXPECT_TRUE(failures[1]["difference"].is_null());
}

TEST(Json, NamesFilesWhoseNamesAreNotUtf8) {
  JobReport outcome = some_outcome();
  outcome.doubtful = outcome.changed = {"a\xff"};
  const std::string text = to_json({}, outcome)["warnings"].dump();
  EXPECT_NE(text.find("a\uFFFD had changed"), text.npos);
  EXPECT_NE(text.find("OUT keeps a\uFFFD,"), text.npos);
}

TEST(Warnings, SayWhatIsNotKnownWithoutAManifest) {
  EXPECT_TRUE(warnings_of({.direction = Direction::verify}, some_outcome()).empty());
  EXPECT_EQ(warnings_of({.direction = Direction::verify, .without_manifest = true}, some_outcome())
                .size(),
            1u);
  JobReport old = some_outcome();
  old.version_1_tree = true;
  const auto warnings = warnings_of({.direction = Direction::verify}, old);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("version 1, which has no manifest"), std::string::npos);
  EXPECT_EQ(to_json({.direction = Direction::verify}, old)["warnings"], lab::Json(warnings));
}

TEST(Warnings, NameFilesThatWereReadOnceMore) {
  JobReport outcome = some_outcome();
  outcome.changed.assign(2, "a");
  EXPECT_EQ(warnings_of({}, outcome),
            std::vector<std::string>(2, "a had changed while it was read, and was read once more"));
  outcome.changed.assign(1000, "a");
  const auto warnings = warnings_of({}, outcome);
  EXPECT_LT(warnings.size(), 30u);
  EXPECT_NE(warnings.back().find("1 000 files"), std::string::npos) << warnings.back();
}

TEST(Warnings, SayWhatADeviceHasNotDone) {
  JobReport outcome = some_outcome();
  outcome.device_remarks = {"it was unplugged: the CPU has done the rest"};
  EXPECT_EQ(warnings_of(Request(), outcome), outcome.device_remarks);
  outcome.engine = crypto::Engine::opencl;
  EXPECT_NE(summary_text(Request(), outcome).find(", opencl"), std::string::npos);
}

TEST(SummaryText, SaysNothingOfWhatWasNotMeasured) {
  EXPECT_EQ(summary_text({.direction = Direction::verify}, some_outcome()),
            "verified 1 234 files, 1.86 GiB in 2.00 s: 1.00 GB/s, 617 files/s\n"
            "2 threads, openssl\n");
}

TEST(SummaryText, SaysWhatAQuickVerificationHasNotRead) {
  const Request quick{.direction = Direction::verify, .quick = true};
  EXPECT_EQ(summary_text(quick, some_outcome()),
            "checked 1 234 files quickly in 2.00 s: the manifest, and of each file its size, salt "
            "and last tag; contents were not read\n2 threads, openssl\n");
  const lab::Json json = to_json(quick, some_outcome());
  EXPECT_EQ(json["authenticated"], lab::Json(false));
  EXPECT_TRUE(json["input_bytes_done"].is_null());
  EXPECT_TRUE(json["bytes_per_second"].is_null());
  EXPECT_EQ(json["files_per_second"], 617);
  EXPECT_EQ(to_json({.direction = Direction::verify}, some_outcome())["authenticated"],
            lab::Json(true));
}

TEST(SummaryText, SaysWhatAVerificationOfCbcCannotKnow) {
  const std::string text =
      summary_text({.direction = Direction::verify, .cipher = Cipher::aes_128_cbc}, some_outcome());
  EXPECT_NE(text.find("not known: whether the content was changed"), std::string::npos) << text;
  EXPECT_EQ(text.find("aes-256-cbc"), std::string::npos) << text;
}

TEST(WarningsOf, NameAnInitialisationVectorThatFilesShare) {
  Request request{.cipher = Cipher::aes_256_cbc};
  EXPECT_EQ(warnings_of({}, some_outcome()).size(), 0u);
  EXPECT_EQ(warnings_of(request, some_outcome()).size(), 1u);
  request.fixed_iv = crypto::Block{};
  const auto warnings = warnings_of(request, some_outcome());
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_TRUE(warnings[1].starts_with("1 234 files share")) << warnings[1];
  JobReport one = some_outcome();
  one.files_total = 1;
  EXPECT_EQ(warnings_of(request, one).size(), 1u);
  request.direction = Direction::decrypt;
  EXPECT_EQ(warnings_of(request, some_outcome()).size(), 1u);
}

TEST(SummaryText, SaysWhatWouldBeDone) {
  EXPECT_EQ(summary_text({.dry_run = true}, some_outcome()),
            "would encrypt 1 234 files, 1.86 GiB, in 10 directories with 2 threads, openssl\n");
  JobReport outcome = some_outcome();
  outcome.free_bytes = 3ULL << 30;
  EXPECT_TRUE(summary_text({.dry_run = true}, outcome).ends_with("; 3 GiB free where OUT is\n"));
  outcome.bytes_total = 4ULL << 30;
  const std::vector<std::string> warnings = warnings_of({.dry_run = true}, outcome);
  EXPECT_EQ(warnings.at(0), "where OUT is, 3 GiB are free, and IN has 4 GiB");
}

TEST(FailuresText, NamesEachPathOnceOnALineOfItsOwn) {
  JobReport outcome;
  outcome.failures = {{"a\nb", "a\nb: open: Permission denied"},
                      {"", "cannot be read"},
                      {"d/e", "e: is a directory"},
                      {"d/f", "d/f: is a directory"}};
  EXPECT_EQ(failures_text(outcome, 9),
            "a\\nb: open: Permission denied\n.: cannot be read\nd/e: is a directory\n"
            "d/f: is a directory\n");
}

TEST(FailuresText, SaysHowManyItLeavesOut) {
  JobReport outcome;
  outcome.failures.assign(5, {"a", "b"});
  EXPECT_EQ(failures_text(outcome, 1), "a: b\nand 4 more, which -v or --json lists\n");
}

TEST(RemovalsText, NamesEachOnALineOfItsOwn) {
  JobReport outcome;
  EXPECT_EQ(removals_text(outcome, 9), "");
  outcome.would_remove = {"a\nb", "d/", "d/e"};
  EXPECT_EQ(removals_text(outcome, 2),
            "would remove: a\\nb\nwould remove: d/\nand 1 more, which -v or --json lists\n");
  EXPECT_EQ(to_json({.dry_run = true}, outcome)["would_remove"][2]["path"], "d/e");
}

TEST(Json, HoldsNamesThatAreNotUtf8) {
  JobReport outcome = some_outcome();
  outcome.failures = {{"a\xff", "a\xff: open: No such file"}};
  const lab::Json json = lab::Json::parse(to_json({}, outcome).dump());
  EXPECT_EQ(json["failures"][0]["path"], "a\uFFFD");
  EXPECT_EQ(json["failures"][0]["path_percent_encoded"], "a%FF");
  EXPECT_EQ(json["failures"][0]["reason"], "open: No such file");
}

TEST(Json, HoldsTheShareWithItsIntervalAndWhatItSaysOfCopying) {
  JobReport outcome = some_outcome();
  outcome.copy_share = {.value = 0.25, .interval = {0.24, 0.26}, .pairs = 60};
  const lab::Json json = to_json({}, outcome);
  EXPECT_EQ(json["share_of_copy_speed"], 0.25);
  EXPECT_EQ(json["share_of_copy_speed_interval"], (lab::Json{0.24, 0.26}));
  EXPECT_EQ(json["copy_bytes_per_second"], 4e9);
  EXPECT_EQ(json["copy_files_per_second"], 2468);
}

TEST(Json, IsNullWhereNothingWasMeasured) {
  const lab::Json json = to_json({.dry_run = true}, some_outcome());
  for (const char* key :
       {"files_done", "input_bytes_done", "seconds", "bytes_per_second", "copy_bytes_per_second",
        "share_of_copy_speed", "share_of_copy_speed_interval"}) {
    EXPECT_TRUE(json[key].is_null()) << key;
  }
  EXPECT_EQ(json["files_total"], 1234);
}

}  // namespace
}  // namespace tabane::program
