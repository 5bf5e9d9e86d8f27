// What is restored of a sealed tree by names, and what is listed of it.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "tabane/core/file.h"
#include "tabane/core/files_test.h"
#include "tabane/tools/encrypt/input_manifest.h"
#include "tabane/tools/encrypt/key_proof.h"
#include "tabane/tools/encrypt/manifest_file.h"
#include "tabane/tools/encrypt/run_keys.h"
#include "tabane/tools/encrypt/tree.h"
#include "tabane/tools/encrypt/tree_job_test.h"

namespace tabane::encrypt {
namespace {

namespace fs = std::filesystem;
using core::read_file;
using core::write_file;

class NamedFiles : public SealsATree {
 protected:
  NamedFiles() {
    fs::create_directories(in / "a/b/c");
    fs::create_directories(in / "e");
    for (const char* path : {"x", "a/x", "a/b/x", "a/b/y", "a/b/c/x", "e/z"}) {
      write_file(in / path, std::string("of ") + path);
    }
    write_file(in / "a/b/long", std::string(300'000, 'x'));
    fs::create_symlink("../x", in / "a/to-x");
    fs::permissions(in / "a/b", fs::perms{0750});
    fs::permissions(in / "a", fs::perms{0711});
  }

  void seal(bool hides = false) const {
    fs::remove_all(sealed);
    Request r = request(Direction::encrypt, in, sealed);
    r.hide_names = hides;
    EXPECT_EQ(told(r), Lines{});
  }
  Request restoring(const Lines& paths) const {
    Request r = request(Direction::decrypt, sealed, opened);
    r.selection = Selection({}, paths);
    return r;
  }
  Lines restored(const Lines& paths) const {
    fs::remove_all(opened);
    return told(restoring(paths));
  }
  // What of IN the paths name, with the directories that lead there.
  Entries expected(const Lines& paths) const {
    Entries entries, all = everything(in);
    for (const std::string& path : paths) entries[path] = all.at(path);
    return entries;
  }

  const fs::path opened = root / "opened";
};

TEST_F(NamedFiles, GivesBackWhatIsNamedAndTheDirectoriesThatLeadThere) {
  for (const bool hides : {false, true}) {
    seal(hides);
    SCOPED_TRACE(hides);
    EXPECT_EQ(restored({"a/b/y"}), Lines{});
    EXPECT_EQ(everything(opened), expected({"a", "a/b", "a/b/y"}));
    EXPECT_EQ(restored({"*/b/c", "x"}), Lines{});
    EXPECT_EQ(everything(opened), expected({"a", "a/b", "a/b/c", "a/b/c/x", "x"}));
    EXPECT_EQ(restored({"*/x"}), Lines{});  // and no e
    EXPECT_EQ(everything(opened), expected({"a", "a/x"}));
    EXPECT_EQ(restored({"a/to-*", "e"}), Lines{});
    EXPECT_EQ(everything(opened), expected({"a", "a/to-x", "e", "e/z"}));
  }
}

TEST_F(NamedFiles, RefusesNamesThatFitNothingBeforeAnythingIsWritten) {
  seal();
  const std::string sentence = refusal(restoring({"a/b/y", "b", "a//x", "*/nothing"}));
  EXPECT_NE(sentence.find("fits b, a//x, */nothing;"), std::string::npos) << sentence;
  EXPECT_THROW(run_job(restoring({"../in/x"})), core::UsageError);
  EXPECT_THROW(run_job(restoring({"/x"})), core::UsageError);
  EXPECT_FALSE(fs::exists(opened));
  // A file that the manifest does not have is none.
  fs::copy_file(sealed / "x", sealed / "w");
  EXPECT_THROW(run_job(restoring({"w"})), core::UsageError);
  EXPECT_FALSE(fs::exists(opened));
}

TEST_F(NamedFiles, FollowsTheRulesForWhatIsInOut) {
  seal();
  fs::create_directories(opened / "a/b");
  write_file(opened / "a/b/y", "mine");
  write_file(opened / "a/b/x", "mine");
  EXPECT_NE(refusal(restoring({"a/b/y"})).find("is not empty"), std::string::npos);
  EXPECT_EQ(read_file(opened / "a/b/y"), "mine");
  Request r = restoring({"a/b/y"});
  r.force = true;
  EXPECT_EQ(told(r), Lines{});
  EXPECT_EQ(read_file(opened / "a/b/y"), "of a/b/y");
  EXPECT_EQ(read_file(opened / "a/b/x"), "mine");
  r.force = false;
  r.resume = true;
  EXPECT_EQ(run_job(r).files_kept, 1u);
  // No link in OUT leads out of it.
  fs::remove_all(opened / "a");
  fs::create_directory(root / "outside");
  fs::create_directory_symlink("../outside", opened / "a");
  EXPECT_FALSE(told(r).empty());
  EXPECT_TRUE(fs::is_empty(root / "outside"));
}

TEST_F(NamedFiles, ProvesWhatIsNamedAsInAWholeTree) {
  seal();
  fs::copy_file(sealed / "a/x", sealed / "x", fs::copy_options::overwrite_existing);
  EXPECT_EQ(restored({"x"}), Lines{"x: exchanged"});
  EXPECT_FALSE(fs::exists(opened / "x"));
  EXPECT_EQ(restored({"e"}), Lines{});
  fs::remove_all(sealed / "e");
  EXPECT_EQ(restored({"e/z"}), Lines{"e/z: missing"});
  EXPECT_EQ(restored({"a/*"}), Lines{});
  fs::copy_file(sealed / "a/x", sealed / "a/added");
  EXPECT_EQ(restored({"a/*"}), Lines{"a/added: added"});
  fs::remove_all(opened);
  Request r = restoring({"a/x"});
  r.root = ManifestHash{};
  EXPECT_NE(refusal(r).find("the root of IN"), std::string::npos);
}

TEST_F(NamedFiles, NeedsAManifest) {
  seal();
  Request r = request(Direction::decrypt, sealed / "x", opened);
  r.selection = Selection({}, {"x"});
  EXPECT_THROW(run_job(r), core::UsageError);
  r = restoring({"x"});
  r.without_manifest = true;
  EXPECT_THROW(run_job(r), core::UsageError);
  fs::remove_all(sealed / ".tabane");
  EXPECT_NE(refusal(restoring({"x"})).find("has no manifest"), std::string::npos);
  EXPECT_FALSE(fs::exists(opened));
}

class Listing : public NamedFiles {
 protected:
  Lines listed(const Request& r) const {
    Lines paths;
    const std::string refused = core::text_of_error([&] {
      const auto failures = list_manifest(
          r, {},
          [&](const ManifestSummary&, const ManifestEntry& entry) { paths.push_back(entry.path); });
      for (const Failure& failure : failures) paths.push_back("failed: " + failure.path);
    });
    if (!refused.empty()) paths.push_back(refused);
    return paths;
  }
  Request listing() const { return request(Direction::verify, sealed, ""); }
};

TEST_F(Listing, HasWhatTheManifestHasAndLooksAtNoFile) {
  const Lines all = {"",      "a",      "a/b", "a/b/c", "a/b/c/x", "a/b/long", "a/b/x",
                     "a/b/y", "a/to-x", "a/x", "e",     "e/z",     "x"};
  for (const bool hides : {false, true}) {
    seal(hides);
    EXPECT_EQ(listed(listing()), all);
    for (const auto& entry : fs::directory_iterator(sealed)) {
      if (entry.path().filename() != ".tabane") fs::remove_all(entry.path());
    }
    EXPECT_EQ(listed(listing()), all);
    Request some = listing();
    some.selection = Selection({"b", "x"});
    EXPECT_EQ(listed(some), (Lines{"", "a", "a/to-x", "e", "e/z"}));
  }
}

TEST_F(Listing, RefusesAManifestThatIsNotProved) {
  seal();
  Request r = listing();
  r.root = ManifestHash{};
  EXPECT_EQ(listed(r).size(), 1u);
  std::string manifest = read_file(sealed / ".tabane/manifest");
  manifest[manifest.size() - 20] ^= 1;
  write_file(sealed / ".tabane/manifest", manifest);
  const Lines damaged = listed(listing());
  ASSERT_EQ(damaged.size(), 1u);  // not one entry
  EXPECT_NE(damaged[0].find("is damaged"), std::string::npos) << damaged[0];
  seal();
  write_file(sealed / ".tabane/changing", "");
  EXPECT_NE(listed(listing())[0].find("is being changed"), std::string::npos);
  fs::remove_all(sealed / ".tabane");
  EXPECT_NE(listed(listing())[0].find("has no manifest"), std::string::npos);
}

TEST_F(Listing, OfAMillionEntriesTakesNoMemoryForThem) {
  constexpr std::uint64_t kEntries = 1'000'000;
  seal();
  const Request r = listing();
  KeyRing keys = ring_of(r);
  const core::Descriptor there = core::open_directory(sealed);
  const TreeSeal seal = *seal_of_files(scan(there.get(), {}), there.get(), keys);
  ManifestFileWriter manifest(
      std::make_shared<const core::Descriptor>(core::open_directory(sealed / ".tabane")),
      fresh_seal(seal, Content::manifest), {.tree_id = seal.header.tree});
  manifest.add({});
  ManifestEntry link;
  link.kind = EntryKind::link;
  link.target = "t";
  for (std::uint64_t i = 0; i < kEntries; ++i) {
    link.path = std::to_string(kEntries + i);
    manifest.add(link);
  }
  manifest.commit(false);
  const auto most_memory = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;  // KiB
  };
  const auto before = most_memory();
  std::uint64_t entries = 0;
  list_manifest(r, {}, [&](const ManifestSummary&, const ManifestEntry&) { ++entries; });
  EXPECT_EQ(entries, kEntries + 1);
  EXPECT_LT(most_memory() - before, 16 << 10);
}

}  // namespace
}  // namespace tabane::encrypt
