#include "tabane/crypto/chunk_cipher.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tabane/crypto/bytes_test.h"
#include "tabane/crypto/openssl.h"

namespace tabane::crypto {
namespace {

using Key = std::array<std::byte, 32>;

Key key_of(std::string_view digits) {
  Key key;
  std::ranges::copy(from_hex(digits), key.begin());
  return key;
}

// Of tabane/tools/encrypt/sealed-format.md.
Key published_key() {
  return key_of("37b46d6f6c5c8b9f27729c25b28c5f2b82af0ffe97e6176c1d67423f308abfdd");
}

// AES-256-GCM by OpenSSL alone: ciphertext || tag.
Bytes gcm(std::span<const std::byte> key, const Bytes& nonce, const Bytes& plain) {
  const CipherContext context(EVP_CIPHER_CTX_new());
  Bytes sealed(plain.size() + kTagBytes);
  int size = 0, rest = 0;
  EXPECT_EQ(EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, in(key), in(nonce)), 1);
  EXPECT_EQ(EVP_EncryptUpdate(context.get(), out(sealed), &size, in(plain),
                              static_cast<int>(plain.size())),
            1);
  EXPECT_EQ(EVP_EncryptFinal_ex(context.get(), out(sealed) + size, &rest), 1);
  EXPECT_EQ(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes,
                                out(sealed) + plain.size()),
            1);
  return sealed;
}

bool opens(ChunkCipher& cipher, std::uint32_t index, bool last, const Bytes& sealed, Bytes& plain) {
  plain.assign(sealed.size() - kTagBytes, std::byte{0xEE});
  return cipher.open(index, last, sealed, plain);
}

class SealedChunk : public testing::TestWithParam<Engine> {
 protected:
  SealedChunk() { cipher_.set_key(published_key()); }

  ChunkCipher cipher_{GetParam()};
  Bytes plain_;
};

TEST_P(SealedChunk, IsTheOneOfThePublishedVectors) {
  EXPECT_EQ(hex(seal_chunk(cipher_, 0, true, from_text("tabane"))),
            "8888cf414f15f87cfe90c13593e7314acfc29e74f470");
  EXPECT_EQ(hex(seal_chunk(cipher_, 0, true, {})), "05bde569f8bb4c898747a9653d9efd2c");
  EXPECT_EQ(hex(seal_chunk(cipher_, 258, false, from_text("tabane"))),
            "875032e43ef03d5d8510695a5815b26bcbeb89025380");
  cipher_.set_key(key_of("e1362932a85f6d89038d4dc4ca78dbcb91f18b6e2554f1de25d8860bb0ff016f"));
  EXPECT_EQ(hex(seal_chunk(cipher_, 0, true, from_text("tabane"))),
            "81620c0042489070ffa340085b2916f550a329d7b8c6");
  EXPECT_EQ(hex(seal_chunk(cipher_, 0, true, {})), "b76249455eb04e7334544b78ee9eacd6");
}

// McGrew and Viega, The Galois/Counter Mode of Operation: key and nonce are 0.
TEST_P(SealedChunk, IsTheOneOfTestCases13And14OfGcm) {
  cipher_.set_key(Key{});
  EXPECT_EQ(hex(seal_chunk(cipher_, 0, false, {})), "530f8afbc74536b9a963b4f1c4cb738b");
  EXPECT_EQ(hex(seal_chunk(cipher_, 0, false, Bytes(16))),
            "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919");
}

TEST_P(SealedChunk, IsAes256GcmWithTheNonceOfItsPlace) {
  // The reference first: test case 15 of McGrew and Viega.
  ASSERT_EQ(hex(gcm(from_hex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"),
                    from_hex("cafebabefacedbaddecaf888"),
                    from_hex("d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                             "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255"))),
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
            "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad"
            "b094dac5d93471bdec1a502270e3cc6c");
  std::mt19937_64 random(1);
  for (std::size_t n = 0; n < 700; n = n < 300 ? n + 1 : n + 37) {
    Key key;
    std::ranges::copy(random_bytes(32, random), key.begin());
    cipher_.set_key(key);
    const Bytes plain = random_bytes(n, random);
    const Bytes place = random_bytes(4, random);
    const bool last = n % 2 == 1;
    Bytes nonce(7);
    nonce.insert(nonce.end(), place.begin(), place.end());
    nonce.push_back(std::byte{last});
    std::uint32_t index = 0;
    for (const std::byte b : place) index = index << 8 | std::to_integer<std::uint32_t>(b);
    const Bytes expected = gcm(key, nonce, plain);
    EXPECT_EQ(seal_chunk(cipher_, index, last, plain), expected) << n;
    EXPECT_TRUE(opens(cipher_, index, last, expected, plain_)) << n;
    EXPECT_EQ(plain_, plain) << n;
  }
}

TEST_P(SealedChunk, HasTheSameBytesByOpensslAndComesBackAlsoInPlace) {
  ChunkCipher reference(Engine::openssl);
  reference.set_key(published_key());
  std::mt19937_64 random(2);
  for (const std::size_t n : {0, 1, 15, 16, 17, 4095, 4096, 65535, 65536, 65537, 1 << 20}) {
    const Bytes plain = random_bytes(n, random);
    const Bytes sealed = seal_chunk(reference, 7, false, plain);
    Bytes buffer = plain;
    buffer.resize(n + kTagBytes);
    cipher_.seal(7, false, std::span(buffer).first(n), buffer);
    EXPECT_EQ(buffer, sealed) << n;
    EXPECT_TRUE(cipher_.open(7, false, buffer, std::span(buffer).first(n))) << n;
    buffer.resize(n);
    EXPECT_EQ(buffer, plain) << n;
  }
}

TEST_P(SealedChunk, OfNoBytesNeedsNoMemoryForThem) {
  std::array<std::byte, kTagBytes> sealed;
  cipher_.seal(0, true, std::span<const std::byte>(), sealed);
  EXPECT_EQ(hex(sealed), "05bde569f8bb4c898747a9653d9efd2c");
  EXPECT_TRUE(cipher_.open(0, true, sealed, std::span<std::byte>()));
  EXPECT_FALSE(cipher_.open(0, false, sealed, std::span<std::byte>()));
}

TEST_P(SealedChunk, DoesNotOpenAtAnotherPlaceNorAsLast) {
  const Bytes sealed = seal_chunk(cipher_, 1, false, from_text("the second of several chunks"));
  for (const std::uint32_t index : {0u, 2u, 256u, 1u << 16, 1u << 24, 0x1000001u, ~0u}) {
    EXPECT_FALSE(opens(cipher_, index, false, sealed, plain_)) << index;
  }
  EXPECT_FALSE(opens(cipher_, 1, true, sealed, plain_));
  EXPECT_TRUE(opens(cipher_, 1, false, sealed, plain_));
}

TEST_P(SealedChunk, DoesNotOpenWithAnyBitFlippedAndLeavesNoPlainText) {
  const Bytes sealed = seal_chunk(cipher_, 1, false, counting(100, 1));
  for (std::size_t bit = 0; bit < 8 * sealed.size(); ++bit) {
    Bytes bad = sealed;
    flip(bad, bit);
    EXPECT_FALSE(opens(cipher_, 1, false, bad, plain_)) << bit;
    EXPECT_TRUE(all_zero(plain_)) << bit;
  }
  EXPECT_TRUE(opens(cipher_, 1, false, sealed, plain_));
}

TEST_P(SealedChunk, DoesNotOpenCutShortAtAnyLength) {
  const Bytes sealed = seal_chunk(cipher_, 0, true, counting(40, 1));
  for (std::size_t n = kTagBytes; n < sealed.size(); ++n) {
    EXPECT_FALSE(opens(cipher_, 0, true, {sealed.begin(), sealed.begin() + n}, plain_)) << n;
  }
}

TEST_P(SealedChunk, IsSealedRightAfterOneThatDidNotOpen) {
  const Bytes sealed = seal_chunk(cipher_, 3, true, counting(33));
  Bytes bad = sealed;
  flip(bad, 0);
  EXPECT_FALSE(opens(cipher_, 3, true, bad, plain_));
  EXPECT_EQ(seal_chunk(cipher_, 3, true, counting(33)), sealed);
}

std::string name_of(const testing::TestParamInfo<Engine>& tested) {
  return tested.param == Engine::openssl ? "Openssl" : "IpsecMb";
}

INSTANTIATE_TEST_SUITE_P(ByEveryEngine, SealedChunk, testing::ValuesIn(engines_here()), name_of);

TEST(Engine, IsNeverAutomaticOnceResolved) {
  EXPECT_EQ(resolve(Engine::openssl), Engine::openssl);
  EXPECT_EQ(resolve(Engine::automatic), ipsec_mb_available() ? Engine::ipsec_mb : Engine::openssl);
  if (ipsec_mb_available()) {
    EXPECT_EQ(resolve(Engine::ipsec_mb), Engine::ipsec_mb);
  } else {
    EXPECT_THROW(resolve(Engine::ipsec_mb), core::UsageError);
  }
}

}  // namespace
}  // namespace tabane::crypto
