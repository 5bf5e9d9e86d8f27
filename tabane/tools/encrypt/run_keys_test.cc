// Jobs on trees: by whom they can be opened, and what .tabane/keys is for.
#include "tabane/tools/encrypt/run_keys.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "tabane/core/file.h"
#include "tabane/core/files_test.h"
#include "tabane/tools/encrypt/rekey.h"
#include "tabane/tools/encrypt/slot_vectors_test.h"
#include "tabane/tools/encrypt/tree_home.h"
#include "tabane/tools/encrypt/tree_job_test.h"
#include "tabane/tools/encrypt/version_1_test.h"

namespace tabane::encrypt {
namespace {

namespace fs = std::filesystem;
using core::read_file;
using core::write_file;
using vectors::identity_of, vectors::name;
using Change = std::function<void(Request&)>;

void with_key(Request& request) {
  request.has_key = true;
  request.key = vectors::master();
}
void with_other_key(Request& request) {
  request.has_key = true;
  request.key = vectors::counting_key<MasterKey>(77);
}
void with_passphrase(Request& request) {
  request.passphrase = crypto::Passphrase::of(from_text("a short passphrase"));
}
Change for_recipient(unsigned first) {
  return [=](Request& request) { request.recipients.push_back(identity_of(first).recipient); };
}
Change with_identity(unsigned first) {
  return [=](Request& request) { request.identities.push_back(identity_of(first)); };
}
void with_resume(Request& request) { request.resume = true; }
void with_update(Request& request) { request.resume = request.update = true; }
void with_force(Request& request) { request.force = true; }

class Sealing : public testing::Test {
 protected:
  Sealing() {
    fs::create_directories(root / "in/sub");
    write_file(root / "in/one", "the first file");
    write_file(root / "in/sub/two", std::string(200000, 'x'));
  }

  Request request(Direction direction, const std::string& in, const std::string& out,
                  std::initializer_list<Change> changes) const {
    Request r = request_of(direction, root / in, root / out);
    r.has_key = false;
    r.measure_copy = false;
    for (const Change& change : changes) change(r);
    return r;
  }
  JobReport encrypt(std::initializer_list<Change> changes) const {
    return run_job(request(Direction::encrypt, "in", "sealed", changes));
  }

  // What is told of keys that do not open `in`; empty if they do.
  std::string told_of(const std::string& in, std::initializer_list<Change> changes) const {
    try {
      const JobReport outcome = run_job(request(Direction::verify, in, "", changes));
      return outcome.failures.empty() ? "" : outcome.failures[0].path + outcome.failures[0].what;
    } catch (const core::Error& error) {
      return error.what();
    }
  }
  std::string refusal(std::initializer_list<Change> changes) const {
    return encrypt::refusal(request(Direction::encrypt, "in", "sealed", changes));
  }

  // Takes a path in a sealed tree from another one, with its time.
  void take(const std::string& path, const std::string& from) const {
    const fs::path to = root / "sealed" / path;
    fs::copy_file(root / from / path, to, fs::copy_options::overwrite_existing);
    fs::last_write_time(to, fs::last_write_time(root / from / path));
  }
  void begin_with(const std::string& tree) const {
    fs::remove_all(root / "sealed");
    fs::copy(root / tree, root / "sealed", fs::copy_options::recursive);
    for (const char* file : {"one", "sub/two"}) take(file, tree);
  }
  // A whole tree, which may be an older one in "sealed" later.
  void encrypt_to(const std::string& out, std::initializer_list<Change> changes) const {
    run_job(request(Direction::encrypt, "in", out, changes));
  }

  Bytes keys_bytes() const { return from_text(read_file(root / "sealed/.tabane/keys")); }
  std::size_t files_in_home() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(root / "sealed/.tabane"), fs::directory_iterator()));
  }

  const core::ScratchFolder folder{"tabane-test"};
  const fs::path root = folder.path();
};

TEST_F(Sealing, OpensWithEachKeyThatATreeIsSealedFor) {
  encrypt({with_key, for_recipient(1), for_recipient(2)});
  EXPECT_EQ(told_of("sealed", {with_key}), "");
  EXPECT_EQ(told_of("sealed", {with_identity(1)}), "");
  EXPECT_EQ(told_of("sealed", {with_identity(9), with_identity(2)}), "");
  EXPECT_EQ(told_of("sealed/one", {with_identity(2)}), "");
  EXPECT_EQ(files_in_home(), 2u);  // keys and manifest
  EXPECT_EQ(read_file(root / "sealed/one").substr(kHeaderBytes, 238),
            read_file(root / "sealed/sub/two").substr(kHeaderBytes, 238));
}

TEST_F(Sealing, OpensWithAPassphraseBesideARecipient) {
  encrypt({with_passphrase, for_recipient(1)});
  EXPECT_EQ(told_of("sealed", {with_passphrase}), "");
  EXPECT_EQ(told_of("sealed", {with_identity(1)}), "");
}

TEST_F(Sealing, IsForEachRecipientOnce) {
  encrypt({for_recipient(1), for_recipient(2), for_recipient(1)});
  EXPECT_EQ(openers_of((root / "sealed").string()),
            "the recipients " + name(1) + " and " + name(2));
  EXPECT_EQ(told_of("sealed", {with_identity(1)}), "");
}

TEST_F(Sealing, NeedsNoSecretToEncryptForARecipient) {
  encrypt({for_recipient(1)});
  EXPECT_EQ(told_of("sealed", {with_identity(1)}), "");
  EXPECT_NE(told_of("sealed", {with_key}), "");
}

TEST_F(Sealing, NamesWhomATreeIsSealedForIfNoKeyFits) {
  encrypt({with_key, for_recipient(1), for_recipient(2)});
  const std::string all = "a key file and the recipients " + name(1) + " and " + name(2);
  for (const std::string where : {"sealed", "sealed/one"}) {
    EXPECT_NE(told_of(where, {with_identity(3)}).find(all), std::string::npos)
        << told_of(where, {with_identity(3)});
    EXPECT_NE(told_of(where, {with_other_key}).find("wrong key"), std::string::npos);
    EXPECT_NE(told_of(where, {with_passphrase}).find(all), std::string::npos);
  }
}

TEST_F(Sealing, OpensEachFileWithoutTheFileOfKeys) {
  encrypt({with_key, for_recipient(1)});
  fs::remove_all(root / "sealed/.tabane");
  const Change alone = [](Request& request) { request.without_manifest = true; };
  EXPECT_EQ(told_of("sealed", {with_key, alone}), "");
  EXPECT_EQ(told_of("sealed", {with_identity(1), alone}), "");
}

TEST_F(Sealing, TellsOfADamagedFileOfKeysAndOpensWithTheSlotsOfTheFiles) {
  encrypt({with_key, for_recipient(1)});
  const std::string good = read_file(root / "sealed/.tabane/keys");
  for (const std::size_t at : {std::size_t{0}, std::size_t{30}, good.size() - 1}) {
    write_file(root / "sealed/.tabane/keys", good);
    core::flip_bits(root / "sealed/.tabane/keys", at);
    const JobReport outcome = run_job(request(Direction::verify, "sealed", "", {with_key}));
    EXPECT_EQ(outcome.files, 2u);
    ASSERT_EQ(outcome.failures.size(), 1u);
    EXPECT_EQ(outcome.failures[0].path, ".tabane/keys");
  }
  write_file(root / "sealed/.tabane/keys", good.substr(0, 10));
  EXPECT_TRUE(told_of("sealed", {with_key}).starts_with(".tabane/keysat byte 10"));
}

// Slots that somebody has put into .tabane/keys of a rekeyed tree, whose files do not open by
// themselves with the new key.
TEST_F(Sealing, OpensARekeyedTreeByTheRightSlotAmongPlantedAndDamagedOnes) {
  encrypt({with_key});
  const MasterKey master = vectors::master();
  KeyRing ring({.key = &master, .passphrase = nullptr, .identities = {}});
  NewOpeners now;
  now.passphrase = crypto::Passphrase::of(from_text("a short passphrase"));
  now.passphrase_log2_n = 10;
  now.recipients = {identity_of(1).recipient};
  rekey((root / "sealed").string(), ring, now);
  const fs::path keys = root / "sealed/.tabane/keys";
  const std::string good = read_file(keys);
  const KeysFile file = decode_keys_file(from_text(good));
  const std::string phrase = good.substr(26, 70), recipient = good.substr(96, 91);
  ASSERT_EQ(good.size(), 24 + 2 + 70 + 91 + 32u);

  TreeKey unknown;
  const auto text_of_slot = [](const Slot& slot) {
    const Bytes table = encode_slots({{slot}});
    return std::string(reinterpret_cast<const char*>(table.data()) + 2, table.size() - 2);
  };
  const crypto::ScryptParameters scrypt{.log2_n = 10, .r = 8, .p = 1, .salt = {}};
  const std::string foreign =
      text_of_slot(slot_of_passphrase(MasterKey{}, scrypt, file.tree, unknown));
  std::string costly = foreign;
  costly[3] = 22;
  std::string damaged = phrase;
  damaged[3] = 0;
  const std::string for_me =
      text_of_slot(slot_of_recipient(identity_of(1).recipient, file.tree, unknown));
  for (const std::string& slots :
       {foreign + phrase + recipient, phrase + foreign + recipient, costly + phrase + recipient,
        damaged + phrase + recipient, for_me + phrase + recipient, phrase + recipient + costly}) {
    write_file(keys, good.substr(0, 26) + slots + good.substr(good.size() - 32));
    for (const Change& own : {Change(with_passphrase), with_identity(1)}) {
      const JobReport outcome = run_job(request(Direction::verify, "sealed", "", {own}));
      EXPECT_EQ(outcome.files, 2u);
      ASSERT_EQ(outcome.failures.size(), 1u);
      EXPECT_EQ(outcome.failures[0].path + ": " + outcome.failures[0].what,
                ".tabane/keys: it is damaged, or was changed by somebody without the tree's "
                "key");
    }
    const std::string why = refusal({with_passphrase, with_resume});
    EXPECT_EQ(why.find("wrong key"), std::string::npos) << why;
    EXPECT_NE(why.find("the key that was given opens it"), std::string::npos) << why;
  }
  // Without the right one, what was tried is told.
  write_file(keys, good.substr(0, 26) + foreign + costly + damaged + recipient +
                       good.substr(good.size() - 32));
  for (const std::string& why :
       {told_of("sealed", {with_passphrase}), refusal({with_passphrase, with_resume})}) {
    EXPECT_NE(why.find("no slot opened: 1 tried, 1 for other keys, 2 skipped (the first: "),
              std::string::npos)
        << why;
  }
  // With its head damaged, none of its slots can be found.
  write_file(keys, "X" + good.substr(1));
  const std::string why = told_of("sealed", {with_passphrase});
  EXPECT_EQ(why.find("wrong key"), std::string::npos) << why;
  EXPECT_NE(why.find("not a file of keys"), std::string::npos) << why;
}

// The tree's own slots stand in its files.
TEST_F(Sealing, GoesOnBesideAFileOfKeysWhoseSlotWasDamaged) {
  encrypt({with_key});
  const fs::path keys = root / "sealed/.tabane/keys";
  const std::string good = read_file(keys);
  std::string bad = good;
  bad[60] = static_cast<char>(bad[60] ^ 1);  // in the wrapped key
  write_file(keys, bad);
  fs::remove(root / "sealed/one");
  EXPECT_EQ(encrypt({with_key, with_resume}).files, 1u);
  EXPECT_EQ(read_file(keys), good);
}

// Whoever knows a recipient can make a tree for it, but not change one.
TEST_F(Sealing, OpensFilesBesideAFileOfKeysOfAnotherTree) {
  encrypt({with_key, for_recipient(1)});
  const TreeSeal planted = make_new_seal({.recipients = std::vector{identity_of(1).recipient}});
  write_file(root / "sealed/.tabane/keys",
             as_text(encode_keys_file({planted.header.tree, planted.slots}, planted.key)));
  const JobReport outcome = run_job(request(Direction::verify, "sealed", "", {with_identity(1)}));
  EXPECT_EQ(outcome.files, 2u);
  ASSERT_EQ(outcome.failures.size(), 1u);
  EXPECT_EQ(outcome.failures[0].path, ".tabane/keys");
  EXPECT_NE(outcome.failures[0].what.find("of another tree"), std::string::npos);
}

TEST_F(Sealing, TellsThatTheFileOfKeysIsMissingOrHasAnotherTreeOrKey) {
  encrypt({with_key, for_recipient(1)});
  const fs::path keys = root / "sealed/.tabane/keys";
  const std::string good = read_file(keys);
  const auto told = [&] { return told_of("sealed", {with_key}); };
  EXPECT_EQ(told(), "");
  fs::remove(keys);
  EXPECT_TRUE(told().starts_with(".tabane/keysit is missing")) << told();
  write_file(keys, good);
  core::flip_bits(keys, 8);
  EXPECT_NE(told().find("of another tree"), std::string::npos) << told();
  run_job(request(Direction::encrypt, "in", "other", {with_key}));
  write_file(keys, read_file(root / "other/.tabane/keys"));
  EXPECT_NE(told().find("of another tree"), std::string::npos) << told();
  // The tree's own id with another key, for a recipient.
  TreeKey key;
  const TreeId tree = decode_keys_file(from_text(good)).tree;
  std::vector<Slot> slots =
      make_slots({.recipients = std::vector{identity_of(1).recipient}}, tree, key);
  write_file(keys, as_text(encode_keys_file({tree, std::move(slots)}, key)));
  EXPECT_NE(told_of("sealed", {with_identity(1)}).find("of another tree"), std::string::npos);
  fs::remove(keys);
  encrypt({with_key, with_resume});
  EXPECT_EQ(told(), "");
}

// Whoever knows a recipient has put his file of keys there, and the owner has rekeyed.
TEST_F(Sealing, SealsNothingWithAKeyThatDoesNotFitTheManifest) {
  encrypt({for_recipient(1)});
  run_job(request(Direction::encrypt, "in", "evil", {for_recipient(1), for_recipient(2)}));
  const fs::path keys = root / "sealed/.tabane/keys";
  write_file(keys, read_file(root / "evil/.tabane/keys"));
  const Identity own = identity_of(1);
  KeyRing ring({.key = nullptr, .passphrase = nullptr, .identities = {&own, 1}});
  NewOpeners now;
  now.key = vectors::master();
  const std::string refused =
      core::text_of_error([&] { rekey((root / "sealed").string(), ring, now); });
  EXPECT_NE(refused.find("not of this tree"), std::string::npos) << refused;
  EXPECT_EQ(read_file(keys), read_file(root / "evil/.tabane/keys"));
  // As a rekey elsewhere would have left it.
  rekey((root / "evil").string(), ring, now);
  write_file(keys, read_file(root / "evil/.tabane/keys"));
  const std::string planted = read_file(keys), one = read_file(root / "sealed/one");
  write_file(root / "in/secret", "a secret");
  for (const bool update : {false, true}) {
    const std::string why =
        refusal({with_key, with_resume, [&](Request& r) { r.update = update; }});
    EXPECT_NE(why.find("does not fit .tabane/manifest"), std::string::npos) << why;
    EXPECT_EQ(why.find("--resume"), std::string::npos) << why;
  }
  EXPECT_FALSE(fs::exists(root / "sealed/secret"));
  EXPECT_EQ(read_file(root / "sealed/one"), one);
}

// He has replaced the first file, too, and removed the manifest or put his own in its place.
TEST_F(Sealing, IsNotRekeyedWithAKeyThatOnlySomeFilesHave) {
  encrypt({with_key, for_recipient(1)});
  encrypt_to("evil", {for_recipient(1), for_recipient(2)});
  const Identity own = identity_of(1);
  KeyRing ring({.key = nullptr, .passphrase = nullptr, .identities = {&own, 1}});
  NewOpeners now;
  now.key = vectors::master();
  for (const char* path : {".tabane/keys", "one"}) take(path, "evil");
  for (const bool planted : {false, true}) {
    fs::remove(root / "sealed/.tabane/manifest");
    if (planted) take(".tabane/manifest", "evil");
    const std::string refused =
        core::text_of_error([&] { rekey((root / "sealed").string(), ring, now); });
    EXPECT_NE(refused.find(planted ? "does not fit sub/two" : "no manifest"), std::string::npos)
        << refused;
    EXPECT_EQ(read_file(root / "sealed/.tabane/keys"), read_file(root / "evil/.tabane/keys"));
  }
  // As a rekey elsewhere would have left it.
  rekey((root / "evil").string(), ring, now);
  take(".tabane/keys", "evil");
  fs::remove(root / "sealed/.tabane/manifest");
  write_file(root / "in/secret", "a secret");
  EXPECT_NE(refusal({with_key, with_resume}).find("sub/two in it is not sealed with the key"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(root / "sealed/secret"));
}

TEST_F(Sealing, GoesOnWithTheTreeOfAnInterruptedJob) {
  encrypt({with_key, for_recipient(1)});
  const Bytes keys = keys_bytes();
  const std::string kept = read_file(root / "sealed/sub/two");
  fs::remove(root / "sealed/one");
  core::leave_behind(root / "sealed/.tabane/.tabane-0123456789abcdef.part", "of a killed run");
  const JobReport outcome = encrypt({with_key, for_recipient(1), with_resume});
  EXPECT_EQ(outcome.files, 1u);
  EXPECT_EQ(outcome.files_kept, 1u);
  EXPECT_EQ(outcome.leftovers_removed, 1u);
  EXPECT_EQ(keys_bytes(), keys);
  EXPECT_EQ(files_in_home(), 2u);  // keys and manifest
  EXPECT_EQ(read_file(root / "sealed/sub/two"), kept);
  EXPECT_EQ(read_file(root / "sealed/one").substr(16, 16), kept.substr(16, 16));
}

TEST_F(Sealing, GoesOnWithTheTreeOfTheFilesIfTheFileOfKeysIsLostOrDamaged) {
  encrypt({with_passphrase, for_recipient(1)});
  const Bytes keys = keys_bytes();
  for (const std::string damaged : {"", "TBNKEYS"}) {
    fs::remove(root / "sealed/one");
    fs::remove(root / "sealed/.tabane/keys");
    if (!damaged.empty()) write_file(root / "sealed/.tabane/keys", damaged);
    EXPECT_EQ(encrypt({with_passphrase, with_resume}).files_kept, 1u);
    EXPECT_EQ(keys_bytes(), keys);
  }
}

TEST_F(Sealing, RefusesToGoOnWithoutAKeyOfTheWriterOrForOtherRecipients) {
  encrypt({with_key, for_recipient(1)});
  EXPECT_NE(refusal({with_other_key, with_resume}).find("wrong key"), std::string::npos);
  EXPECT_NE(refusal({for_recipient(1), with_resume}).find("wrong key"), std::string::npos);
  EXPECT_NE(refusal({with_key, for_recipient(2), with_resume}).find("tabane rekey"),
            std::string::npos);
  fs::remove(root / "sealed/.tabane/keys");
  EXPECT_NE(refusal({for_recipient(1), with_resume}).find("wrong key"), std::string::npos);
}

TEST_F(Sealing, BeginsAnewWhereNothingIsOrWithForce) {
  EXPECT_EQ(encrypt({with_key, with_resume}).files, 2u);
  const Bytes keys = keys_bytes();
  encrypt({with_other_key, [](Request& r) { r.force = true; }});
  EXPECT_NE(keys_bytes(), keys);
  EXPECT_EQ(told_of("sealed", {with_other_key}), "");
}

// As a kill leaves a tree that --force has begun to replace, or somebody who has the keys of
// another tree of the same key file.
TEST_F(Sealing, GoesOnWithNothingThatAnotherTreeHasSealed) {
  encrypt_to("old", {with_key, for_recipient(1)});
  encrypt_to("new", {with_key});
  const struct {
    std::vector<const char*> replaced;
    bool has_manifest;
  } kills[] = {{{".tabane/keys"}, true},
               {{".tabane/keys"}, false},
               {{".tabane/keys", "one"}, false},
               {{".tabane/keys", "sub/two"}, false}};
  for (const auto& kill : kills) {
    begin_with("old");
    for (const char* path : kill.replaced) take(path, "new");
    if (!kill.has_manifest) fs::remove(root / "sealed/.tabane/manifest");
    const auto content = [&] {
      return read_file(root / "sealed/.tabane/keys") + read_file(root / "sealed/one") +
             read_file(root / "sealed/sub/two");
    };
    const std::string before = content();
    for (const auto& goes_on : {with_resume, with_update}) {
      const std::string why = refusal({with_key, goes_on});
      EXPECT_NE(why.find("--force"), std::string::npos) << why;
      EXPECT_EQ(content(), before);
    }
    encrypt({with_key, with_force});
    EXPECT_EQ(told_of("sealed", {with_key}), "");
    EXPECT_NE(told_of("sealed", {with_identity(1)}), "");
  }
  begin_with("new");
  fs::remove(root / "sealed/.tabane/manifest");
  EXPECT_EQ(encrypt({with_key, with_resume}).files_kept, 2u);
  EXPECT_EQ(told_of("sealed", {with_key}), "");
}

// Its file of keys is lost, too, and the first file is not of the tree that others are of.
TEST_F(Sealing, GoesOnWithNeitherOfTwoTrees) {
  encrypt_to("old", {with_key});
  encrypt_to("new", {with_key});
  begin_with("old");
  take("one", "new");
  fs::remove_all(root / "sealed/.tabane");
  EXPECT_NE(refusal({with_key, with_resume}).find("--force"), std::string::npos);
}

TEST_F(Sealing, KeepsOnlyWhatIsSealedWithTheKeyOfTheTree) {
  write_file(root / "in/three", "in the older tree alone");
  encrypt_to("old", {with_key});
  fs::rename(root / "in/three", root / "three");
  encrypt({with_key});
  fs::rename(root / "three", root / "in/three");
  take("three", "old");
  write_file(root / "sealed/.tabane/changing", "");
  const JobReport outcome = encrypt({with_key, with_resume});
  EXPECT_EQ(outcome.files, 1u);
  EXPECT_EQ(outcome.files_kept, 2u);
  EXPECT_EQ(header_of(root / "sealed/three").tree, header_of(root / "sealed/one").tree);
  EXPECT_EQ(told_of("sealed", {with_key}), "");
}

TEST_F(Sealing, OpensForThoseThatATreeWasRekeyedFor) {
  encrypt({with_key, for_recipient(1)});
  const MasterKey master = vectors::master();
  KeyRing ring({.key = &master, .passphrase = nullptr, .identities = {}});
  NewOpeners now;
  now.recipients = {identity_of(2).recipient};
  rekey((root / "sealed").string(), ring, now);
  EXPECT_EQ(told_of("sealed", {with_identity(2)}), "");
  EXPECT_NE(told_of("sealed", {with_identity(3)}).find("for the recipient " + name(2)),
            std::string::npos);
  // Nothing takes a file from somebody who could open it before.
  EXPECT_EQ(told_of("sealed", {with_identity(1)}), "");
}

TEST_F(Sealing, ReadsFilesOfVersion1AndSealsThemAnew) {
  const MasterKey master = vectors::master();
  fs::create_directories(root / "sealed/sub");
  write_file(root / "sealed/one", seal_version_1("the first file", {}, master));
  fs::last_write_time(root / "sealed/one", fs::last_write_time(root / "in/one"));
  EXPECT_EQ(told_of("sealed", {with_key}), "");
  EXPECT_EQ(told_of("sealed/one", {with_key}), "");
  EXPECT_NE(told_of("sealed", {with_other_key}).find("wrong key"), std::string::npos);
  EXPECT_NE(told_of("sealed", {with_passphrase}).find("a key file"), std::string::npos);
  // No manifest can have it.
  EXPECT_EQ(encrypt({with_key, with_resume}).files, 2u);
  EXPECT_EQ(told_of("sealed", {with_key}), "");
  EXPECT_NE(refusal({with_other_key, with_resume}).find("wrong key"), std::string::npos);
}

TEST_F(Sealing, ReadsPassphrasesOfVersion1) {
  Header header;
  header.source = KeySource::scrypt;
  header.scrypt = {.log2_n = 10, .r = 8, .p = 1, .salt = {}};
  const MasterKey master = crypto::scrypt_key(from_text("a short passphrase"), header.scrypt);
  write_file(root / "old", seal_version_1("text", header, master));
  EXPECT_EQ(told_of("old", {with_passphrase}), "");
  EXPECT_NE(told_of("old", {with_key}).find("a passphrase"), std::string::npos);
}

TEST_F(Sealing, RefusesAnInputWithADirectoryOfItsOwnNameAtItsRootOnly) {
  encrypt({with_key});
  const std::string refused = core::text_of_error<core::UsageError>(
      [&] { run_job(request(Direction::encrypt, "sealed", "again", {with_key})); });
  EXPECT_NE(refused.find(".tabane"), std::string::npos) << refused;
  EXPECT_FALSE(fs::exists(root / "again"));
  fs::create_directories(root / "in/sub/.tabane");
  write_file(root / "in/sub/.tabane/keys", "a user's own");
  encrypt({with_key, with_resume});
  run_job(request(Direction::decrypt, "sealed", "opened", {with_key}));
  EXPECT_EQ(read_file(root / "opened/sub/.tabane/keys"), "a user's own");
  EXPECT_FALSE(fs::exists(root / "opened/.tabane"));
}

}  // namespace
}  // namespace tabane::encrypt
