// Trees whose names and structure stand in their manifests alone.
#include "tabane/tools/encrypt/hidden_names.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>
#include <thread>

#include "tabane/core/file.h"
#include "tabane/core/files_test.h"
#include "tabane/tools/encrypt/key_proof.h"
#include "tabane/tools/encrypt/manifest_file.h"
#include "tabane/tools/encrypt/tree.h"
#include "tabane/tools/encrypt/tree_home.h"
#include "tabane/tools/encrypt/tree_job_test.h"

namespace tabane::encrypt {
namespace {

namespace fs = std::filesystem;
using core::read_file;
using core::write_file;

const std::string kTooMuch(300, 'z');

class HiddenNames : public SealsATree {
 protected:
  HiddenNames() {
    fs::create_directories(in / "secret-d/e");
    fs::create_directories(in / "secret-d/empty");
    fs::create_directories(in / ".tabane");
    std::size_t size = 0;
    for (const char* name : {"secret-a", "secret-b", "secret-d/c", "secret-d/e/f", "secret-e",
                             ".tabane/mine", "secret-d/a"}) {
      write_file(in / name, std::string(++size, 'x'));  // each another size
    }
    fs::create_symlink("secret-a", in / "secret-d/link");
  }

  Request hiding() const {
    Request r = request(Direction::encrypt, in, sealed);
    r.hide_names = true;
    return r;
  }
  // Makes the names of some entries longer than any file system takes, as another system may.
  void lengthen(const std::set<std::string>& paths) const {
    const core::Descriptor there = core::open_directory(sealed);
    const Request r = request(Direction::decrypt, sealed, "");
    KeyRing keys({.key = &r.key});
    const auto seal =
        seal_of_files(scan(there.get(), {}, Temporaries::take, true), there.get(), keys);
    const auto manifest = TreeManifest::open(there.get(), keys);
    const auto home = std::make_shared<core::Descriptor>(open_home(there.get(), false));
    ManifestFileWriter writer(home, fresh_seal(*seal, Content::manifest), manifest->head());
    manifest->for_each([&](ManifestEntry entry) {
      for (const std::string& path : paths) {
        if (entry.path == path || entry.path.starts_with(path + "/")) {
          entry.path.insert(path.size(), kTooMuch);
        }
      }
      writer.add(entry);
    });
    writer.commit(false);
  }
  // Paths that could not be restored because of a name that is too long.
  Lines too_long() const {
    fs::remove_all(root / "opened");
    Lines paths;
    for (const Failure& failure :
         run_job(request(Direction::decrypt, sealed, root / "opened")).failures) {
      EXPECT_NE(failure.what.find("File name too long"), std::string::npos) << failure.what;
      std::string path = failure.path;
      if (const auto at = path.find(kTooMuch); at != path.npos) path.erase(at, kTooMuch.size());
      paths.push_back(path);
    }
    std::ranges::sort(paths);
    return paths;
  }

  // Where a file lies, found by its size.
  fs::path stored(const std::string& name) const {
    const auto bytes = fs::file_size(in / name) + 96 + 4 + 69 + 16;
    for (const auto& item : fs::recursive_directory_iterator(sealed)) {
      const std::string path = item.path().lexically_relative(sealed);
      if (item.is_regular_file() && path[0] != '.' && item.file_size() == bytes) {
        return item.path();
      }
    }
    return {};
  }
};

TEST_F(HiddenNames, ThatTheTargetCannotHoldFailAlone) {
  const auto original = everything(in);
  told(hiding());
  lengthen({"secret-d/empty", "secret-d/link", "secret-e"});
  EXPECT_EQ(too_long(), (Lines{"secret-d/empty", "secret-d/link", "secret-e"}));
  auto expected = original;
  for (const char* path : {"secret-d/empty", "secret-d/link", "secret-e"}) expected.erase(path);
  EXPECT_EQ(everything(root / "opened"), expected);
  EXPECT_EQ(verified(), Lines{});
}

TEST_F(HiddenNames, OfDirectoriesThatTheTargetCannotHoldFailWithWhatLiesInThem) {
  const auto original = everything(in);
  told(hiding());
  lengthen({"secret-d"});
  EXPECT_EQ(too_long(), (Lines{"secret-d", "secret-d/a", "secret-d/c", "secret-d/e", "secret-d/e/f",
                               "secret-d/empty", "secret-d/link"}));
  auto expected = original;
  std::erase_if(expected, [](const auto& entry) { return entry.first.starts_with("secret-d"); });
  EXPECT_EQ(everything(root / "opened"), expected);
}

TEST_F(HiddenNames, ComeBackAndShowNothing) {
  const auto original = everything(in);
  EXPECT_EQ(told(hiding()), Lines{});
  for (const auto& item : fs::recursive_directory_iterator(sealed)) {
    EXPECT_EQ(item.path().string().find("secret"), std::string::npos);
    EXPECT_FALSE(item.is_symlink());
  }
  EXPECT_EQ(verified(), Lines{});
  EXPECT_EQ(verified_quickly(), Lines{});
  EXPECT_EQ(decrypted(), Lines{});
  EXPECT_EQ(everything(root / "opened"), original);
}

// Computed by Python's hmac.
TEST_F(HiddenNames, AreThoseOfTheSpecification) {
  TreeKey key;
  std::ranges::copy(counting(kTreeKeyBytes), key.bytes().begin());
  TreeId tree;
  std::ranges::copy(counting(kTreeIdBytes), tree.begin());
  EXPECT_EQ(text_of_stored(stored_name_of(key, tree, "a/b")), "ca/d8acb966127e30fe3def783d1fba81");
}

// While this lives, the system starts one more thread, and no second one.
class OneThreadMore {
 public:
  OneThreadMore() {
    pthread_attr_t large;
    pthread_attr_init(&large);
    pthread_getattr_default_np(&stack_);
    pthread_attr_setstacksize(&large, kStackBytes);
    pthread_setattr_default_np(&large);
    getrlimit(RLIMIT_AS, &memory_);
    const rlim_t taken = std::stoull(read_file("/proc/self/statm")) * sysconf(_SC_PAGESIZE);
    const rlimit limit{taken + kStackBytes + kStackBytes / 2, memory_.rlim_max};
    setrlimit(RLIMIT_AS, &limit);
  }
  ~OneThreadMore() {
    setrlimit(RLIMIT_AS, &memory_);
    pthread_setattr_default_np(&stack_);
  }

 private:
  static constexpr std::size_t kStackBytes = 1 << 30;
  pthread_attr_t stack_;
  rlimit memory_;
};

TEST_F(HiddenNames, AreAllThereWhereTheSystemStartsFewerThreads) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take more memory than the limit";
#endif
  Tree plain;
  for (char a = 'a'; a <= 'z'; ++a) {
    for (char b = 0; b < 100; ++b) {
      const std::string name{a, static_cast<char>('!' + b), '\0'};
      plain.files.push_back({plain.names.size(), 0, 0});
      plain.names.append(name.data(), name.size());
    }
  }
  plain.directories.push_back({0, plain.names.size()});
  plain.names.append("", 1);
  const TreeSeal seal{};
  StoredNames alone, few;
  complete(alone, plain, seal, 1);
  {
    const OneThreadMore limit;
    std::thread first([] {});
    EXPECT_THROW(std::thread([] {}).join(), std::system_error);
    first.join();
    complete(few, plain, seal, 2);
  }
  EXPECT_EQ(few, alone);
  EXPECT_EQ(std::ranges::count(few, StoredName{}), 0);
}

TEST_F(HiddenNames, AreTheSameForAPathAndAKeyAlone) {
  TreeKey key, other;
  other.bytes()[0] = std::byte{1};
  const TreeId tree{};
  const StoredName name = stored_name_of(key, tree, "a/b");
  EXPECT_EQ(stored_name_of(key, tree, "a/b"), name);
  EXPECT_NE(stored_name_of(key, tree, "a/c"), name);
  EXPECT_NE(stored_name_of(other, tree, "a/b"), name);
  EXPECT_NE(stored_name_of(key, TreeId{std::byte{1}}, "a/b"), name);
  const std::string text = text_of_stored(name);
  EXPECT_EQ(text.size(), 33u);
  EXPECT_EQ(text[2], '/');
}

TEST_F(HiddenNames, AreToldOfWhatWasDoneToATree) {
  const auto anew = [&] {
    fs::remove_all(sealed);
    EXPECT_EQ(told(hiding()), Lines{});
  };
  anew();
  fs::remove(stored("secret-d/e/f"));
  EXPECT_EQ(verified(), Lines{"secret-d/e/f: missing"});
  EXPECT_EQ(decrypted(), Lines{"secret-d/e/f: missing"});
  anew();
  const fs::path a = stored("secret-a"), f = stored("secret-d/e/f");
  const std::string of_a = read_file(a);
  write_file(a, read_file(f));
  write_file(f, of_a);
  EXPECT_EQ(verified_quickly(), (Lines{"secret-a: exchanged", "secret-d/e/f: exchanged"}));
  EXPECT_EQ(decrypted(), (Lines{"secret-a: exchanged", "secret-d/e/f: exchanged"}));
  anew();
  fs::rename(stored("secret-a"), sealed / "zz");
  EXPECT_EQ(verified(), Lines{"zz: renamed"});
  anew();
  fs::create_directories(stored("secret-a").parent_path() / "0/1");
  write_file(stored("secret-a").parent_path() / "0/1/x", "of a stranger");
  ASSERT_EQ(verified().size(), 3u);
  EXPECT_TRUE(verified()[0].ends_with("/0: added"));
  EXPECT_TRUE(verified()[1].ends_with("/0/1: added"));
  EXPECT_TRUE(verified()[2].ends_with("/0/1/x: added"));
  anew();
  fs::create_directory(sealed / "d");
  fs::create_symlink("d", sealed / "link");
  ASSERT_EQ(mkfifo((sealed / "pipe").c_str(), 0600), 0);
  const Lines added = {"d: added", "link: added", "pipe: added"};
  EXPECT_EQ(verified(), added);
  EXPECT_EQ(verified_quickly(), added);
  EXPECT_EQ(decrypted(), added);
  anew();
  const fs::path c = stored("secret-d/c");
  core::flip_bits(c, fs::file_size(c) - 1);
  EXPECT_EQ(verified(), Lines{"secret-d/c: damaged"});
  EXPECT_EQ(verified_quickly(), Lines{"secret-d/c: changed"});
}

TEST_F(HiddenNames, AreHeldAgainstExcludes) {
  EXPECT_EQ(told(hiding()), Lines{});
  Request some = request(Direction::decrypt, sealed, root / "opened");
  some.selection = Selection({"secret-d/e", "?b", "a*"});
  EXPECT_EQ(told(some), Lines{});
  EXPECT_TRUE(fs::exists(root / "opened/secret-d/c"));
  EXPECT_FALSE(fs::exists(root / "opened/secret-d/e"));
  EXPECT_FALSE(fs::exists(root / "opened/secret-d/a"));
  EXPECT_TRUE(fs::exists(root / "opened/secret-b"));
}

TEST_F(HiddenNames, StayHiddenWhenATreeIsBroughtUpToDate) {
  EXPECT_EQ(told(hiding()), Lines{});
  const Request again = updating();
  fs::remove_all(in / ".tabane");  // which belongs to tabane where names are not hidden
  EXPECT_EQ(run_job(again).files_kept, 6u);
  write_file(in / "secret-new", "a file of another size");
  write_file(in / "secret-b", "another content of it");
  fs::remove(in / "secret-a");
  const JobReport outcome = run_job(again);
  EXPECT_EQ(outcome.files, 2u);
  EXPECT_EQ(outcome.removed, 1u);
  EXPECT_FALSE(fs::exists(sealed / "secret-new"));
  EXPECT_EQ(decrypted(), Lines{});
  EXPECT_EQ(everything(root / "opened"), everything(in));
}

TEST_F(HiddenNames, LeaveNothingOfAnInterruptedUpdate) {
  EXPECT_EQ(told(hiding()), Lines{});
  fs::remove_all(in / ".tabane");
  const Request again = updating();
  write_file(sealed / ".tabane/changing", "");
  const fs::path strangers = stored("secret-a").parent_path() / "0/x";
  fs::create_directory(strangers.parent_path());
  write_file(strangers, "of a stranger");
  fs::remove(in / "secret-a");
  const JobReport outcome = run_job(again);
  EXPECT_EQ(outcome.removed, 2u);  // secret-a and .tabane/mine
  EXPECT_EQ(read_file(strangers), "of a stranger");
  ASSERT_EQ(verified().size(), 2u);
  EXPECT_TRUE(verified()[0].ends_with("/0: added"));
  EXPECT_TRUE(verified()[1].ends_with("/0/x: added"));
}

TEST_F(HiddenNames, AreHiddenByAJobThatGoesOnAfterAKill) {
  EXPECT_EQ(told(hiding()), Lines{});
  fs::remove(sealed / ".tabane/manifest");
  fs::remove(stored("secret-d/c"));
  fs::remove_all(in / ".tabane");
  core::leave_behind(stored("secret-e").parent_path() / ".tabane-0123456789abcdef.part", "half");
  const JobReport outcome = run_job(resuming());
  EXPECT_EQ(outcome.files, 1u);
  EXPECT_EQ(outcome.leftovers_removed, 1u);
  EXPECT_FALSE(fs::exists(sealed / "secret-d"));
}

// No name of IN leads to a file in OUT, so the manifest tells the key.
TEST_F(HiddenNames, GetTheirKeysBackFromTheManifest) {
  fs::remove_all(in / ".tabane");
  told(hiding());
  fs::remove(sealed / ".tabane/keys");
  EXPECT_TRUE(run_job(resuming()).failures.empty());
  EXPECT_TRUE(told(request(Direction::verify, sealed, "")).empty());
  // Keys and manifest are gone: those of a new tree would fit nothing that is there.
  fs::remove(sealed / ".tabane/keys");
  fs::remove(sealed / ".tabane/manifest");
  EXPECT_NE(refusal(resuming()).find("nothing was changed"), std::string::npos);
  EXPECT_FALSE(fs::exists(sealed / ".tabane/keys"));
}

TEST_F(HiddenNames, LeaveNothingOfKilledJobs) {
  const char* const part = ".tabane-0123456789abcdef.part";
  EXPECT_EQ(told(hiding()), Lines{});
  Request back = request(Direction::decrypt, sealed, root / "opened");
  EXPECT_EQ(told(back), Lines{});
  const Lines places = {"", "secret-d", "secret-d/e"};
  for (const std::string& place : places)
    core::leave_behind(root / "opened" / place / part, "half");
  back.resume = true;
  EXPECT_EQ(run_job(back).leftovers_removed, 3u);
  EXPECT_EQ(everything(root / "opened"), everything(in));

  fs::remove_all(in / ".tabane");
  const auto before = everything(sealed).size();
  for (const fs::path& place : {sealed, sealed / ".tabane", stored("secret-b").parent_path()}) {
    core::leave_behind(place / part, "half");
  }
  write_file(sealed / ".tabane/changing", "");  // an update that ends looks for none
  EXPECT_EQ(run_job(updating()).leftovers_removed, 3u);
  EXPECT_EQ(everything(sealed).size(), before - 1);  // of .tabane/mine
}

// The mark beside the manifest tells a job after a kill what to do, and can be forged.
TEST_F(HiddenNames, AreDecidedOnByTheManifest) {
  fs::remove_all(in / ".tabane");
  const fs::path mark = sealed / ".tabane/hidden-names";
  for (const bool hides : {true, false}) {
    fs::remove_all(sealed);
    Request first = request(Direction::encrypt, in, sealed);
    first.hide_names = hides;
    EXPECT_EQ(told(first), Lines{});
    if (hides) {
      fs::remove(mark);
    } else {
      write_file(mark, "");
    }
    const Lines found = {hides ? ".tabane/hidden-names: missing" : ".tabane/hidden-names: added"};
    EXPECT_EQ(verified(), found);
    EXPECT_EQ(verified_quickly(), found);
    EXPECT_EQ(decrypted(), found);
    EXPECT_EQ(everything(root / "opened"), everything(in));
    const auto before = everything(sealed);
    for (const bool updates : {true, false}) {
      for (const bool asks : {true, false}) {
        Request again = updates ? updating() : resuming();
        again.hide_names = asks;
        const Lines refused = told(again);
        ASSERT_EQ(refused.size(), 1u) << hides << updates << asks;
        EXPECT_NE(refused[0].find("OUT: .tabane/hidden-names was"), std::string::npos);
        auto after = everything(sealed);
        for (const char* own : {".tabane", ".tabane/keys"}) after[own] = before.at(own);
        EXPECT_EQ(after, before);
      }
    }
  }
}

TEST_F(HiddenNames, AreNotTakenForATreeThatShowsThem) {
  fs::remove_all(in / ".tabane");
  EXPECT_EQ(told(request(Direction::encrypt, in, sealed)), Lines{});
  Request again = hiding();
  again.resume = true;
  ASSERT_EQ(told(again).size(), 1u);
  EXPECT_NE(told(again)[0].find("--force"), std::string::npos);
}

TEST_F(HiddenNames, OpenWithoutTheManifestUnderTheNamesThatTheyHave) {
  EXPECT_EQ(told(hiding()), Lines{});
  const fs::path place = stored("secret-a").lexically_relative(sealed);
  fs::remove(sealed / ".tabane/manifest");
  Request alone = request(Direction::decrypt, sealed, root / "opened");
  alone.without_manifest = true;
  EXPECT_EQ(told(alone), Lines{});
  EXPECT_EQ(read_file(root / "opened" / place), read_file(in / "secret-a"));
}

}  // namespace
}  // namespace tabane::encrypt
