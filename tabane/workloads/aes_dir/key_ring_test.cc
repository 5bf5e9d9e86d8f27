#include "tabane/workloads/aes_dir/key_ring.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tabane/workloads/aes_dir/test_bytes.h"

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

}  // namespace
}  // namespace tabane::workloads::aes_dir
