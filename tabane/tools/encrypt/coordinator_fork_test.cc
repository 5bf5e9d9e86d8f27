// Jobs that several ranks do: the tree that comes back is the one that went in, whoever did what,
// and whoever was lost on the way.
#include "tabane/tools/encrypt/coordinator.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tabane/comm/launch.h"
#include "tabane/core/file.h"
#include "tabane/core/files_test.h"
#include "tabane/team/fork.h"
#include "tabane/tools/encrypt/tree_job_test.h"

namespace tabane::encrypt {
namespace {

namespace fs = std::filesystem;
using core::read_file;
using core::write_file;

// What rank 0 tells the test, which may be another process.
struct Told {
  bool complete;
  int ranks;
  std::uint64_t files, bytes, files_kept, files_unlisted, failures, remarks, temporaries;
  char first_failure[200], first_remark[300];
};

// The first path at which two trees differ; empty: none.
std::string difference(const Entries& a, const Entries& b) {
  for (const auto& [path, entry] : a) {
    const auto found = b.find(path);
    if (found == b.end()) return path + " is missing";
    if (found->second != entry) {
      return path + ": " + entry.substr(0, 30) + " and " + found->second.substr(0, 30);
    }
  }
  return a.size() == b.size() ? "" : "there is more than there was";
}

void put(const std::string& text, std::span<char> into) {
  std::copy_n(text.begin(), std::min(text.size(), into.size() - 1), into.begin());
}

class SpreadJob : public testing::Test {
 protected:
  SpreadJob() {
    ::umask(022);
    const std::string text = pattern(kLarge, 1);
    for (int d = 0; d < 4; ++d) {
      const fs::path directory = in / std::to_string(d);
      fs::create_directories(directory / "empty");
      for (std::size_t i = 0; i < 100; ++i) {
        write_file(directory / std::to_string(i), text.substr(i, 13 * i));
      }
      write_file(directory / "large", text.substr(static_cast<std::size_t>(d)));
      write_file(directory / "small", text.substr(0, 1'500'000));
    }
  }

  Request request(Direction direction, const fs::path& from, const fs::path& to,
                  Cipher cipher = Cipher::aes_256_gcm) const {
    Request r = request_of(direction, from, to, cipher);
    r.preserve = true;
    return r;
  }

  using Make = std::function<Request()>;
  // before: called on each rank. first, others: hooks of rank 0, of others.
  Told run(
      const Make& make, int ranks = 3, const std::function<void(int)>& before = [](int) {},
      const Hooks& first = {}, const Hooks& others = {}) const {
    const team::SharedBlock block(sizeof(Told), "what rank 0 tells");
    auto* const told = new (block.data()) Told();
    try {
      comm::launch({.ranks = ranks, .transport = comm::TransportKind::shm}, [&](comm::Comm& world) {
        before(world.rank());
        if (world.rank() > 0) {
          Request bare = make();  // keys come from rank 0
          bare.key = MasterKey();
          bare.passphrase = crypto::Passphrase();
          bare.has_key = false;
          return serve_rank_0(std::move(bare), others, world);
        }
        Coordinator crew(&world);
        const JobReport outcome = run_job(make(), first, crew);
        *told = {outcome.complete,        outcome.ranks,          outcome.files,
                 outcome.bytes,           outcome.files_kept,     outcome.files_unlisted,
                 outcome.failures.size(), outcome.remarks.size(), outcome.temporaries.size()};
        if (told->failures > 0)
          put(outcome.failures[0].path + ": " + outcome.failures[0].what, told->first_failure);
        if (told->remarks > 0) put(outcome.remarks[0], told->first_remark);
      });
    } catch (const core::LostError&) {
    }
    return *told;
  }

  static constexpr std::size_t kLarge = 9'000'001;
  const core::ScratchFolder folder{"tabane-test"};
  const fs::path root = folder.path(), in = root / "in", sealed = root / "sealed",
                 again = root / "again";
};

TEST(DividePus, GivesEachPuToOneOfTheRanksThatShareIt) {
  EXPECT_EQ(divide_pus({{"a", {0, 1, 2, 3}, {}}, {"a", {0, 1, 2, 3}, {}}}),
            (std::vector<unsigned>{2, 2}));
  EXPECT_EQ(divide_pus({{"a", {0, 1, 2}, {}}, {"b", {0, 1, 2}, {}}}),
            (std::vector<unsigned>{3, 3}));  // of two machines
  EXPECT_EQ(divide_pus({{"a", {0}, {}}, {"a", {1, 2, 3}, {}}}), (std::vector<unsigned>{1, 3}));
  EXPECT_EQ(divide_pus({{"a", {0}, {}}, {"a", {0}, {}}, {"a", {0}, {}}}),
            (std::vector<unsigned>{1, 1, 1}));  // more ranks than PUs
}

// Keys that only rank 0 has open on all; what was there is kept.
TEST_F(SpreadJob, ResumesWithAPassphrase) {
  const auto make = [&](Direction direction, const fs::path& from, const fs::path& to) {
    Request r = request(direction, from, to);
    const std::string words = "correct horse battery";
    r.passphrase = crypto::Passphrase::of(std::as_bytes(std::span(words)));
    r.resume = direction == Direction::encrypt;
    return r;
  };
  const auto original = everything(in);
  run([&] { return make(Direction::encrypt, in, sealed); });
  fs::remove(sealed / "2/large");
  fs::remove(sealed / "3/77");
  const Told rest = run([&] { return make(Direction::encrypt, in, sealed); });
  EXPECT_EQ(rest.failures, 0u) << rest.first_failure;
  EXPECT_EQ(rest.files, 2u);
  EXPECT_EQ(rest.files_kept, 406u);
  const Told back = run([&] { return make(Direction::decrypt, sealed, again); });
  EXPECT_EQ(back.failures, 0u) << back.first_failure;
  EXPECT_EQ(difference(original, everything(again)), "");
}

// Whole files of the tree with the right sizes and times, whichever rank looks at them.
TEST_F(SpreadJob, KeepsNoFileThatWasPutBack) {
  const auto resuming = [&] {
    Request r = request(Direction::encrypt, in, sealed);
    r.resume = true;
    return r;
  };
  run_job(resuming());
  fs::copy(sealed, root / "older", fs::copy_options::recursive);
  std::vector<fs::path> changed;
  for (const int i : {1, 20, 40, 60, 80, 99}) {
    for (const char* d : {"0", "1", "2", "3"}) changed.push_back(fs::path(d) / std::to_string(i));
  }
  changed.emplace_back("3/large");
  for (const fs::path& path : changed) core::flip_bits(in / path, 0);
  EXPECT_EQ(run_job(resuming()).files, changed.size());
  for (const fs::path& path : changed) {
    fs::copy_file(root / "older" / path, sealed / path, fs::copy_options::overwrite_existing);
    fs::last_write_time(sealed / path, fs::last_write_time(in / path));
  }
  const Told rest = run(resuming);
  EXPECT_EQ(rest.failures, 0u) << rest.first_failure;
  EXPECT_EQ(rest.remarks, 0u) << rest.first_remark;
  EXPECT_EQ(rest.files, changed.size());
  EXPECT_EQ(rest.files_unlisted, changed.size());
  const JobReport back = run_job(request(Direction::decrypt, sealed, again));
  EXPECT_TRUE(back.failures.empty());
  EXPECT_EQ(difference(everything(in), everything(again)), "");
}

// A rank for which OUT is another directory takes no part, which is told.
TEST_F(SpreadJob, GoesOnWithoutARankThatSeesAnotherDirectory) {
  const auto original = everything(in);
  fs::create_directories(root / "elsewhere");
  const Told there =
      run([&] { return request(Direction::encrypt, in, sealed); }, 3,
          [&](int rank) {
            if (rank != 2) return;
            const std::string other = root / "elsewhere";
            if (unshare(CLONE_NEWNS) != 0) return;
            if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return;
            static_cast<void>(mount(other.c_str(), root.c_str(), nullptr, MS_BIND, nullptr));
          });
  if (there.remarks == 0 && geteuid() != 0) GTEST_SKIP() << "only root may mount";
  EXPECT_TRUE(there.complete);
  EXPECT_EQ(there.remarks, 1u);
  EXPECT_NE(std::string(there.first_remark).find("rank 2 on "), std::string::npos)
      << there.first_remark;
  EXPECT_EQ(there.failures, 0u) << there.first_failure;
  EXPECT_EQ(there.files, 408u);
  const JobReport back = run_job(request(Direction::decrypt, sealed, again));
  EXPECT_TRUE(back.failures.empty());
  EXPECT_EQ(difference(original, everything(again)), "");
}

TEST_F(SpreadJob, GivesBackTheTree) {
  const auto original = everything(in);
  for (const Cipher cipher : {Cipher::aes_256_gcm, Cipher::aes_256_cbc}) {
    const Told there = run([&] { return request(Direction::encrypt, in, sealed, cipher); });
    EXPECT_TRUE(there.complete);
    EXPECT_EQ(there.ranks, 3);
    EXPECT_EQ(there.files, 408u);
    EXPECT_EQ(there.bytes, 4 * (kLarge + 1'500'000 + 13 * 99 * 50) - 6);
    EXPECT_EQ(there.failures, 0u) << there.first_failure;
    EXPECT_EQ(there.remarks, 0u) << there.first_remark;
    // One process opens what three have sealed, and the other way round.
    const JobReport checked = run_job(request(Direction::verify, sealed, "", cipher));
    EXPECT_TRUE(checked.failures.empty()) << checked.failures[0].path << checked.failures[0].what;
    EXPECT_EQ(checked.files, 408u);
    const Told back = run([&] { return request(Direction::decrypt, sealed, again, cipher); });
    EXPECT_EQ(back.failures, 0u) << back.first_failure;
    EXPECT_EQ(back.files, 408u);
    EXPECT_EQ(difference(original, everything(again)), "");
    fs::remove_all(sealed);
    fs::remove_all(again);
  }
}

// Whichever rank meets them, and in whichever piece.
TEST_F(SpreadJob, NamesLeftoversWhereNoManifestTells) {
  const char* const own = ".tabane-0123456789abcdef.part";
  const char* const half = ".tabane-00000000000000aa.part";
  for (int d = 0; d < 4; ++d) {
    const fs::path directory = in / std::to_string(d);
    fs::copy_file(directory / "large", directory / own);
  }
  run([&] { return request(Direction::encrypt, in, sealed); });
  for (int d = 0; d < 4; ++d) {
    const fs::path directory = sealed / std::to_string(d);
    fs::copy_file(directory / "large", directory / half);
    fs::resize_file(directory / half, kLarge - 1'000'000);
    fs::permissions(directory / half, fs::perms::sticky_bit, fs::perm_options::add);
  }
  const Told back = run([&] {
    Request alone = request(Direction::decrypt, sealed, again);
    alone.without_manifest = true;
    return alone;
  });
  EXPECT_EQ(back.failures, 0u) << back.first_failure;
  EXPECT_EQ(back.temporaries, 4u);
  EXPECT_EQ(back.files, 412u);
  for (int d = 0; d < 4; ++d) {
    const fs::path directory = again / std::to_string(d);
    EXPECT_EQ(read_file(directory / own), read_file(in / std::to_string(d) / "large"));
    EXPECT_FALSE(fs::exists(directory / half));
  }
}

TEST_F(SpreadJob, DoesThePartOfARankThatIsKilled) {
  const auto original = everything(in);
  bool lost = false;
  for (int attempt = 0; attempt < 30 && !lost; ++attempt) {
    fs::remove_all(sealed);
    fs::remove_all(again);
    // Dies when it writes into a large file.
    const Told there = run([&] { return request(Direction::encrypt, in, sealed); }, 3,
                           [](int rank) {
                             const rlimit small{1'000'000, 1'000'000};
                             if (rank == 1) setrlimit(RLIMIT_FSIZE, &small);
                           });
    lost = there.remarks > 0;
    ASSERT_TRUE(there.complete);
    EXPECT_EQ(there.failures, 0u) << there.first_failure;
    EXPECT_EQ(there.files, 408u);
    expect_no_temporary(sealed);
    const JobReport back = run_job(request(Direction::decrypt, sealed, again));
    EXPECT_TRUE(back.failures.empty()) << back.failures[0].path << back.failures[0].what;
    EXPECT_EQ(difference(original, everything(again)), "");
    if (lost) {
      EXPECT_NE(std::string(there.first_remark).find("process 1"), std::string::npos)
          << there.first_remark;
    }
  }
  EXPECT_TRUE(lost);
}

// How far a rank is that falls silent, for all ranks.
struct Silence {
  std::atomic<bool> begun, over;
};
Silence* silence;  // for a handler of signals

void wait_for_end_of_silence() {
  while (!silence->over) ::usleep(1000);
}

// Its first write fails once, which the job tries again; its signal waits in between.
void fall_silent_in_first_write() {
  ::signal(SIGXFSZ, [](int) {
    silence->begun = true;
    wait_for_end_of_silence();
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  });
  rlimit none{};
  ::getrlimit(RLIMIT_FSIZE, &none);
  none.rlim_cur = 0;
  ::setrlimit(RLIMIT_FSIZE, &none);
}

// Of a file below one of the directories; rank 0 has another one in the root.
bool has_temporary(const fs::path& tree) {
  return std::ranges::any_of(fs::recursive_directory_iterator(tree), [&](const auto& entry) {
    return entry.path().extension() == ".part" && entry.path().parent_path() != tree;
  });
}

// Others have done its part when it continues.
TEST_F(SpreadJob, ReplacesNothingAfterItWasSilent) {
  for (int d = 0; d < 4; ++d) fs::remove(in / std::to_string(d) / "large");  // files in one piece
  run_job(request(Direction::encrypt, in, sealed));
  ::setenv("TABANE_SILENCE_LIMIT", "1", 1);
  const team::SharedBlock block(sizeof(Silence), "how far a silent rank is");
  bool was_silent = false;
  for (int attempt = 0; attempt < 30 && !was_silent; ++attempt) {
    silence = new (block.data()) Silence();
    const auto make = [&] {
      Request forced = request(Direction::encrypt, in, sealed);
      forced.force = true;
      return forced;
    };
    const auto when_all_is_done = [&](const Progress& now) {
      if (now.files < now.files_total || !silence->begun) return;
      silence->over = true;
      while (has_temporary(sealed)) ::usleep(1000);
    };
    const auto as_silent = [] {
      if (silence->begun) wait_for_end_of_silence();
      return false;
    };
    const Told there = run(make, 2,
                           [](int rank) {
                             if (rank == 1) fall_silent_in_first_write();
                           },
                           {.progress = when_all_is_done}, {.stop_requested = as_silent});
    was_silent = silence->begun;
    EXPECT_TRUE(there.complete);
    EXPECT_EQ(there.failures, 0u) << there.first_failure;
    EXPECT_TRUE(there.remarks > 0 || !was_silent);
    const JobReport checked = run_job(request(Direction::verify, sealed, ""));
    EXPECT_TRUE(checked.failures.empty()) << checked.failures[0].path << checked.failures[0].what;
  }
  ::unsetenv("TABANE_SILENCE_LIMIT");
  EXPECT_TRUE(was_silent);
}

}  // namespace
}  // namespace tabane::encrypt
