#include "tabane/tools/encrypt/output_manifest.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <utility>

#include "tabane/core/file.h"
#include "tabane/core/files_test.h"
#include "tabane/tools/encrypt/tree.h"
#include "tabane/tools/encrypt/tree_home.h"
#include "tabane/tools/encrypt/tree_job_test.h"

namespace tabane::encrypt {
namespace {

namespace fs = std::filesystem;
using core::read_file;
using core::write_file;

class Update : public SealsATree {
 protected:
  Update() {
    threads = 2;
    fs::create_directories(in / "d/e");
    for (const char* name : {"a", "b", "d/c", "d/e/f"}) write_file(in / name, name);
    write_file(in / "d/long", std::string(2'000'000, 'x'));
    fs::create_symlink("a", in / "link");
    EXPECT_TRUE(job(Direction::encrypt, in, sealed).failures.empty());
  }

  JobReport job(Direction direction, const fs::path& from, const fs::path& to) const {
    return run_job(request(direction, from, to));
  }
  JobReport update() const { return run_job(updating()); }

  // But tabane's own directory, whose time changes.
  static Entries everything(const fs::path& root) {
    Entries entries = encrypt::everything(root);
    std::erase_if(entries, [](const auto& entry) {
      return fs::path(entry.first).filename() == kOwnDirectory;
    });
    return entries;
  }
  void expect_same_as_input() const {
    fs::remove_all(root / "opened");
    const JobReport back = job(Direction::decrypt, sealed, root / "opened");
    EXPECT_TRUE(back.failures.empty()) << back.failures[0].path << ": " << back.failures[0].what;
    EXPECT_EQ(everything(root / "opened"), everything(in));
  }
};

TEST_F(Update, LeavesATreeAloneInWhichNothingChanged) {
  const auto before = everything(sealed);
  const JobReport outcome = update();
  EXPECT_EQ(outcome.files, 0u);
  EXPECT_EQ(outcome.files_kept, 5u);
  EXPECT_EQ(outcome.removed, 0u);
  EXPECT_EQ(everything(sealed), before);
  EXPECT_EQ(outcome.root, job(Direction::verify, sealed, "").root);
}

TEST_F(Update, SealsWhatIsNewOrChangedAndRemovesWhatIsGone) {
  const std::string kept = read_file(sealed / "b");
  const auto first_root = job(Direction::verify, sealed, "").root;
  write_file(in / "a", "another a");
  write_file(in / "d/new", "new");
  fs::create_directory(in / "x");
  fs::remove_all(in / "d/e");
  fs::remove(in / "link");
  fs::create_symlink("b", in / "link");
  const JobReport outcome = update();
  EXPECT_TRUE(outcome.failures.empty());
  EXPECT_EQ(outcome.files, 2u);
  EXPECT_EQ(outcome.files_kept, 3u);
  EXPECT_EQ(outcome.removed, 2u);
  EXPECT_FALSE(fs::exists(sealed / "d/e"));
  EXPECT_EQ(read_file(sealed / "b"), kept);
  EXPECT_NE(outcome.root, first_root);
  expect_same_as_input();
}

TEST_F(Update, NoticesModesAndTimesAlone) {
  fs::permissions(in / "a", fs::perms{0600});
  fs::permissions(in / "d", fs::perms{0700});
  const timespec times[2] = {{1, 0}, {1'000'000'000, 5}};
  ASSERT_EQ(utimensat(AT_FDCWD, (in / "b").c_str(), times, 0), 0);
  EXPECT_TRUE(update().failures.empty());
  expect_same_as_input();
}

TEST_F(Update, TakesAFileThatBecameADirectoryAndTheOtherWay) {
  fs::remove(in / "a");
  fs::create_directory(in / "a");
  write_file(in / "a/inside", "x");
  fs::remove_all(in / "d");
  write_file(in / "d", "a file now");
  fs::remove(in / "b");
  fs::create_symlink("d", in / "b");
  const JobReport outcome = update();
  EXPECT_TRUE(outcome.failures.empty());
  expect_same_as_input();
}

// Both kinds of change, each done already when the next update begins.
TEST_F(Update, GoesOnWhereAFileAndADirectoryHaveChangedPlaces) {
  const std::string manifest = read_file(sealed / ".tabane/manifest");
  fs::remove(in / "a");
  fs::create_directory(in / "a");
  write_file(in / "a/inside", "x");
  fs::remove_all(in / "d");
  write_file(in / "d", "a file now");
  EXPECT_TRUE(update().failures.empty());
  const auto interrupt = [&] {
    write_file(sealed / ".tabane/manifest", manifest);
    write_file(sealed / ".tabane/changing", "");
  };
  interrupt();
  EXPECT_EQ(told(updating()), Lines{});
  expect_same_as_input();
  // And back again before it could end.
  interrupt();
  fs::remove_all(in / "a");
  write_file(in / "a", "a");
  fs::remove(in / "d");
  fs::create_directories(in / "d/e");
  write_file(in / "d/c", "d/c");
  EXPECT_EQ(told(updating()), Lines{});
  expect_same_as_input();
}

TEST_F(Update, MakesAnewWhatIsMissingOrCutInTheSealedTree) {
  fs::remove(sealed / "a");
  fs::resize_file(sealed / "d/long", 1000);
  fs::remove_all(sealed / "d/e");
  const JobReport outcome = update();
  EXPECT_EQ(outcome.files, 3u);
  expect_same_as_input();
}

TEST_F(Update, OfNothingIsRefusedBeforeAnythingIsWritten) {
  const auto refused = [&](const Request& r, const char* says) {
    const auto before = everything(root);
    try {
      check_job(r);
      ADD_FAILURE() << says;
    } catch (const core::UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
    EXPECT_THROW(run_job(r), core::UsageError) << says;
    EXPECT_EQ(everything(root), before) << says;
  };
  Request r = updating();
  r.out = root / "seald";
  refused(r, "does not exist, so there is nothing to update");
  fs::create_directory(r.out);
  refused(r, "is no sealed tree, so there is nothing to update");
  write_file(fs::path(r.out) / "of-somebody", "kept");
  refused(r, "without --update makes a new tree");
  r = updating();
  r.in = in / "a";
  refused(r, "is a file");
}

TEST_F(Update, OfATreeWithoutAManifestIsRefusedAndResumingFinishesIt) {
  fs::remove(sealed / ".tabane/manifest");
  fs::remove(sealed / "a");
  const auto before = everything(sealed);
  EXPECT_NE(refusal(updating()).find("--resume finishes it"), std::string::npos);
  EXPECT_EQ(everything(sealed), before);
  const JobReport outcome = run_job(resuming());
  EXPECT_EQ(outcome.files, 1u);
  EXPECT_EQ(outcome.files_kept, 4u);
  expect_same_as_input();
}

// As a kill leaves it: one file of the new state, the manifest of the old one, and the mark.
TEST_F(Update, ThatWasInterruptedIsToldAndFinishedByTheNext) {
  const std::string manifest = read_file(sealed / ".tabane/manifest");
  write_file(in / "a", "another a");
  write_file(in / "b", "another b");
  EXPECT_EQ(update().files, 2u);
  write_file(sealed / ".tabane/manifest", manifest);
  write_file(sealed / ".tabane/changing", "");
  fs::remove(sealed / "b");
  core::leave_behind(sealed / "d/.tabane-0123456789abcdef.part", "half");
  const Request verify = request(Direction::verify, sealed, "");
  EXPECT_NE(refusal(verify).find("--update or --resume finishes it"), std::string::npos);
  EXPECT_EQ(refusal(verifying_without_manifest()), "");
  const JobReport outcome = update();
  EXPECT_EQ(outcome.files, 1u);
  EXPECT_EQ(outcome.files_kept, 4u);
  EXPECT_EQ(outcome.leftovers_removed, 1u);
  EXPECT_FALSE(fs::exists(sealed / ".tabane/changing"));
  expect_same_as_input();
}

// What the interrupted job had sealed went from the input before the next one.
TEST_F(Update, RemovesWhatAnInterruptedOneHadAddedAndNothingOfStrangers) {
  const std::string manifest = read_file(sealed / ".tabane/manifest");
  fs::create_directory(in / "new");
  write_file(in / "new/x", "x");
  EXPECT_EQ(update().files, 1u);
  write_file(sealed / ".tabane/manifest", manifest);
  write_file(sealed / ".tabane/changing", "");
  fs::remove_all(in / "new");
  EXPECT_EQ(update().removed, 2u);
  EXPECT_FALSE(fs::exists(sealed / "new"));
  expect_same_as_input();

  write_file(sealed / ".tabane/changing", "");
  write_file(sealed / "d/e/of-a-stranger", "kept");
  fs::remove_all(in / "d/e");
  const JobReport outcome = update();
  ASSERT_EQ(outcome.failures.size(), 1u);
  EXPECT_EQ(outcome.failures[0].path, "d/e");
  EXPECT_EQ(read_file(sealed / "d/e/of-a-stranger"), "kept");
  EXPECT_FALSE(fs::exists(sealed / "d/e/f"));
}

TEST_F(Update, IsNotDoneUntilWhatCouldNotBeRemovedIsGone) {
  write_file(sealed / "d/e/of-a-stranger", "kept");
  fs::remove_all(in / "d/e");
  for (int i = 0; i < 2; ++i) {
    const JobReport outcome = update();
    ASSERT_EQ(outcome.failures.size(), 1u) << i;
    EXPECT_EQ(outcome.failures[0].path, "d/e");
    EXPECT_NE(refusal(request(Direction::verify, sealed, "")).find("--update"), std::string::npos);
  }
  fs::remove(sealed / "d/e/of-a-stranger");
  EXPECT_TRUE(update().failures.empty());
  expect_same_as_input();
}

Request request_with_passphrase(Request r) {
  r.passphrase = crypto::Passphrase::of(std::as_bytes(std::span("a passphrase")));
  r.passphrase_log2_n = 10;
  return r;
}

// Deriving a key from a passphrase comes between the scan and the manifest, and asks whether to
// stop; the progress is told once more after the work.
TEST_F(Update, ThatIsMadeMeanwhileIsToldAndNothingElse) {
  fs::remove_all(sealed);
  ASSERT_TRUE(
      run_job(request_with_passphrase(request(Direction::encrypt, in, sealed))).failures.empty());
  int files = 0;
  const auto change_both = [&] {
    write_file(in / "a", "another a " + std::to_string(files));
    write_file(in / ("new" + std::to_string(files++)), "new");
    EXPECT_TRUE(run_job(request_with_passphrase(updating())).failures.empty());
  };
  const auto mark = [&] { write_file(sealed / ".tabane/changing", ""); };
  struct Case {
    const char* what;
    std::function<void()> change;
    bool before_the_manifest;
  };
  for (const Case& c : {Case{"an update before the manifest is read", change_both, true},
                        Case{"an update after the work", change_both, false},
                        Case{"one that is at work", mark, false}}) {
    for (const bool quick : {false, true}) {
      Request r = request_with_passphrase(request(Direction::verify, sealed, ""));
      r.quick = quick;
      bool done = false;
      const auto once = [&] {
        if (!done) c.change();
        done = true;
      };
      Hooks hooks;
      if (c.before_the_manifest) {
        hooks.stop_requested = [&] { return once(), false; };
      } else {
        hooks.progress = [&](const Progress&) { once(); };
      }
      const JobReport outcome = run_job(r, hooks);
      ASSERT_EQ(outcome.failures.size(), 1u) << c.what;
      EXPECT_EQ(outcome.failures[0].path, "") << c.what;
      EXPECT_NE(outcome.failures[0].what.find("verify again"), std::string::npos) << c.what;
      EXPECT_EQ(outcome.temporaries, std::vector<std::string>{}) << c.what;
      fs::remove(sealed / ".tabane/changing");
      EXPECT_TRUE(
          run_job(request_with_passphrase(request(Direction::verify, sealed, ""))).failures.empty())
          << c.what;
    }
  }
}

TEST_F(Update, ThatIsMadeMeanwhileIsToldByADecryptionThatLacksSomething) {
  const Request back = request(Direction::decrypt, sealed, root / "opened");
  bool done = false;
  Hooks after_the_work;
  after_the_work.progress = [&](const Progress&) {
    if (std::exchange(done, true)) return;
    EXPECT_TRUE(update().failures.empty());
  };
  write_file(in / "a", "another a");
  EXPECT_TRUE(run_job(back, after_the_work).failures.empty());  // as the manifest had it
  EXPECT_EQ(read_file(root / "opened/a"), "a");

  for (const char* path : {"sealed", "opened"}) fs::remove_all(root / path);
  run_job(request_with_passphrase(request(Direction::encrypt, in, sealed)));
  done = false;
  Hooks before_the_manifest;
  before_the_manifest.stop_requested = [&] {
    if (std::exchange(done, true)) return false;
    write_file(in / "new", "new");
    EXPECT_TRUE(run_job(request_with_passphrase(updating())).failures.empty());
    return false;
  };
  Request again = request_with_passphrase(request(Direction::decrypt, sealed, root / "opened"));
  const JobReport outcome = run_job(again, before_the_manifest);
  ASSERT_EQ(outcome.failures.size(), 1u);
  EXPECT_NE(outcome.failures[0].what.find("decrypt --resume"), std::string::npos);
  again.resume = true;
  EXPECT_TRUE(run_job(again).failures.empty());
  EXPECT_EQ(everything(root / "opened"), everything(in));
}

// What is wrong with a tree in which a job is at work may be the job's doing.
TEST_F(Update, AtWorkIsToldByWhoCannotOpenTheTree) {
  const Request verify = request(Direction::verify, sealed, "");
  fs::remove(sealed / ".tabane/manifest");
  EXPECT_NE(refusal(verify).find("has no manifest"), std::string::npos);
  const core::Descriptor directory(open(sealed.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const JobLock lock(directory.get(), LockedTree::sealed, sealed);
  EXPECT_NE(refusal(verify).find("is being changed by another job"), std::string::npos)
      << refusal(verify);
}

TEST_F(Update, RefusesADamagedManifestWhichResumingReplaces) {
  const fs::path manifest = sealed / ".tabane/manifest";
  core::flip_bits(manifest, fs::file_size(manifest) / 2);
  EXPECT_NE(refusal(updating()).find(".tabane/manifest: at byte"), std::string::npos);
  EXPECT_EQ(run_job(resuming()).files_kept, 5u);
  expect_same_as_input();
}

// Whole files of the tree, of the right size and with the right time, that the manifest does not
// have there.
TEST_F(Update, AndResumingKeepNoFileThatWasPutBackOrExchanged) {
  write_file(in / "b", "c");
  write_file(in / "d/c", "d");
  EXPECT_EQ(update().files, 2u);
  const fs::path older = root / "older";
  fs::copy(sealed, older, fs::copy_options::recursive);
  for (const char* name : {"a", "b"}) write_file(in / name, "y");
  EXPECT_EQ(update().files, 2u);
  for (const bool interrupted : {false, true}) {
    for (const bool by_update : {false, true}) {
      const auto plant = [&](const fs::path& from, const char* name) {
        fs::copy_file(from, sealed / name, fs::copy_options::overwrite_existing);
        fs::last_write_time(sealed / name, fs::last_write_time(in / name));
      };
      plant(older / "a", "a");    // put back
      plant(older / "a", "d/c");  // another one
      if (interrupted) write_file(sealed / ".tabane/changing", "");
      const bool looks = interrupted || !by_update;  // an update goes by sizes and times
      const JobReport outcome = run_job(by_update ? updating() : resuming());
      EXPECT_EQ(outcome.files_unlisted, looks ? 2u : 0u);
      EXPECT_EQ(outcome.files, looks ? 2u : 0u);
      EXPECT_TRUE(outcome.failures.empty());
      if (looks) {
        expect_same_as_input();
      } else {
        EXPECT_EQ(job(Direction::verify, sealed, "").failures.size(), 2u);
      }
    }
  }
}

TEST_F(Update, RemovesWhatResumingNamesAndResumingDoesNot) {
  for (const bool interrupted : {false, true}) {
    const std::string name = interrupted ? "d/c" : "b";
    fs::remove(in / name);
    if (interrupted) fs::remove(sealed / ".tabane/manifest");
    const JobReport outcome = run_job(resuming());
    ASSERT_EQ(outcome.failures.size(), 1u);
    EXPECT_EQ(outcome.failures[0].path, name);
    EXPECT_NE(outcome.failures[0].what.find("--update removes it"), std::string::npos);
    EXPECT_TRUE(fs::exists(sealed / name));
    const Request verify = request(Direction::verify, sealed, "");
    EXPECT_NE(refusal(verify).find("--update"), std::string::npos);
    EXPECT_EQ(update().removed, 1u);
    expect_same_as_input();
  }
  write_file(sealed / "of-a-stranger", "kept");
  const JobReport outcome = run_job(resuming());
  ASSERT_EQ(outcome.failures.size(), 1u);
  EXPECT_EQ(outcome.failures[0].path, "of-a-stranger");
  EXPECT_EQ(job(Direction::verify, sealed, "").failures.size(), 1u);
  fs::remove(sealed / "of-a-stranger");
  EXPECT_TRUE(run_job(resuming()).failures.empty());
  expect_same_as_input();
}

TEST_F(Update, TakesTheKeyOfTheTree) {
  Request other = updating();
  other.key.bytes()[0] ^= std::byte{1};
  EXPECT_NE(refusal(other).find("wrong key"), std::string::npos);
}

TEST_F(Update, TouchesNothingThroughALinkInTheSealedTree) {
  fs::create_directories(root / "elsewhere/e");
  write_file(root / "elsewhere/e/f", "not ours");
  write_file(root / "elsewhere/c", "not ours");
  fs::remove_all(sealed / "d");
  fs::create_directory_symlink(root / "elsewhere", sealed / "d");
  fs::remove(in / "d/c");
  refusal(updating());
  EXPECT_EQ(read_file(root / "elsewhere/c"), "not ours");
  EXPECT_EQ(read_file(root / "elsewhere/e/f"), "not ours");
}

TEST_F(Update, ReplacesAForcedTreeWholly) {
  Request forced = request(Direction::encrypt, in, sealed);
  forced.force = true;
  EXPECT_EQ(run_job(forced).files, 5u);
  expect_same_as_input();
}

}  // namespace
}  // namespace tabane::encrypt
