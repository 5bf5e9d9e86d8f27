#include "tabane/tools/encrypt/key_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "tabane/crypto/secret.h"
#include "tabane/tools/encrypt/bytes_test.h"
#include "tabane/tools/encrypt/slot_vectors_test.h"
#include "tabane/tools/encrypt/tree_keys.h"

namespace tabane::encrypt {
namespace {

Header header_with(int log2_n, int r, int p, int salt = 0) {
  Header header{
      .source = KeySource::scrypt, .chunk_log2 = kChunkLog2, .scrypt = {}, .file_salt = {}};
  header.scrypt.log2_n = static_cast<std::uint8_t>(log2_n);
  header.scrypt.r = static_cast<std::uint8_t>(r);
  header.scrypt.p = static_cast<std::uint8_t>(p);
  header.scrypt.salt[0] = static_cast<std::byte>(salt);
  return header;
}

class Ring : public testing::Test {
 protected:
  std::uint64_t offset_of_refusal(KeyRing& ring, const Header& header) const {
    try {
      ring.master_for(header);
    } catch (const DamageError& error) {
      EXPECT_NE(std::string(error.what()).find("--allow-costly-passphrase"), std::string::npos);
      return error.offset();
    }
    return 0;
  }

  const crypto::Passphrase passphrase = crypto::Passphrase::of(from_text("a short passphrase"));
  const OpeningKeys given{.key = nullptr, .passphrase = &passphrase, .identities = {}};
  // A refusal comes before the derivation: one that was begun would end as stopped.
  KeyRing refusing{given, {}, [] { return true; }};
};

TEST_F(Ring, RefusesMoreWorkOrMemoryThanItsLimits) {
  EXPECT_EQ(offset_of_refusal(refusing, header_with(18, 8, 5)), 11u);
  EXPECT_EQ(offset_of_refusal(refusing, header_with(20, 16, 1)), 11u);
  EXPECT_EQ(offset_of_refusal(refusing, header_with(21, 5, 1)), 11u);
  EXPECT_EQ(offset_of_refusal(refusing, header_with(22, 32, 16)), 11u);
}

TEST_F(Ring, TakesWhatIsWithinItsLimits) {
  EXPECT_THROW(refusing.master_for(header_with(18, 8, 1)), Stopped);
  EXPECT_THROW(refusing.master_for(header_with(18, 8, 4)), Stopped);
  EXPECT_THROW(refusing.master_for(header_with(20, 8, 1)), Stopped);
  KeyRing any(given, DerivationLimits::none(), [] { return true; });
  EXPECT_THROW(any.master_for(header_with(22, 32, 16)), Stopped);
}

TEST_F(Ring, DerivesOnceForEachSetAndAFewSetsOnly) {
  KeyRing ring(given);
  const MasterKey* const first = &ring.master_for(header_with(10, 1, 1, 1));
  for (const int salt : {2, 3, 4}) EXPECT_NE(&ring.master_for(header_with(10, 1, 1, salt)), first);
  EXPECT_EQ(offset_of_refusal(ring, header_with(10, 1, 1, 5)), 11u);
  EXPECT_EQ(&ring.master_for(header_with(10, 1, 1, 1)), first);
  KeyRing any(given, DerivationLimits::none());
  for (int salt = 0; salt < 6; ++salt) any.master_for(header_with(10, 1, 1, salt));
}

TEST_F(Ring, GivesTheKeyThatTheFormatSays) {
  KeyRing ring(given);
  const Header header = header_with(10, 1, 1);
  EXPECT_EQ(hex(ring.master_for(header).bytes()),
            hex(crypto::scrypt_key(passphrase.bytes(), header.scrypt).bytes()));
}

TEST_F(Ring, StopsDuringADerivation) {
  std::atomic<int> looks = 0;
  KeyRing ring(given, DerivationLimits::none(), [&] { return ++looks > 2; });
  EXPECT_THROW(ring.master_for(header_with(15, 8, 16)), Stopped);
  EXPECT_EQ(looks, 3);
}

Slot slot_with(int log2_n, int salt, const crypto::Passphrase& passphrase, const TreeKey& tree_key,
               int r = 1, int p = 1) {
  crypto::ScryptParameters scrypt = header_with(log2_n, r, p, salt).scrypt;
  // What costs too much is not derived here either.
  const MasterKey stretched =
      log2_n > 10 ? MasterKey{} : crypto::scrypt_key(passphrase.bytes(), scrypt);
  return slot_of_passphrase(stretched, scrypt, vectors::tree(), tree_key);
}

// Whoever can write to a tree can put slots before and behind the right one.
TEST_F(Ring, TriesEverySlotThatIsWithinItsLimits) {
  const TreeKey right = vectors::tree_key();
  const crypto::Passphrase foreign = crypto::Passphrase::of(from_text("another passphrase"));
  const Slot own = slot_with(10, 1, passphrase, right);
  const Slot costly = slot_with(20, 2, passphrase, right, 16);
  const auto planted = [&](int salt) { return slot_with(10, salt, foreign, right); };
  const Slot of_key_file = slot_of_key_file(vectors::master(), vectors::tree(), right);
  for (const std::vector<Slot>& slots :
       {std::vector{own}, std::vector{planted(2), own}, std::vector{own, planted(2)},
        std::vector{costly, planted(2), of_key_file, planted(3), planted(4), own, planted(5)}}) {
    KeyRing ring(given);
    const auto key = ring.open(vectors::tree(), slots);
    ASSERT_TRUE(key) << slots.size();
    EXPECT_EQ(hex(key->bytes()), hex(right.bytes()));
  }
  const std::vector<Slot> hidden = {costly,     of_key_file, planted(2), planted(3),
                                    planted(4), planted(5),  own};
  KeyRing ring(given);
  SlotTrials trials;
  const auto any = [](const TreeKey&) { return true; };
  EXPECT_FALSE(ring.open(vectors::tree(), hidden, any, &trials));
  EXPECT_EQ(trials.tried, 4u);
  EXPECT_EQ(trials.of_others, 1u);
  ASSERT_EQ(trials.skipped.size(), 2u);
  EXPECT_NE(trials.skipped[0].find("N = 2^20"), std::string::npos) << trials.skipped[0];
  EXPECT_NE(trials.skipped[1].find("4 sets"), std::string::npos) << trials.skipped[1];
  const std::string text = trials.text();
  EXPECT_TRUE(text.starts_with("no slot opened: 4 tried, 1 for other keys, 2 skipped (")) << text;
  EXPECT_THROW(ring.open(vectors::tree(), hidden), DamageError);
  KeyRing lifted(given, DerivationLimits::none());
  EXPECT_TRUE(lifted.open(vectors::tree(), std::span(hidden).subspan(1)));
}

TEST_F(Ring, TriesFurtherSlotsIfAKeyIsNotAccepted) {
  Identity own;
  own.secret = vectors::counting_key<crypto::X25519Secret>(1);
  own.recipient = crypto::x25519_public(own.secret);
  const TreeKey right = vectors::tree_key();
  const TreeKey planted = vectors::counting_key<TreeKey>(3);
  const std::vector<Slot> slots = {slot_of_recipient(own.recipient, vectors::tree(), planted),
                                   slot_of_recipient(own.recipient, vectors::tree(), right)};
  KeyRing ring({.key = nullptr, .passphrase = nullptr, .identities = {&own, 1}});
  const auto is_right = [&](const TreeKey& key) { return hex(key.bytes()) == hex(right.bytes()); };
  const auto key = ring.open(vectors::tree(), slots, is_right);
  ASSERT_TRUE(key);
  EXPECT_TRUE(is_right(*key));
}

// A header with its slots, sealed with the seal's key.
Bytes encoded(const TreeSeal& seal, Content content = Content::file) {
  Header header = seal.header;
  crypto::fill_random(header.file_salt);
  const auto fixed = encode_header(header, derive_file_keys(header, seal.key, content));
  Bytes bytes(fixed.size() + seal.embedded.size());
  std::ranges::copy(seal.embedded, std::ranges::copy(fixed, bytes.begin()).out);
  return bytes;
}

class RingOfTrees : public testing::Test {
 protected:
  TreeSeal new_tree() const {
    Openers openers;
    openers.recipients = {&own.recipient, 1};
    return make_new_seal(openers);
  }
  // The offset of the refusal, or 0.
  std::uint64_t refused(const Bytes& header, Content content = Content::file) {
    return damage_at([&] { ring.keys_of(decode_header(header), header, content); }).value_or(0);
  }

  const Identity own = vectors::identity_of(1);
  KeyRing ring{{.key = nullptr, .passphrase = nullptr, .identities = {&own, 1}}};
};

TEST_F(RingOfTrees, OpensFilesByTheirSlotsWhateverTheirTree) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(refused(encoded(new_tree())), 0u);
  const TreeSeal tree = new_tree();
  TreeKey other;
  crypto::fill_random(other.bytes());
  ring.set_tree(tree.header.tree, std::move(other));  // as a planted file of keys has it
  EXPECT_EQ(refused(encoded(tree)), 0u);
}

TEST_F(RingOfTrees, FollowsTheKeyThatItIsGivenForATree) {
  TreeSeal tree = new_tree();
  Bytes header = encoded(tree);
  KeyRing given{OpeningKeys{}};
  EXPECT_THROW(given.keys_of(decode_header(header), header), WrongKey);
  given.set_tree(tree.header.tree, std::move(tree.key));
  given.keys_of(decode_header(header), header);
}

TEST_F(RingOfTrees, TakesNoFileOfAnotherKeyThanTheManifests) {
  const TreeSeal tree = new_tree();
  Openers openers;
  openers.recipients = {&own.recipient, 1};
  TreeKey known;
  std::vector<Slot> slots = make_slots(openers, tree.header.tree, known);
  const TreeSeal planted = make_seal(tree.header.tree, std::move(known), std::move(slots));
  EXPECT_EQ(refused(encoded(tree)), 0u);
  EXPECT_EQ(refused(encoded(planted, Content::manifest), Content::manifest), 0u);
  EXPECT_EQ(refused(encoded(tree)), 64u);
  EXPECT_EQ(refused(encoded(planted)), 0u);
}

TEST_F(RingOfTrees, KeepsManifestsAndFilesApart) {
  const TreeSeal tree = new_tree();
  EXPECT_EQ(refused(encoded(tree, Content::manifest)), 64u);
  EXPECT_EQ(refused(encoded(tree), Content::manifest), 64u);
}

}  // namespace
}  // namespace tabane::encrypt
