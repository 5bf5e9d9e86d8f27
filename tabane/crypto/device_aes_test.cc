#include "tabane/crypto/device_aes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tabane/crypto/bytes_test.h"
#include "tabane/crypto/chunk_cipher.h"
#include "tabane/device/module.h"

namespace tabane::crypto {
namespace {

std::string encrypted(std::string_view key, std::string_view block) {
  const Bytes bytes = from_hex(block);
  Words words{};
  for (std::size_t i = 0; i < 16; ++i) {
    words[i / 4] |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * (i % 4));
  }
  words = encrypt_block(expand_key(from_hex(key)), words);
  return hex(std::as_bytes(std::span(words)));
}

// FIPS 197, appendix C.
TEST(AesBlock, IsThatOfTheStandard) {
  constexpr std::string_view kStandard = "00112233445566778899aabbccddeeff";
  EXPECT_EQ(encrypted("000102030405060708090a0b0c0d0e0f", kStandard),
            "69c4e0d86a7b0430d8cdb78070b4c55a");
  EXPECT_EQ(
      encrypted("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", kStandard),
      "8ea2b7ca516745bfeafc49904b496089");
}

// Appendix A.3, the last words.
TEST(AesKey, IsExpandedAsInTheStandard) {
  const RoundKeys keys =
      expand_key(from_hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"));
  EXPECT_EQ(keys.rounds, 14u);
  EXPECT_EQ(hex(std::as_bytes(std::span(keys.words[14]))), "fe4890d1e6188d0b046df344706c631e");
}

constexpr Polynomial kOne{std::uint64_t{1} << 63, 0}, kX{std::uint64_t{1} << 62, 0};

// McGrew and Viega, test cases 2 and 14: the hash key, and a product that they give.
TEST(GcmPolynomial, IsThatOfTheStandard) {
  const RoundKeys zero = expand_key(Bytes(16));
  const Polynomial h{0x66e94bd4ef8a2c3b, 0x884cfa59ca342b2e};
  EXPECT_EQ(hash_key(zero), h);
  const Polynomial c{0x0388dace60b6a392, 0xf328c2b971b2fe78};
  EXPECT_EQ(c * h, (Polynomial{0x5e2ec74691706288, 0x2c85b0685353deb7}));
}

TEST(GcmPolynomial, MultipliesAsAFieldDoes) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 50; ++i) {
    const Polynomial a{random(), random()}, b{random(), random()}, c{random(), random()};
    EXPECT_EQ(a * kOne, a);
    EXPECT_EQ(a * b, b * a);
    EXPECT_EQ((a * b) * c, a * (b * c));
    EXPECT_EQ((a + b) * c, a * c + b * c);
  }
}

TEST(GcmPolynomial, HasItsMultiplesByTheirCoefficients) {
  std::mt19937_64 random(8);
  const Polynomial base{random(), random()};
  const auto multiples = multiples_of(base);
  EXPECT_EQ(multiples[0], Polynomial{});
  EXPECT_EQ(multiples[8], base);
  EXPECT_EQ(multiples[4], base * kX);
  EXPECT_EQ(multiples[9], base + base * kX * kX * kX);
}

constexpr std::size_t kSlotBytes = std::size_t{1} << 20;

// What GPUs get, what CPUs get, and the least of each.
constexpr AesVariant kVariants[] = {{.tables = 1, .copies = 32, .items = 128, .group = 32},
                                    {.tables = 4, .copies = 1, .items = 4, .group = 4},
                                    {.tables = 1, .copies = 8, .items = 64, .group = 32},
                                    {.tables = 1, .copies = 1, .items = 1, .group = 1}};

class OnEachDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (device::devices().list.empty()) GTEST_SKIP() << device::devices().reason;
  }

  // With each device and each of the variants that it can run.
  static void with_each(const std::function<void(DeviceAes&)>& test) {
    for (std::size_t i = 0; i < device::devices().list.size(); ++i) {
      for (const AesVariant& variant : kVariants) {
        DeviceAes aes(device::open_device(i), 1, &variant);
        SCOPED_TRACE(aes.device().description().name + ", copies: " +
                     std::to_string(variant.copies) + ", items: " + std::to_string(variant.items));
        test(aes);
      }
    }
  }

  std::mt19937_64 random_{18};
};

struct Chains {
  std::vector<ChainPiece> pieces;
  std::vector<Block> ivs;
};

// Chains of random bytes at places of the slot that have gaps between them.
Chains fill(DeviceSlot& slot, const std::vector<std::size_t>& lengths, std::mt19937_64& random) {
  Chains chains;
  chains.ivs.resize(lengths.size());
  std::size_t at = 16;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    std::ranges::copy(random_bytes(16, random), chains.ivs[i].begin());
    std::ranges::copy(random_bytes(lengths[i], random), slot.in().begin() + at);
    chains.pieces.push_back(
        {slot.in().data() + at, slot.out().data() + at, lengths[i], &chains.ivs[i]});
    at += lengths[i] + 32;
  }
  return chains;
}

void expect_chains(DeviceSlot& slot, const Bytes& key, const std::vector<std::size_t>& lengths,
                   std::mt19937_64& random) {
  Chains chains = fill(slot, lengths, random);
  CbcCipher reference(key, Engine::openssl);
  std::vector<Block> ivs = chains.ivs;
  std::vector<Bytes> expected;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    expected.emplace_back(lengths[i]);
    const ChainPiece piece{chains.pieces[i].in, expected[i].data(), lengths[i], &ivs[i]};
    reference.encrypt({&piece, 1});
  }
  slot.encrypt(chains.pieces);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(expected[i], std::span(chains.pieces[i].out, lengths[i])))
        << i << ": " << lengths[i] << " bytes";
    EXPECT_EQ(chains.ivs[i], ivs[i]) << i << ": " << lengths[i] << " bytes";
  }
}

TEST_F(OnEachDevice, ChainsHaveTheBytesOfTheOtherEngines) {
  with_each([&](DeviceAes& aes) {
    DeviceSlot slot(aes, kSlotBytes);
    for (const std::size_t key_bytes : {16, 32}) {
      const Bytes key = random_bytes(key_bytes, random_);
      slot.set_key(key);
      expect_chains(slot, key, {16}, random_);
      expect_chains(slot, key, {0, 16, 32, 4096, 0, 65536}, random_);
      expect_chains(slot, key, std::vector<std::size_t>(33, 48), random_);
      std::vector<std::size_t> lengths;
      for (int i = 0; i < 100; ++i) lengths.push_back(random_() % 40 * 16);
      expect_chains(slot, key, lengths, random_);
      expect_chains(slot, key, {}, random_);
      expect_chains(slot, key, {0, 0}, random_);
    }
  });
}

TEST_F(OnEachDevice, AChainGoesOnOverItsPieces) {
  with_each([&](DeviceAes& aes) {
    DeviceSlot slot(aes, kSlotBytes);
    const Bytes key = random_bytes(16, random_), plain = random_bytes(4096, random_);
    slot.set_key(key);
    Block iv{}, reference_iv{};
    Bytes expected(4096), found(4096);
    const ChainPiece whole{plain.data(), expected.data(), 4096, &reference_iv};
    CbcCipher(key, Engine::openssl).encrypt({&whole, 1});
    for (std::size_t done = 0; done < 4096; done += 512) {
      std::copy_n(plain.begin() + done, 512, slot.in().begin());
      const ChainPiece piece{slot.in().data(), slot.out().data(), 512, &iv};
      slot.encrypt({&piece, 1});
      std::copy_n(slot.out().begin(), 512, found.begin() + done);
    }
    EXPECT_TRUE(found == expected);
  });
}

// Step by step is the same work.
TEST_F(OnEachDevice, StepsGiveTheSame) {
  with_each([&](DeviceAes& aes) {
    DeviceSlot slot(aes, kSlotBytes);
    slot.set_key(random_bytes(16, random_));
    const Chains chains = fill(slot, {4096, 64, 32}, random_);
    const std::vector<Block> ivs = chains.ivs;
    Chains again = chains;
    for (std::size_t i = 0; i < ivs.size(); ++i) again.pieces[i].iv = &again.ivs[i];
    slot.encrypt(again.pieces);
    const Bytes expected(slot.out().begin(), slot.out().end());
    again.ivs = ivs;
    for (std::size_t i = 0; i < ivs.size(); ++i) again.pieces[i].iv = &again.ivs[i];
    std::ranges::fill(slot.out(), std::byte{0});
    DeviceSlot::Steps steps;
    slot.encrypt(again.pieces, &steps);
    EXPECT_GT(steps.to_device_s, 0);
    EXPECT_GT(steps.kernel_s, 0);
    EXPECT_GT(steps.from_device_s, 0);
    for (const ChainPiece& piece : again.pieces) {
      const auto at = piece.out - slot.out().data();
      EXPECT_TRUE(std::equal(piece.out, piece.out + piece.bytes, expected.begin() + at));
    }
  });
}

// And are opened again, with the tags that they should have.
TEST_F(OnEachDevice, ChunksHaveTheBytesOfTheOtherEngines) {
  with_each([&](DeviceAes& aes) {
    DeviceSlot slot(aes, kSlotBytes);
    std::vector<SecretBytes<32>> files(3);
    std::vector<DeviceFileKey> keys;
    for (SecretBytes<32>& file : files) {
      std::ranges::copy(random_bytes(32, random_), file.bytes().begin());
      keys.emplace_back(file.bytes(), aes.variant().items);
    }
    std::vector<DeviceChunk> chunks;
    std::vector<Bytes> plain;
    std::size_t at = 0;
    for (const std::uint32_t bytes : {0,    1,    15,    16,    17, 31, 32, 33,  100, 1000, 2047,
                                      2048, 4096, 65535, 65536, 63, 64, 65, 127, 128, 129}) {
      plain.push_back(random_bytes(bytes, random_));
      std::ranges::copy(plain.back(), slot.in().begin() + at);
      chunks.push_back({.place = static_cast<std::uint32_t>(at / 16),
                        .bytes = bytes,
                        .key = static_cast<std::uint32_t>(chunks.size() % 3),
                        .index = static_cast<std::uint32_t>(random_()),
                        .last = static_cast<std::uint32_t>(random_() % 2)});
      at += (bytes + 16 + 15) / 16 * 16;
    }
    slot.work(keys, chunks, at);
    ChunkCipher reference(Engine::openssl);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      const DeviceChunk& chunk = chunks[i];
      reference.set_key(files[chunk.key].bytes());
      const Bytes expected = seal_chunk(reference, chunk.index, chunk.last == 1, plain[i]);
      const auto found = slot.out().subspan(std::size_t{chunk.place} * 16, chunk.bytes + 16);
      EXPECT_TRUE(std::ranges::equal(expected, found)) << chunk.bytes << " bytes: " << hex(found);
    }
    std::ranges::copy(slot.out().first(at), slot.in().begin());
    std::ranges::fill(slot.out(), std::byte{0});
    for (DeviceChunk& chunk : chunks) chunk.opens = 1;
    slot.work(keys, chunks, at);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      const auto sealed =
          slot.in().subspan(std::size_t{chunks[i].place} * 16, chunks[i].bytes + 16);
      Bytes expected = plain[i];
      expected.insert(expected.end(), sealed.end() - 16, sealed.end());
      const auto found = slot.out().subspan(std::size_t{chunks[i].place} * 16, expected.size());
      EXPECT_TRUE(std::ranges::equal(expected, found)) << plain[i].size() << " bytes opened";
    }
  });
}

}  // namespace
}  // namespace tabane::crypto
