// What is noticed of changes to a sealed tree, and what comes back of one that was not changed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>

#include "tabane/core/file.h"
#include "tabane/core/files_test.h"
#include "tabane/tools/encrypt/manifest_file.h"
#include "tabane/tools/encrypt/slot_vectors_test.h"
#include "tabane/tools/encrypt/tree_job_test.h"
#include "tabane/tools/encrypt/tree_keys.h"
#include "tabane/tools/encrypt/version_1_test.h"

namespace tabane::encrypt {
namespace {

namespace fs = std::filesystem;
using core::read_file;
using core::write_file;

constexpr std::size_t kLong = 200'000;

void set_time(const fs::path& path, time_t seconds) {
  const timespec times[2] = {{1, 0}, {.tv_sec = seconds, .tv_nsec = 123'456'789}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
}

// The lines but one, which tells of a link whose directory is missing.
Lines without(Lines lines, const std::string& line) {
  std::erase(lines, line);
  return lines;
}

class SealedTree : public SealsATree {
 protected:
  SealedTree() {
    fs::create_directories(in / "d/e");
    fs::create_directories(in / "d/empty");
    write_file(in / "a", "the file a");
    write_file(in / "b", "the file b");  // as long as a
    write_file(in / "d/long", std::string(kLong, 'x'));
    write_file(in / "d/e/deep", "deep");
    write_file(in / "d-", "");
    fs::create_symlink("a", in / "to-a");
    fs::create_symlink("../nowhere", in / "d/e/dangling");
    fs::create_directory_symlink("d", in / "to-d");
    fs::permissions(in / "a", fs::perms{0640});
    fs::permissions(in / "d/e", fs::perms{0750});
    for (const char* path : {"a", "d/e/dangling", "d/empty", "to-d", "d/e", "d"}) {
      set_time(in / path, 1'234'567'890);
    }
  }

  JobReport encrypt() const { return run_job(request(Direction::encrypt, in, sealed)); }
  void encrypt_anew() const {
    fs::remove_all(sealed);
    EXPECT_TRUE(encrypt().failures.empty());
  }

  // Puts keys and a manifest there that name the files a and b, of 10 bytes each, as they lie
  // there.
  void plant(const TreeSeal& by) const {
    fs::create_directories(sealed / ".tabane");
    write_file(sealed / ".tabane/keys",
               as_text(encode_keys_file({by.header.tree, by.slots}, by.key)));
    ManifestFileWriter manifest(
        std::make_shared<const core::Descriptor>(core::open_directory(sealed / ".tabane")),
        fresh_seal(by, Content::manifest), {.tree_id = by.header.tree});
    manifest.add({.path = "", .mode = 0755});
    for (const char* name : {"a", "b"}) {
      const Bytes bytes = from_text(read_file(sealed / name));
      ManifestEntry entry{.kind = EntryKind::file, .path = name, .mode = 0644};
      entry.sealed = {.bytes = 10, .salt = header_of(sealed / name).file_salt};
      std::copy(bytes.end() - crypto::kTagBytes, bytes.end(), entry.sealed.last_tag.begin());
      manifest.add(entry);
    }
    manifest.commit(false);
  }
};

TEST_F(SealedTree, ComesBackWithLinksModesAndTimes) {
  const auto original = everything(in);
  const JobReport there = encrypt();
  EXPECT_EQ(there.links, 3u);
  EXPECT_EQ(there.symlinks, 0u);
  EXPECT_TRUE(there.root.has_value());
  EXPECT_FALSE(fs::exists(fs::symlink_status(sealed / "to-a")));
  const JobReport back = run_job(request(Direction::decrypt, sealed, root / "opened"));
  EXPECT_TRUE(back.failures.empty());
  EXPECT_EQ(back.links, 3u);
  EXPECT_EQ(back.root, there.root);
  EXPECT_EQ(everything(root / "opened"), original);
}

TEST_F(SealedTree, OfAnInterruptedJobGetsTheModeOfItsRootAndAUsersDirectoryKeepsItsOwn) {
  const auto mode_of = [](const fs::path& path) { return fs::status(path).permissions(); };
  const auto interrupt = [](Request& request) {
    Hooks hooks;
    hooks.progress = [](const Progress&) { throw core::Error("as by a kill"); };
    EXPECT_THROW(run_job(request, hooks), core::Error);
    request.resume = true;
    EXPECT_EQ(told(request), Lines{});
    request.resume = false;
  };
  fs::permissions(in, fs::perms{0751});
  Request there = request(Direction::encrypt, in, sealed);
  interrupt(there);
  EXPECT_EQ(mode_of(sealed), fs::perms{0751});
  ::umask(027);
  const fs::path opened = root / "opened";
  Request back = request(Direction::decrypt, sealed, opened);
  interrupt(back);
  EXPECT_EQ(mode_of(opened), fs::perms{0750});
  fs::remove_all(opened);
  back.preserve = true;
  interrupt(back);
  EXPECT_EQ(mode_of(opened), fs::perms{0751});
  for (const fs::perms own : {fs::perms{0700}, fs::perms{0711}}) {
    fs::remove_all(opened);
    fs::create_directory(opened);
    fs::permissions(opened, own);
    interrupt(back);
    EXPECT_EQ(mode_of(opened), own);
  }
  fs::remove_all(sealed);
  there.hide_names = true;
  interrupt(there);
  EXPECT_EQ(mode_of(sealed), fs::perms{0700});
}

TEST_F(SealedTree, GivesNoModesAndTimesOfTheStorage) {
  const auto original = everything(in);
  encrypt();
  for (const char* path : {"a", "b", "d/e"}) fs::permissions(sealed / path, fs::perms{06777});
  for (const char* path : {"a", "d", "d/long"}) set_time(sealed / path, 1'000);
  EXPECT_EQ(decrypted(), Lines{});
  EXPECT_EQ(everything(root / "opened"), original);
}

// The list of an audit: flip, cut, append, exchange, delete, add, roll back, rename.
TEST_F(SealedTree, NamesWhatWasDoneToIt) {
  const auto exchange = [](const fs::path& one, const fs::path& other) {
    fs::rename(one, one.string() + "~");
    fs::rename(other, one);
    fs::rename(one.string() + "~", other);
  };
  const fs::path long_file = sealed / "d/long";
  struct Case {
    const char* what;
    std::function<void()> change;
    Lines found, found_quickly;
  };
  const Lines as_before = {"the same"};
  const auto path = [this](const char* name) { return sealed / name; };
  encrypt();
  fs::copy(sealed, root / "older", fs::copy_options::recursive);
  for (const Case& c : std::vector<Case>{
           {"nothing", [] {}, {}, {}},
           {"flip in a header", [&] { core::flip_bits(path("a"), 40); }, {"a: damaged"}, as_before},
           {"flip in the content",
            [&] { core::flip_bits(long_file, 70'000); },
            {"d/long: damaged"},
            {}},
           {"flip in the last tag",
            [&] { core::flip_bits(path("a"), fs::file_size(path("a")) - 1); },
            {"a: damaged"},
            {"a: changed"}},
           {"cut",
            [&] { fs::resize_file(long_file, 100'000); },
            {"d/long: damaged"},
            {"d/long: changed"}},
           {"cut to nothing", [&] { write_file(path("a"), ""); }, {"a: damaged"}, as_before},
           {"append",
            [&] { write_file(path("a"), read_file(path("a")) + "more"); },
            {"a: damaged"},
            {"a: changed"}},
           {"exchange",
            [&] { exchange(path("a"), path("b")); },
            {"a: exchanged", "b: exchanged"},
            as_before},
           {"one over another",
            [&] { write_file(path("d/e/deep"), read_file(path("b"))); },
            {"d/e/deep: exchanged"},
            as_before},
           {"delete a file",
            [&] { fs::remove(path("d/e/deep")); },
            {"d/e/deep: missing"},
            as_before},
           {"delete a directory",
            [&] { fs::remove_all(path("d/e")); },
            {"d/e: missing", "d/e/deep: missing"},
            as_before},
           {"delete an empty directory",
            [&] { fs::remove(path("d/empty")); },
            {"d/empty: missing"},
            as_before},
           {"add a stranger's file", [&] { write_file(path("c"), "c"); }, {"c: added"}, as_before},
           {"add a copy",
            [&] { fs::copy_file(path("a"), path("d/copy")); },
            {"d/copy: added"},
            as_before},
           {"add a directory", [&] { fs::create_directory(path("x")); }, {"x: added"}, as_before},
           {"add a pipe",
            [&] { ASSERT_EQ(mkfifo(path("d/pipe").c_str(), 0600), 0); },
            {"d/pipe: added"},
            as_before},
           {"a pipe for a file",
            [&] {
              fs::remove(path("a"));
              ASSERT_EQ(mkfifo(path("a").c_str(), 0600), 0);
            },
            {"a: missing"},
            as_before},
           {"add a file beside the manifest",
            [&] { write_file(path(".tabane/extra"), "x"); },
            {".tabane/extra: added"},
            as_before},
           {"add a directory beside the manifest",
            [&] { fs::create_directories(path(".tabane/extra/more")); },
            {".tabane/extra: added"},
            as_before},
           {"add a link",
            [&] { fs::create_symlink("a", path("to-a")); },
            {"to-a: other-kind"},
            as_before},
           {"roll back",
            [&] {
              fs::copy_file(root / "older/a", path("a"), fs::copy_options::overwrite_existing);
            },
            {"a: rolled-back"},
            as_before},
           {"rename", [&] { fs::rename(path("a"), path("d/z")); }, {"d/z: renamed"}, as_before},
           {"rename a directory",
            [&] { fs::rename(path("d/e"), path("f")); },
            {"d/e: missing", "f: added", "f/deep: renamed"},
            as_before},
           {"a directory for a file",
            [&] {
              fs::remove(path("a"));
              fs::create_directory(path("a"));
            },
            {"a: other-kind"},
            as_before}}) {
    // Another state of the same tree: the files of `older` are authentic.
    fs::remove_all(sealed);
    fs::copy(root / "older", sealed, fs::copy_options::recursive);
    write_file(in / "a", "another file a");
    ASSERT_TRUE(run_job(resuming()).failures.empty());
    write_file(in / "a", "the file a");
    c.change();
    EXPECT_EQ(verified(), c.found) << c.what;
    EXPECT_EQ(verified_quickly(), c.found_quickly == as_before ? c.found : c.found_quickly)
        << c.what;
    EXPECT_EQ(without(decrypted(), "d/e/dangling: damaged"), c.found) << c.what;
  }
}

TEST_F(SealedTree, DecryptsNothingThatIsNotWhatTheManifestHas) {
  encrypt();
  fs::rename(sealed / "a", sealed / "c");
  fs::rename(sealed / "b", sealed / "a");
  EXPECT_EQ(decrypted(), (Lines{"a: exchanged", "b: missing", "c: added"}));
  for (const char* name : {"a", "b", "c"}) EXPECT_FALSE(fs::exists(root / "opened" / name)) << name;
  EXPECT_EQ(read_file(root / "opened/d/long"), std::string(kLong, 'x'));
}

TEST_F(SealedTree, MakesNoDirectoriesThatTheManifestDoesNotHave) {
  encrypt();
  fs::create_directories(sealed / "planted/deep");
  fs::create_directories(sealed / "d/planted");
  write_file(sealed / "planted/deep/f", "of a stranger");
  fs::copy_file(sealed / "a", sealed / "d/planted/copy");
  EXPECT_EQ(decrypted(), (Lines{"d/planted: added", "d/planted/copy: added", "planted: added",
                                "planted/deep: added", "planted/deep/f: added"}));
  EXPECT_EQ(everything(root / "opened"), everything(in));
}

TEST_F(SealedTree, IsRefusedWithADamagedExchangedOrMissingManifest) {
  encrypt();
  const std::string good = read_file(sealed / ".tabane/manifest");
  const auto expect_refused = [&](const char* what, const char* says) {
    for (const Lines& lines : {verified(), decrypted()}) {
      ASSERT_EQ(lines.size(), 1u) << what;
      EXPECT_NE(lines[0].find(says), std::string::npos) << what << ": " << lines[0];
    }
    EXPECT_FALSE(fs::exists(root / "opened")) << what;
    EXPECT_EQ(told(verifying_without_manifest()), Lines{}) << what;
  };
  for (std::size_t at = 0; at < good.size(); at += 101) {
    write_file(sealed / ".tabane/manifest", good);
    core::flip_bits(sealed / ".tabane/manifest", at);
    expect_refused("flip", ".tabane/manifest: at byte");
  }
  write_file(sealed / ".tabane/manifest", good.substr(0, good.size() - 1));
  expect_refused("cut", ".tabane/manifest: at byte");
  write_file(sealed / ".tabane/manifest", read_file(sealed / "a"));
  expect_refused("a file in its place", ".tabane/manifest: at byte");
  std::string newer = good;
  newer[7] = 3;
  write_file(sealed / ".tabane/manifest", newer);
  expect_refused("a later version", "at byte 7: sealed in a version of the format");
  fs::rename(sealed, root / "first");
  encrypt();
  for (const bool with_keys : {false, true}) {
    const std::string ours = read_file(sealed / ".tabane/keys");
    write_file(sealed / ".tabane/manifest", good);
    if (with_keys) write_file(sealed / ".tabane/keys", read_file(root / "first/.tabane/keys"));
    expect_refused("another tree's", ".tabane/manifest is of another tree than the files");
    write_file(sealed / ".tabane/keys", ours);
  }
  fs::remove(sealed / ".tabane/manifest");
  expect_refused("interrupted", "encrypt --resume finishes it");
  fs::remove_all(sealed / ".tabane");
  expect_refused("removed", "has no manifest");
}

TEST_F(SealedTree, SaysWhatWasExpectedOfItsManifestAndWhatCanBeDone) {
  const auto id = [&](const fs::path& tree) {
    return crypto::hexadecimal(decode_header(from_text(read_file(tree / "a"))).tree);
  };
  const fs::path manifest = sealed / ".tabane/manifest", keys = sealed / ".tabane/keys";
  encrypt();
  fs::rename(sealed, root / "first");
  Request foreign = request(Direction::encrypt, in, root / "foreign");
  foreign.key.bytes()[0] ^= std::byte{1};
  ASSERT_TRUE(run_job(foreign).failures.empty());
  encrypt();
  const std::string good = read_file(manifest), good_keys = read_file(keys);
  const auto with_byte = [](std::string bytes, std::size_t at, char value) {
    bytes[at] = value;
    return bytes;
  };
  struct Case {
    const char* what;
    std::function<void()> change;
    Lines says, update_says;
  };
  const Lines in_a_version = {".tabane/manifest: at byte 7", "it says 3, and 1 and 2 can be read",
                              "use the tabane that wrote it"};
  for (const Case& c : std::vector<Case>{
           {"a later version", [&] { write_file(manifest, with_byte(good, 7, 3)); }, in_a_version,
            in_a_version},
           {"damage",
            [&] {
              write_file(manifest,
                         with_byte(good, good.size() - 1, good.back() == 'x' ? 'y' : 'x'));
            },
            {"it is damaged", "put back this tree's own", "--force", "--without-manifest"},
            {"it is damaged", "put back a copy", "--force"}},
           {"a stranger's",
            [&] { write_file(manifest, read_file(root / "foreign/.tabane/manifest")); },
            {"it is sealed for a key file", "another tree", "put back this tree's own"},
            {id(sealed), id(root / "foreign"), "Put back the tree's own"}},
           {"another tree's",
            [&] { write_file(manifest, read_file(root / "first/.tabane/manifest")); },
            {id(sealed), id(root / "first"), "put back this tree's own", "--without-manifest"},
            {id(sealed), id(root / "first"), "Put back the tree's own", "--force"}},
           {"a directory",
            [&] {
              fs::remove(manifest);
              fs::create_directory(manifest);
            },
            {".tabane/manifest: is a directory", "move it away"},
            {".tabane/manifest: is a directory", "move it away"}},
           {"a link",
            [&] {
              fs::rename(manifest, root / "manifest");
              fs::create_symlink(root / "manifest", manifest);
            },
            {".tabane/manifest: is a symbolic link"},
            {".tabane/manifest: is a symbolic link"}},
           {"a file for .tabane",
            [&] {
              fs::remove_all(sealed / ".tabane");
              write_file(sealed / ".tabane", "");
            },
            {".tabane: is not a directory", "move it away"},
            {"is no sealed tree"}}}) {
    fs::remove_all(sealed / ".tabane");
    fs::create_directory(sealed / ".tabane");
    write_file(manifest, good);
    write_file(keys, good_keys);
    c.change();
    Request update = request(Direction::encrypt, in, sealed);
    update.resume = update.update = true;
    for (const auto& [lines, says] :
         {std::pair{verified(), c.says}, {told(update), c.update_says}}) {
      ASSERT_EQ(lines.size(), 1u) << c.what;
      for (const std::string& part : says) {
        EXPECT_NE(lines[0].find(part), std::string::npos) << c.what << ": " << lines[0];
      }
    }
  }
}

TEST_F(SealedTree, NamesADirectoryInThePlaceOfAFile) {
  encrypt();
  Request back = request(Direction::decrypt, sealed, root / "opened");
  back.resume = true;
  fs::create_directories(root / "opened/d/e/deep");
  JobReport outcome = run_job(back);
  ASSERT_EQ(outcome.failures.size(), 1u);
  EXPECT_EQ(outcome.failures[0].path, "d/e/deep");
  EXPECT_EQ(outcome.failures[0].what, "deep: is a directory, so it is not replaced; move it away");
  fs::remove(sealed / "d/e/deep");
  fs::create_directory(sealed / "d/e/deep");
  Request again = request(Direction::encrypt, in, sealed);
  again.resume = true;
  outcome = run_job(again);
  ASSERT_FALSE(outcome.failures.empty());
  EXPECT_EQ(outcome.failures[0].what, "is a directory in OUT, but not in IN; --update removes it");
  again.update = true;
  EXPECT_EQ(told(again), Lines{});
  EXPECT_EQ(verified(), Lines{});
}

// Nothing is left that a key could be held against.
TEST_F(SealedTree, IsRefusedWhenNothingSealedIsLeftInIt) {
  struct Case {
    const char* what;
    std::function<void()> change;
    bool has_own_directory;
  };
  for (const bool hides : {false, true}) {
    for (const Case& c : std::vector<Case>{
             {"all", [&] { fs::create_directory(sealed); }, false},
             {"all but directories", [&] { fs::create_directories(sealed / "d/e"); }, false},
             {"all but .tabane", [&] { fs::create_directories(sealed / ".tabane"); }, true},
             {"all but the keys",
              [&] {
                Request r = request(Direction::encrypt, in, sealed);
                r.hide_names = hides;
                ASSERT_TRUE(run_job(r).failures.empty());
                for (const auto& item : fs::directory_iterator(sealed)) {
                  if (item.path().filename() != ".tabane") fs::remove_all(item.path());
                }
                fs::remove(sealed / ".tabane/manifest");
              },
              true}}) {
      fs::remove_all(sealed);
      c.change();
      for (const Lines& lines : {verified(), verified_quickly(), decrypted()}) {
        ASSERT_EQ(lines.size(), 1u) << c.what;
        const char* const says = c.has_own_directory ? "has no manifest" : "holds no sealed file";
        EXPECT_NE(lines[0].find(says), std::string::npos) << c.what << ": " << lines[0];
        EXPECT_NE(lines[0].find("interrupted"), std::string::npos) << c.what << ": " << lines[0];
      }
      const Request alone = verifying_without_manifest();
      ASSERT_EQ(told(alone).size(), 1u) << c.what;
      EXPECT_NE(told(alone)[0].find("holds no sealed file"), std::string::npos) << c.what;
    }
  }
}

// Files of version 1 that the same key opens, in the place of a tree of version 2.
TEST_F(SealedTree, OfVersion1IsOpenedWithAWord) {
  Request there = request(Direction::verify, sealed, "");
  fs::create_directory(sealed);
  write_file(sealed / "a", seal_version_1("of version 1", {}, there.key));
  EXPECT_TRUE(run_job(there).version_1_tree);
  EXPECT_TRUE(run_job(request(Direction::decrypt, sealed, root / "opened")).version_1_tree);
  EXPECT_EQ(read_file(root / "opened/a"), "of version 1");
  EXPECT_FALSE(run_job(request(Direction::verify, sealed / "a", "")).version_1_tree);
  there.without_manifest = true;  // which has a warning of its own
  EXPECT_FALSE(run_job(there).version_1_tree);
  fs::create_directory(sealed / ".tabane");
  ASSERT_EQ(verified().size(), 1u);
  EXPECT_NE(verified()[0].find("has no manifest"), std::string::npos) << verified()[0];
  fs::remove_all(sealed);
  encrypt();
  EXPECT_FALSE(run_job(request(Direction::verify, sealed, "")).version_1_tree);
}

// A user may have such a name for a file of his own.
TEST_F(SealedTree, LeavesOutOnlyDamagedFilesWithATemporaryNameWhereNoManifestTells) {
  const char* const name = ".tabane-0123456789abcdef.part";
  const char* const half = ".tabane-00000000000000aa.part";
  const std::string content(3 << 20, 'u');
  write_file(in / "d" / name, content);
  encrypt();
  core::leave_behind(sealed / half, read_file(sealed / "d" / name).substr(0, 2'900'000));
  Request alone = request(Direction::decrypt, sealed, root / "opened");
  alone.without_manifest = true;
  alone.threads = 3;  // which share the file
  const JobReport outcome = run_job(alone);
  EXPECT_TRUE(outcome.failures.empty());
  EXPECT_EQ(outcome.temporaries, Lines{half});
  EXPECT_EQ(read_file(root / "opened/d" / name), content);
  EXPECT_FALSE(fs::exists(root / "opened" / half));
  alone.direction = Direction::verify;
  EXPECT_EQ(run_job(alone).temporaries, Lines{half});
  // Who asks for this one file wants to know.
  alone.in = sealed / half;
  EXPECT_EQ(told(alone), Lines{std::string(half) + ": damaged"});
}

TEST_F(SealedTree, OfAnEmptyDirectoryIsVouchedForByItsManifest) {
  fs::remove_all(in);
  fs::create_directory(in);
  encrypt();
  for (const Lines& lines : {verified(), verified_quickly(), decrypted()}) {
    EXPECT_EQ(lines, Lines{});
  }
}

// Who knows a recipient can seal a manifest for it, with any tree id and any salts, which are there
// to read. The files have another key.
TEST_F(SealedTree, IsNotExchangedByWhoKnowsItsRecipient) {
  Identity own = vectors::identity_of(8);
  fs::create_directory(root / "two");
  write_file(root / "two/a", "the file a");
  write_file(root / "two/b", "the file b");
  Request there = request(Direction::encrypt, root / "two", sealed);
  there.has_key = false;
  there.recipients = {own.recipient};
  ASSERT_TRUE(run_job(there).failures.empty());
  fs::rename(sealed / "a", sealed / "c");
  fs::rename(sealed / "b", sealed / "a");
  fs::rename(sealed / "c", sealed / "b");

  Openers openers;
  openers.recipients = there.recipients;
  const TreeId tree = header_of(sealed / "a").tree;
  TreeKey key;
  std::vector<Slot> slots = make_slots(openers, tree, key);
  plant(make_seal(tree, std::move(key), std::move(slots)));

  Request back = request(Direction::decrypt, sealed, root / "opened");
  back.has_key = false;
  back.identities.push_back(std::move(own));
  EXPECT_EQ(told(back), (Lines{"a: damaged", "b: damaged"}));
  back.direction = Direction::verify;
  back.quick = true;
  EXPECT_EQ(told(back), (Lines{"a: damaged", "b: damaged"}));
  EXPECT_FALSE(fs::exists(root / "opened/a"));
}

TEST_F(SealedTree, OfVersion1IsNotExchangedByWhoKnowsARecipientOfItsOwner) {
  Request back = request(Direction::decrypt, sealed, root / "opened");
  back.identities.push_back(vectors::identity_of(8));
  fs::create_directory(sealed);
  write_file(sealed / "a", seal_version_1("the file b", {}, back.key));
  write_file(sealed / "b", seal_version_1("the file a", {}, back.key));
  Openers openers;
  openers.recipients = {&back.identities[0].recipient, 1};
  plant(make_new_seal(openers));
  EXPECT_EQ(told(back), (Lines{"a: damaged", "b: damaged"}));
  back.direction = Direction::verify;
  EXPECT_EQ(told(back), (Lines{"a: damaged", "b: damaged"}));
  back.quick = true;
  EXPECT_EQ(told(back), (Lines{"a: damaged", "b: damaged"}));
  EXPECT_FALSE(fs::exists(root / "opened/a"));
}

// As programs do that keep folders alike, where two have changed one of them.
TEST_F(SealedTree, NamesWhatIsNotItsOwnInItsDirectory) {
  encrypt();
  fs::copy_file(sealed / ".tabane/manifest", sealed / ".tabane/manifest (second copy)");
  fs::create_directories(sealed / ".tabane/d/e");
  fs::create_symlink("manifest", sealed / ".tabane/link");
  write_file(sealed / ".tabane/.tabane-0123456789abcdef.part", "of a killed job");
  const Lines strangers = {".tabane/d: added", ".tabane/link: added",
                           ".tabane/manifest (second copy): added"};
  EXPECT_EQ(verified(), strangers);
  EXPECT_EQ(decrypted(), strangers);
  EXPECT_EQ(everything(root / "opened"), everything(in));
}

TEST_F(SealedTree, WithoutFilesNamesOneOfAnotherTree) {
  encrypt();
  const std::string other = read_file(sealed / "a");
  for (const char* path : {"a", "b", "d", "d-"}) fs::remove_all(in / path);
  encrypt_anew();
  write_file(sealed / "stray", other);
  EXPECT_EQ(verified(), Lines{"stray: added"});
}

TEST_F(SealedTree, OpensEachFileByItself) {
  encrypt();
  EXPECT_EQ(told(request(Direction::decrypt, sealed / "a", root / "a")), Lines{});
  EXPECT_EQ(read_file(root / "a"), "the file a");
}

TEST_F(SealedTree, ShowsByItsRootThatAllOfItWasPutBack) {
  const JobReport first = encrypt();
  fs::copy(sealed, root / "older", fs::copy_options::recursive);
  write_file(in / "b", "the new file b");
  const JobReport second = run_job(resuming());
  ASSERT_TRUE(first.root && second.root);
  EXPECT_NE(*first.root, *second.root);
  Request with_root = request(Direction::verify, sealed, "");
  with_root.root = second.root;
  EXPECT_EQ(told(with_root), Lines{});
  with_root.in = root / "older";
  ASSERT_EQ(told(with_root).size(), 1u);
  EXPECT_NE(told(with_root)[0].find(crypto::hexadecimal(*second.root)), std::string::npos);
  with_root.root.reset();
  EXPECT_EQ(told(with_root), Lines{});  // without a root nobody can know
}

TEST_F(SealedTree, LeavesOutWhatIsExcludedWithoutMissingIt) {
  encrypt();
  Request some = request(Direction::decrypt, sealed, root / "opened");
  some.selection = Selection({"a", "d/e", "to-d"});
  EXPECT_EQ(told(some), Lines{});
  EXPECT_TRUE(fs::exists(root / "opened/b"));
  EXPECT_FALSE(fs::exists(root / "opened/a"));
  EXPECT_FALSE(fs::exists(fs::symlink_status(root / "opened/to-d")));
}

TEST_F(SealedTree, TellsAnIdenticalLinkFromAnotherOne) {
  encrypt();
  Request again = request(Direction::decrypt, sealed, root / "opened");
  again.resume = true;
  EXPECT_EQ(told(again), Lines{});
  EXPECT_EQ(told(again), Lines{});
  fs::remove(root / "opened/to-a");
  fs::create_symlink("b", root / "opened/to-a");
  fs::remove(root / "opened/to-d");
  write_file(root / "opened/to-d", "kept");
  EXPECT_EQ(told(again), Lines{"to-d: damaged"});
  EXPECT_EQ(fs::read_symlink(root / "opened/to-a"), "a");
  EXPECT_EQ(read_file(root / "opened/to-d"), "kept");
}

}  // namespace
}  // namespace tabane::encrypt
