#include "tabane/workloads/aes_dir/key_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "tabane/workloads/aes_dir/slot_vectors.h"
#include "tabane/workloads/aes_dir/test_bytes.h"
#include "tabane/workloads/aes_dir/tree_seal.h"

namespace tabane::workloads::aes_dir {
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

  const Passphrase passphrase{from_text("a short passphrase")};
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
            hex(derive_master_key(passphrase.bytes(), header.scrypt).bytes()));
}

TEST_F(Ring, StopsDuringADerivation) {
  std::atomic<int> looks = 0;
  KeyRing ring(given, DerivationLimits::none(), [&] { return ++looks > 2; });
  EXPECT_THROW(ring.master_for(header_with(15, 8, 16)), Stopped);
  EXPECT_EQ(looks, 3);
}

// A header with its slots, sealed with the seal's key.
Bytes encoded(const TreeSeal& seal, Content content = Content::file) {
  Header header = seal.header;
  fill_random(header.file_salt);
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
  fill_random(other.bytes());
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
}  // namespace tabane::workloads::aes_dir
