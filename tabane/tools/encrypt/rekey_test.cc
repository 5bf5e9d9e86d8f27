#include "tabane/tools/encrypt/rekey.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tabane/core/file.h"
#include "tabane/core/files_test.h"
#include "tabane/core/temporary_file.h"
#include "tabane/core/text_of_error_test.h"
#include "tabane/crypto/secret.h"
#include "tabane/tools/encrypt/manifest_file.h"
#include "tabane/tools/encrypt/slot_vectors_test.h"
#include "tabane/tools/encrypt/tree_home.h"
#include "tabane/tools/encrypt/tree_keys.h"
#include "tabane/tools/encrypt/version_1_test.h"

namespace tabane::encrypt {
namespace {

namespace fs = std::filesystem;
using core::write_file;
using vectors::identity_of, vectors::name;

// A tree for a key file and the recipient 1.
class Rekey : public testing::Test {
 protected:
  Rekey() {
    const std::vector recipients = {identity_of(1).recipient};
    Openers openers;
    openers.key = &master;
    openers.recipients = recipients;
    seal = make_new_seal(openers);
    fs::create_directory(root / ".tabane");
    write_file(root / ".tabane/keys",
               as_text(encode_keys_file({seal.header.tree, seal.slots}, seal.key)));
    ManifestFileWriter manifest(
        std::make_shared<const core::Descriptor>(core::open_directory(root / ".tabane")),
        fresh_seal(seal, Content::manifest), {.tree_id = seal.header.tree});
    manifest.add({.path = "", .mode = 0755});
    manifest.commit(false);
  }

  NewOpeners openers(std::initializer_list<unsigned> recipients) const {
    NewOpeners now;
    now.passphrase_log2_n = 10;
    for (const unsigned first : recipients) {
      now.recipients.push_back(identity_of(first).recipient);
    }
    return now;
  }
  std::string rekey_with(const OpeningKeys& keys, const NewOpeners& now) const {
    KeyRing ring(keys);
    return rekey(root.string(), ring, now);
  }
  // The beginning of a sealed file.
  void put_file(const char* path, const TreeSeal& by) const {
    Header header = by.header;
    crypto::fill_random(header.file_salt);
    const auto fixed = encode_header(header, derive_file_keys(header, by.key));
    write_file(root / path, as_text(Bytes(fixed.begin(), fixed.end())) + as_text(by.embedded));
  }
  std::string keys() const { return core::read_file(root / ".tabane/keys"); }

  // Whether this gives the tree's key; the MAC of the file must fit it.
  bool opens(const OpeningKeys& with) const {
    const std::string text = keys();
    const auto bytes = std::as_bytes(std::span(text));
    const KeysFile file = decode_keys_file(bytes);
    KeyRing ring(with);
    const auto key = ring.open(file.tree, file.slots);
    if (!key) return false;
    EXPECT_TRUE(mac_fits(bytes, file.tree, *key));
    EXPECT_EQ(file.tree, seal.header.tree);
    return hex(key->bytes()) == hex(seal.key.bytes());
  }
  bool opens(unsigned identity) const {
    const Identity own = identity_of(identity);
    return opens(OpeningKeys{.key = nullptr, .passphrase = nullptr, .identities = {&own, 1}});
  }

  const core::ScratchFolder folder{"tabane-test"};
  const fs::path root = folder.path();
  const MasterKey master = vectors::master();
  const OpeningKeys with_master{.key = &master, .passphrase = nullptr, .identities = {}};
  TreeSeal seal;
};

TEST_F(Rekey, MakesTheTreeOpenForThoseThatAreNamedAndNobodyElse) {
  EXPECT_EQ(openers_of(root.string()), "a key file and the recipient " + name(1));
  EXPECT_EQ(rekey_with(with_master, openers({2, 3})),
            "the recipients " + name(2) + " and " + name(3));
  EXPECT_TRUE(opens(2) && opens(3));
  EXPECT_FALSE(opens(1) || opens(with_master));
}

TEST_F(Rekey, KeepsThoseWhoCanOpenItIfAsked) {
  NewOpeners more = openers({2, 1});
  more.keeps = true;
  EXPECT_EQ(rekey_with(with_master, more),
            "a key file and the recipients " + name(2) + " and " + name(1));
  EXPECT_TRUE(opens(1) && opens(2) && opens(with_master));
}

TEST_F(Rekey, KeepsEachOnce) {
  NewOpeners more = openers({2, 1, 2});
  more.keeps = true;
  more.key = vectors::master();
  EXPECT_EQ(rekey_with(with_master, more),
            "a key file and the recipients " + name(2) + " and " + name(1));
  EXPECT_EQ(rekey_with(with_master, openers({3, 3})), "the recipient " + name(3));
  EXPECT_TRUE(opens(3));
}

TEST_F(Rekey, OpensWithAnIdentityAndTakesAKeyFileOrPassphrase) {
  const Identity own = identity_of(1);
  const OpeningKeys with_own{.key = nullptr, .passphrase = nullptr, .identities = {&own, 1}};
  NewOpeners now = openers({});
  now.passphrase = crypto::Passphrase::of(from_text("a short passphrase"));
  now.key = vectors::counting_key<MasterKey>(9);
  rekey_with(with_own, now);
  const OpeningKeys by_phrase{.key = nullptr, .passphrase = &now.passphrase, .identities = {}};
  const MasterKey other = vectors::counting_key<MasterKey>(9);
  const OpeningKeys by_key{.key = &other, .passphrase = nullptr, .identities = {}};
  EXPECT_TRUE(opens(by_phrase) && opens(by_key));
  EXPECT_FALSE(opens(1));
  now.keeps = true;
  now.key.reset();
  EXPECT_EQ(rekey_with(by_key, now), "a key file and a passphrase");  // the new one only
}

TEST_F(Rekey, RefusesWhoCannotOpenTheTree) {
  const std::string before = keys();
  const MasterKey other = vectors::counting_key<MasterKey>(77);
  try {
    rekey_with({.key = &other, .passphrase = nullptr, .identities = {}}, openers({2}));
    ADD_FAILURE();
  } catch (const WrongKey& error) {
    EXPECT_EQ(error.expected(), "a key file and the recipient " + name(1));
  }
  EXPECT_THROW(rekey_with(with_master, openers({})), core::UsageError);
  EXPECT_EQ(keys(), before);
}

TEST_F(Rekey, RefusesAKeyThatNothingShowsToBeOfTheTree) {
  const std::string before = keys();
  fs::remove(root / ".tabane/manifest");
  EXPECT_THROW(rekey_with(with_master, openers({2})), core::Error);
  put_file("a", seal);
  EXPECT_THROW(rekey_with(with_master, openers({2})), core::Error);
  EXPECT_EQ(keys(), before);
}

// Anybody can take the tree's id for a key of his own.
TEST_F(Rekey, AsksEveryFileThatATreeHasSealed) {
  const std::string before = keys();
  put_file("a", seal);
  write_file(root / "b", "no sealed file");
  Header header;
  write_file(root / "c", seal_version_1("an older one", header, master));
  const Openers anybody{.key = &master};
  for (const TreeSeal& other :
       {make_new_seal(anybody), make_seal(seal.header.tree, TreeKey(), seal.slots)}) {
    put_file("d", other);
    EXPECT_NE(
        core::text_of_error([&] { rekey_with(with_master, openers({2})); }).find("does not fit d"),
        std::string::npos);
    EXPECT_EQ(keys(), before);
  }
  put_file("d", seal);
  EXPECT_EQ(rekey_with(with_master, openers({2})), "the recipient " + name(2));
}

TEST_F(Rekey, WritesAChangedFileOfKeysAnewButKeepsNobodyOfIt) {
  const std::string good = keys();
  NewOpeners more = openers({2});
  more.keeps = true;
  std::string bad_mac = good, planted = good;
  bad_mac.back() = static_cast<char>(bad_mac.back() ^ 1);
  TreeKey unknown;
  const Slot slot = slot_of_recipient(identity_of(1).recipient, seal.header.tree, unknown);
  const auto table = encode_slots({{slot}});
  planted.insert(26, reinterpret_cast<const char*>(table.data()) + 2, table.size() - 2);
  const Identity own = identity_of(1);
  const OpeningKeys with_own{.key = nullptr, .passphrase = nullptr, .identities = {&own, 1}};
  for (const std::string& bad : {bad_mac, planted}) {
    for (const OpeningKeys& with : {with_master, with_own}) {
      write_file(root / ".tabane/keys", bad);
      EXPECT_THROW(rekey_with(with, more), core::Error);
      EXPECT_EQ(keys(), bad);
      EXPECT_EQ(rekey_with(with, openers({2})), "the recipient " + name(2));
      EXPECT_TRUE(opens(2));
    }
  }
}

TEST_F(Rekey, RefusesADamagedOrMissingFileOfKeys) {
  std::string bad = keys();
  bad[3] = static_cast<char>(bad[3] ^ 1);
  write_file(root / ".tabane/keys", bad);
  EXPECT_THROW(rekey_with(with_master, openers({2})), core::Error);
  EXPECT_EQ(keys(), bad);
  fs::remove(root / ".tabane/keys");
  EXPECT_THROW(rekey_with(with_master, openers({2})), core::Error);
  write_file(root / "file", "");
  KeyRing ring(with_master);
  EXPECT_THROW(rekey((root / "file").string(), ring, openers({2})), core::UsageError);
  EXPECT_THROW(rekey((root / "absent").string(), ring, openers({2})), core::SystemError);
}

}  // namespace
}  // namespace tabane::encrypt
