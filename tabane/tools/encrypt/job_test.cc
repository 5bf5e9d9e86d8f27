#include "tabane/tools/encrypt/job.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>

#include "tabane/core/file.h"
#include "tabane/core/files_test.h"
#include "tabane/core/output_file.h"
#include "tabane/tools/encrypt/threads.h"
#include "tabane/tools/encrypt/tree.h"
#include "tabane/tools/encrypt/tree_job_test.h"

namespace tabane::encrypt {
namespace {

namespace fs = std::filesystem;
using core::read_file;
using core::write_file;

class Job : public testing::Test {
 protected:
  Job() {
    fs::create_directories(root / "in/sub/empty");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const bool below = sizes[i] == 1 || sizes[i] == 65535 || sizes[i] == 5000001;
      write_file(root / (below ? "in/sub" : "in") / std::to_string(sizes[i]),
                 pattern(sizes[i], static_cast<unsigned>(i)));
    }
    fs::permissions(root / "in/65536", fs::perms{0640});
    fs::permissions(root / "in/sub", fs::perms{0750});
    const timespec times[2] = {{1'000'000'000, 5}, {1'234'567'890, 123'456'789}};
    utimensat(AT_FDCWD, (root / "in/65536").c_str(), times, 0);
    utimensat(AT_FDCWD, (root / "in/sub").c_str(), times, 0);
  }

  Request request(Direction direction, const std::string& in, const std::string& out,
                  Cipher cipher = Cipher::aes_256_gcm) const {
    Request r = request_of(direction, root / in, root / out, cipher);
    r.preserve = true;
    return r;
  }
  Request with_passphrase(Direction direction, const std::string& in,
                          const std::string& out) const {
    Request r = request(direction, in, out);
    r.passphrase = crypto::Passphrase::of(from_text("correct horse"));
    return r;
  }
  // Modes are kept, so that trees can be compared.
  JobReport run(Direction direction, const std::string& in, const std::string& out) const {
    return run_job(request(direction, in, out));
  }
  const std::vector<std::size_t> sizes = {0,      1,      15,      16,     17,    65535,
                                          65536,  65537,  32752,   32767,  32768, 32769,
                                          262143, 262144, 1048579, 5000001};
  const core::ScratchFolder folder{"tabane-test"};
  const fs::path root = folder.path();
};

TEST(Threads, HoldNoCopyingAgainstWhatIsSkipped) {
  const core::ScratchFolder folder{"tabane-test"};
  for (const char* name : {"in", "out"}) fs::create_directory(folder.path() / name);
  for (int i = 0; i < 4096; ++i) write_file(folder.path() / "in" / std::to_string(i), "");
  const auto open_there = [&](const char* name) {
    return core::Descriptor(open((folder.path() / name).c_str(), O_RDONLY | O_DIRECTORY));
  };
  const core::Descriptor in = open_there("in"), out = open_there("out");
  Trees trees{.tree = scan(in.get(), {}), .as_read = {}, .as_written = {}};
  const Request request;
  KeyRing keys{OpeningKeys{}};
  JobState job(request, trees, in.get(), out.get(), keys);
  std::atomic<int> skipped = 0;
  job.is_done_without_work = [&](Directories&, std::uint32_t) { return ++skipped > 0; };
  CopyPairs copies;
  run_job_threads(job, make_plan(trees.tree, {.threads = 1}), &copies);
  EXPECT_EQ(skipped, 4096);
  EXPECT_TRUE(copies.all().empty());
}

// It saw OUT empty and looked at IN for so long that the other job has ended.
TEST_F(Job, LeavesAloneWhatAnotherJobHasMadeMeanwhile) {
  run(Direction::encrypt, "in", "first");
  for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
    for (const bool is_there : {false, true}) {
      fs::remove_all(root / "out");
      if (is_there) fs::create_directory(root / "out");
      const Request late =
          request(direction, direction == Direction::encrypt ? "in" : "first", "out");
      Entries before;
      const auto do_other_job = [&] {
        run_job(late);
        before = everything(root / "out");
      };
      EXPECT_NE(core::text_of_error([&] {
                  run_job(late, {.places_are_fit = do_other_job});
                }).find("is not empty"),
                std::string::npos);
      Entries after = everything(root / "out");
      for (Entries* entries : {&before, &after}) entries->erase(".tabane");  // its lock changes it
      EXPECT_EQ(after, before);
    }
  }
}

TEST_F(Job, GivesBackEveryTreeWithEveryCipherEngineAndNumberOfThreads) {
  const auto original = everything(root / "in");
  for (Cipher cipher : {Cipher::aes_256_gcm, Cipher::aes_128_cbc, Cipher::aes_256_cbc}) {
    for (crypto::Engine engine : {crypto::Engine::openssl, crypto::Engine::automatic}) {
      for (unsigned threads : {1u, 3u}) {
        Request there = request(Direction::encrypt, "in", "sealed", cipher);
        there.engine = engine;
        there.threads = threads;
        const JobReport sealed = run_job(there);
        EXPECT_TRUE(sealed.complete);
        EXPECT_TRUE(sealed.failures.empty());
        EXPECT_EQ(sealed.files, sizes.size());
        EXPECT_EQ(sealed.bytes, sealed.bytes_total);
        Request back = request(Direction::decrypt, "sealed", "opened", cipher);
        back.engine = engine;
        back.threads = threads;
        const JobReport opened = run_job(back);
        EXPECT_TRUE(opened.failures.empty());
        EXPECT_EQ(opened.files, sizes.size());
        EXPECT_EQ(everything(root / "opened"), original);
        expect_no_temporary(root);
        fs::remove_all(root / "sealed");
        fs::remove_all(root / "opened");
      }
    }
  }
}

TEST_F(Job, WritesTheSameCbcBytesByBothEngines) {
  for (Cipher cipher : {Cipher::aes_128_cbc, Cipher::aes_256_cbc}) {
    for (crypto::Engine engine : {crypto::Engine::openssl, crypto::Engine::automatic}) {
      Request r =
          request(Direction::encrypt, "in", engine == crypto::Engine::openssl ? "a" : "b", cipher);
      r.fixed_iv = crypto::Block{std::byte{9}};
      r.engine = engine;
      run_job(r);
    }
    EXPECT_EQ(everything(root / "a"), everything(root / "b"));
    EXPECT_EQ(fs::file_size(root / "a/65536"), 65552u);
    fs::remove_all(root / "a");
    fs::remove_all(root / "b");
  }
}

TEST_F(Job, EncryptsMoreLargeFilesThanThereAreLanes) {
  for (std::size_t i = 0; i < 19; ++i) {
    write_file(root / "in" / ("large" + std::to_string(i)),
               pattern((1 << 20) + i * 8192, static_cast<unsigned>(i)));
  }
  const auto original = everything(root / "in");
  for (const unsigned threads : {1u, 2u}) {
    Request there = request(Direction::encrypt, "in", "sealed", Cipher::aes_256_cbc);
    there.threads = threads;
    EXPECT_EQ(run_job(there).files, sizes.size() + 19);
    run_job(request(Direction::decrypt, "sealed", "opened", Cipher::aes_256_cbc));
    EXPECT_EQ(everything(root / "opened"), original);
    fs::remove_all(root / "sealed");
    fs::remove_all(root / "opened");
  }
}

TEST_F(Job, VerifiesWithoutWriting) {
  run(Direction::encrypt, "in", "sealed");
  const auto before = everything(root);
  const JobReport outcome = run(Direction::verify, "sealed", "");
  EXPECT_TRUE(outcome.failures.empty());
  EXPECT_EQ(outcome.files, sizes.size());
  EXPECT_EQ(everything(root).size(), before.size());
}

TEST_F(Job, TakesASingleFileToAFileOrIntoADirectory) {
  run(Direction::encrypt, "in/65537", "one");
  EXPECT_EQ(fs::file_size(root / "one"),
            sealed_bytes(65537, kChunkLog2, header_of(root / "one").bytes()));
  EXPECT_FALSE(fs::exists(root / ".tabane"));
  fs::create_directory(root / "into");
  run(Direction::decrypt, "one", "into");
  EXPECT_EQ(read_file(root / "into/one"), read_file(root / "in/65537"));
}

TEST_F(Job, NamesFileAndOffsetOfDamageAndDoesTheOthers) {
  run(Direction::encrypt, "in", "sealed");
  const fs::path damaged = root / "sealed/sub/5000001";
  const std::size_t chunk = header_of(damaged).bytes() + 3 * (65536 + crypto::kTagBytes);
  core::flip_bits(damaged, chunk + 100);
  const JobReport outcome = run(Direction::decrypt, "sealed", "opened");
  EXPECT_TRUE(outcome.complete);
  ASSERT_EQ(outcome.failures.size(), 1u);
  EXPECT_EQ(outcome.failures[0].path, "sub/5000001");
  EXPECT_NE(outcome.failures[0].what.find(std::to_string(chunk)), std::string::npos)
      << outcome.failures[0].what;
  EXPECT_FALSE(fs::exists(root / "opened/sub/5000001"));
  EXPECT_EQ(outcome.files, sizes.size() - 1);
  EXPECT_EQ(read_file(root / "opened/65536"), read_file(root / "in/65536"));
  expect_no_temporary(root);
}

TEST_F(Job, FindsCbcPaddingThatIsNotLegal) {
  run_job(request(Direction::encrypt, "in", "sealed", Cipher::aes_128_cbc));
  fs::resize_file(root / "sealed/0", 40);
  fs::resize_file(root / "sealed/sub/1", 16);
  const JobReport outcome =
      run_job(request(Direction::decrypt, "sealed", "opened", Cipher::aes_128_cbc));
  EXPECT_EQ(outcome.failures.size(), 2u);
  EXPECT_FALSE(fs::exists(root / "opened/0"));
}

TEST_F(Job, SaysThatTheKeyIsWrongBeforeItWrites) {
  run(Direction::encrypt, "in", "sealed");
  Request wrong = request(Direction::decrypt, "sealed", "opened");
  wrong.key.bytes()[0] ^= std::byte{1};
  EXPECT_THROW(run_job(wrong), core::Error);
  EXPECT_FALSE(fs::exists(root / "opened"));
}

// With one IV, so that every run of the test has the same bytes.
TEST_F(Job, SaysThatTheKeyOfCbcIsWrongBeforeItWrites) {
  Request sealing = request(Direction::encrypt, "in", "sealed", Cipher::aes_256_cbc);
  sealing.fixed_iv = crypto::Block{};
  run_job(sealing);
  for (const std::string in : {"sealed", "sealed/65537"}) {
    for (const Direction direction : {Direction::decrypt, Direction::verify}) {
      Request wrong = request(direction, in, "opened", Cipher::aes_256_cbc);
      wrong.fixed_iv = crypto::Block{};
      wrong.key.bytes()[0] ^= std::byte{1};
      EXPECT_THROW(run_job(wrong), core::Error) << in;
      EXPECT_FALSE(fs::exists(root / "opened"));
    }
  }
}

TEST_F(Job, NamesTheFileAndOffsetOfTheOnlyPaddingThatIsNotLegal) {
  run_job(request(Direction::encrypt, "in/65537", "one", Cipher::aes_256_cbc));
  core::flip_bits(root / "one", 65552 - 1, 0x70);  // of the block before the last
  const std::string refused = refusal(request(Direction::verify, "one", "", Cipher::aes_256_cbc));
  EXPECT_TRUE(refused.starts_with("one: at byte 65552: ")) << refused;
}

TEST_F(Job, OpensCbcFilesIfSomeAreDamaged) {
  run_job(request(Direction::encrypt, "in", "sealed", Cipher::aes_128_cbc));
  for (const char* name : {"16", "17", "65536", "65537", "32767"}) {
    const fs::path file = root / "sealed" / name;
    core::flip_bits(file, fs::file_size(file) - 17, 0x70);
  }
  const JobReport outcome =
      run_job(request(Direction::decrypt, "sealed", "opened", Cipher::aes_128_cbc));
  EXPECT_EQ(outcome.failures.size(), 5u);
  EXPECT_EQ(outcome.files, sizes.size() - 5);
}

TEST_F(Job, ResumesByDoingOnlyWhatIsMissingOrChanged) {
  run(Direction::encrypt, "in", "sealed");
  const std::string kept = read_file(root / "sealed/65536");
  fs::remove(root / "sealed/sub/1");
  write_file(root / "in/16", "other content");
  core::leave_behind(root / "sealed/.tabane-0123456789abcdef.part", "of a killed run");
  Request again = request(Direction::encrypt, "in", "sealed");
  again.resume = true;
  const JobReport outcome = run_job(again);
  EXPECT_EQ(outcome.files, 2u);
  EXPECT_EQ(outcome.files_kept, sizes.size() - 2);
  EXPECT_EQ(outcome.leftovers_removed, 1u);
  EXPECT_EQ(read_file(root / "sealed/65536"), kept);
  expect_no_temporary(root);
  run(Direction::decrypt, "sealed", "opened");
  EXPECT_EQ(everything(root / "opened"), everything(root / "in"));
  again = request(Direction::decrypt, "sealed", "opened");
  again.resume = true;
  EXPECT_EQ(run_job(again).files_kept, sizes.size());
}

TEST_F(Job, RefusesToResumeWithAnotherKey) {
  run(Direction::encrypt, "in", "sealed");
  Request again = request(Direction::encrypt, "in", "sealed");
  again.resume = true;
  again.key.bytes()[5] ^= std::byte{1};
  EXPECT_THROW(run_job(again), core::Error);
}

TEST_F(Job, ResumesCbcByComparingTheFirstBlock) {
  run_job(request(Direction::encrypt, "in", "sealed", Cipher::aes_256_cbc));
  Request again = request(Direction::encrypt, "in", "sealed", Cipher::aes_256_cbc);
  again.resume = true;
  EXPECT_EQ(run_job(again).files_kept, sizes.size());
  again.key.bytes()[5] ^= std::byte{1};
  EXPECT_EQ(run_job(again).files_kept, 0u);
}

TEST_F(Job, ResumesAPassphraseWithTheSaltThatIsThere) {
  run_job(with_passphrase(Direction::encrypt, "in", "sealed"));
  const std::string salt = read_file(root / "sealed/65536").substr(16, crypto::kScryptSaltBytes);
  fs::remove(root / "sealed/16");
  Request again = with_passphrase(Direction::encrypt, "in", "sealed");
  again.resume = true;
  EXPECT_EQ(run_job(again).files, 1u);
  EXPECT_EQ(read_file(root / "sealed/16").substr(16, crypto::kScryptSaltBytes), salt);
  run_job(with_passphrase(Direction::decrypt, "sealed", "opened"));
  EXPECT_EQ(everything(root / "opened"), everything(root / "in"));
  EXPECT_THROW(run(Direction::decrypt, "sealed", "with_a_key"), core::Error);
}

// A sealed file with other parameters in its header: nothing authenticates them before the key is
// derived.
TEST_F(Job, RefusesAHeaderThatAsksForACostlyDerivation) {
  run_job(with_passphrase(Direction::encrypt, "in", "sealed"));
  std::string costly = read_file(root / "sealed/16");
  costly[kSlotsAt + 2 + 3] = 22;  // 4 GiB
  write_file(root / "sealed/16", costly);
  // A manifest says which key the files have, so none of them is asked.
  EXPECT_EQ(run_job(with_passphrase(Direction::verify, "sealed", "")).failures.size(), 1u);
  Request alone = with_passphrase(Direction::verify, "sealed", "");
  alone.without_manifest = true;
  const JobReport rest = run_job(alone);
  ASSERT_EQ(rest.failures.size(), 1u);
  EXPECT_EQ(rest.failures[0].path, "16");
  EXPECT_NE(rest.failures[0].what.find("at byte 100"), std::string::npos);
  EXPECT_NE(rest.failures[0].what.find("--allow-costly-passphrase"), std::string::npos);
  const std::string refused = refusal(with_passphrase(Direction::decrypt, "sealed/16", "opened"));
  EXPECT_TRUE(refused.starts_with("16: at byte 100: ")) << refused;
}

TEST_F(Job, NamesFileAndOffsetIfTheHeaderOfASingleFileDoesNotFit) {
  run(Direction::encrypt, "in/16", "one");
  core::flip_bits(root / "one", 40);
  for (const Direction direction : {Direction::decrypt, Direction::verify}) {
    const std::string refused = refusal(request(direction, "one", "opened"));
    EXPECT_TRUE(refused.starts_with("one: at byte 64: ")) << refused;
  }
}

TEST_F(Job, StopsWhileAKeyIsDerived) {
  run_job(with_passphrase(Direction::encrypt, "in", "sealed"));
  Hooks hooks;
  hooks.stop_requested = [] { return true; };
  for (const Request& r : {with_passphrase(Direction::encrypt, "in", "more"),
                           with_passphrase(Direction::verify, "sealed", "")}) {
    const JobReport outcome = run_job(r, hooks);
    EXPECT_FALSE(outcome.complete);
    EXPECT_EQ(outcome.files, 0u);
  }
}

TEST_F(Job, RefusesPlacesThatCannotBeMeant) {
  EXPECT_THROW(run(Direction::encrypt, "in", "in"), core::UsageError);
  EXPECT_THROW(run(Direction::encrypt, "in", "in/sub/out"), core::UsageError);
  EXPECT_THROW(run(Direction::encrypt, "in/sub", "in"), core::UsageError);
  EXPECT_THROW(run(Direction::encrypt, "in", "in/65536"), core::UsageError);
  EXPECT_THROW(run(Direction::encrypt, "in/16", "in/16"), core::UsageError);
  EXPECT_THROW(run(Direction::encrypt, "in/16", "in/65536"), core::UsageError);
  EXPECT_THROW(run(Direction::encrypt, "/dev/null", "out"), core::UsageError);
  EXPECT_THROW(run(Direction::encrypt, "nothing", "out"), core::SystemError);
  EXPECT_THROW(run(Direction::encrypt, "in", "missing/out"), core::UsageError);
  fs::create_directory(root / "full");
  write_file(root / "full/x", "x");
  EXPECT_THROW(run(Direction::encrypt, "in", "full"), core::UsageError);
  EXPECT_EQ(read_file(root / "full/x"), "x");
}

TEST_F(Job, RefusesWhateverHasTheNameOfItsOwnDirectory) {
  const fs::path own = root / "in/.tabane";
  for (const auto& make : std::vector<std::function<void()>>{
           [&] { fs::create_directory(own); }, [&] { write_file(own, "of somebody"); },
           [&] { fs::create_symlink("16", own); },
           [&] { ASSERT_EQ(mkfifo(own.c_str(), 0600), 0); }}) {
    make();
    EXPECT_THROW(run(Direction::encrypt, "in", "out"), core::UsageError);
    EXPECT_FALSE(fs::exists(root / "out"));
    Request left_out = request(Direction::encrypt, "in", "out");
    left_out.selection = Selection({".tabane"});
    EXPECT_NO_THROW(check_job(left_out));
    Request hiding = request(Direction::encrypt, "in", "out");
    hiding.hide_names = true;
    EXPECT_NO_THROW(check_job(hiding));
    fs::remove(own);
  }
}

TEST_F(Job, RefusesADirectoryWithoutSealedFilesAndLeavesNothing) {
  EXPECT_THROW(run(Direction::decrypt, "in", "out"), core::Error);
  EXPECT_FALSE(fs::exists(root / "out"));
  EXPECT_THROW(check_job(request(Direction::verify, "in", "")), core::Error);
  EXPECT_NO_THROW(check_job(request(Direction::encrypt, "in", "out")));
  EXPECT_FALSE(fs::exists(root / "out"));
}

TEST_F(Job, ReplacesOnlyWhenForced) {
  run(Direction::encrypt, "in", "sealed");
  const std::string before = read_file(root / "sealed/16");
  Request again = request(Direction::encrypt, "in", "sealed");
  again.force = true;
  EXPECT_EQ(run_job(again).files, sizes.size());
  EXPECT_NE(read_file(root / "sealed/16"), before);
}

TEST_F(Job, CountsWhatItLeavesOut) {
  fs::create_symlink("65536", root / "in/link");
  ASSERT_EQ(mkfifo((root / "in/fifo").c_str(), 0600), 0);
  Request r = request(Direction::encrypt, "in", "sealed");
  r.selection = Selection({"sub/1", "1?"});
  const JobReport outcome = run_job(r);
  EXPECT_EQ(outcome.links, 1u);
  EXPECT_EQ(outcome.symlinks, 0u);
  EXPECT_EQ(outcome.special, 1u);
  EXPECT_EQ(outcome.excluded, 4u);
  EXPECT_EQ(outcome.files, sizes.size() - 4);
  EXPECT_FALSE(fs::exists(fs::symlink_status(root / "sealed/link")));
}

TEST_F(Job, PlansWithoutWriting) {
  Request r = request(Direction::encrypt, "in", "sealed");
  r.dry_run = true;
  const JobReport outcome = run_job(r);
  EXPECT_EQ(outcome.files, 0u);
  EXPECT_EQ(outcome.files_total, sizes.size());
  EXPECT_FALSE(fs::exists(root / "sealed"));
}

TEST_F(Job, RefusesCiphersThatDoNotGoWithTheRest) {
  Request r = request(Direction::encrypt, "in", "sealed", Cipher::aes_128_cbc);
  r.passphrase = crypto::Passphrase::of(from_text("x"));
  EXPECT_THROW(run_job(r), core::UsageError);
  r = request(Direction::encrypt, "in", "sealed");
  r.fixed_iv = crypto::Block{};
  EXPECT_THROW(run_job(r), core::UsageError);
}

TEST_F(Job, StopsWhenAskedAndLeavesNoHalfFile) {
  // Long enough that the first look at the hooks, after a tenth of a second, comes before the end.
  fs::create_directory(root / "big");
  write_file(root / "big/a", "");
  fs::resize_file(root / "big/a", std::uintmax_t{3} << 30);
  Request r = request(Direction::encrypt, "big", "sealed");
  r.measure_copy = false;
  r.threads = 2;
  Hooks hooks;
  hooks.stop_requested = [] { return true; };
  const JobReport outcome = run_job(r, hooks);
  EXPECT_FALSE(outcome.complete);
  EXPECT_TRUE(outcome.failures.empty());
  EXPECT_FALSE(fs::exists(root / "sealed/a"));
  expect_no_temporary(root);
}

TEST_F(Job, KeepsTwoJobsOutOfOneDirectory) {
  bool second_refused = false;
  Hooks hooks;
  hooks.progress = [&](const Progress&) {
    Request other = request(Direction::encrypt, "in/sub", "sealed");
    other.force = true;
    try {
      run_job(other);
    } catch (const core::UsageError&) {
      second_refused = true;
    }
  };
  run_job(request(Direction::encrypt, "in", "sealed"), hooks);
  EXPECT_TRUE(second_refused);
}

}  // namespace
}  // namespace tabane::encrypt
