#include "tabane/crypto/cbc_cipher.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tabane/crypto/bytes_test.h"
#include "tabane/crypto/openssl.h"

namespace tabane::crypto {
namespace {

// SP 800-38A, F.2.
constexpr std::string_view kPlain =
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";
constexpr std::string_view kKey128 = "2b7e151628aed2a6abf7158809cf4f3c";
constexpr std::string_view kCipher128 =
    "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2"
    "73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7";
constexpr std::string_view kKey256 =
    "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4";
constexpr std::string_view kCipher256 =
    "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d"
    "39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b";

Block block(const Bytes& bytes) {
  Block result{};
  std::ranges::copy(bytes, result.begin());
  return result;
}

Bytes evp_chain(const Bytes& key, const Block& iv, const Bytes& plain) {
  const CipherContext context(EVP_CIPHER_CTX_new());
  Bytes result(plain.size());
  int size = 0;
  EXPECT_EQ(
      EVP_EncryptInit_ex(context.get(), key.size() == 16 ? EVP_aes_128_cbc() : EVP_aes_256_cbc(),
                         nullptr, in(key), in(iv)),
      1);
  EXPECT_EQ(EVP_CIPHER_CTX_set_padding(context.get(), 0), 1);
  EXPECT_EQ(EVP_EncryptUpdate(context.get(), out(result), &size, in(plain),
                              static_cast<int>(plain.size())),
            1);
  return result;
}

struct Chain {
  Block iv;
  Bytes plain, expected;
};

Chain random_chain(std::size_t bytes, const Bytes& key, std::mt19937_64& random) {
  Chain chain{.iv = block(random_bytes(kBlockBytes, random)),
              .plain = random_bytes(bytes, random),
              .expected = {}};
  chain.expected = evp_chain(key, chain.iv, chain.plain);
  return chain;
}

struct Case {
  Engine engine;
  std::size_t key_bytes;
};

class Cbc : public testing::TestWithParam<Case> {
 protected:
  // Encrypts chains of these lengths at once, decrypts what came, and compares with EVP.
  void expect_chains(const std::vector<std::size_t>& lengths, bool in_place) {
    CbcCipher cipher(key_, GetParam().engine);
    std::vector<Chain> chains;
    for (const std::size_t n : lengths) chains.push_back(random_chain(n, key_, random_));
    std::vector<Bytes> results;
    std::vector<Block> ivs;
    for (const Chain& chain : chains) {
      results.push_back(in_place ? chain.plain : Bytes(chain.plain.size()));
      ivs.push_back(chain.iv);
    }
    std::vector<ChainPiece> pieces;
    for (std::size_t i = 0; i < chains.size(); ++i) {
      const std::byte* from = in_place ? results[i].data() : chains[i].plain.data();
      pieces.push_back({from, results[i].data(), chains[i].plain.size(), &ivs[i]});
    }
    cipher.encrypt(pieces);
    for (std::size_t i = 0; i < chains.size(); ++i) {
      expect_chain(cipher, chains[i], results[i], ivs[i], in_place);
    }
  }

  void expect_chain(CbcCipher& cipher, const Chain& chain, const Bytes& result, const Block& iv,
                    bool in_place) {
    const std::size_t n = chain.plain.size();
    ASSERT_TRUE(result == chain.expected) << n << " bytes";
    const Block last = n == 0 ? chain.iv : block({result.end() - kBlockBytes, result.end()});
    EXPECT_EQ(iv, last) << n << " bytes";
    Bytes again = in_place ? result : Bytes(n);
    Block decrypt_iv = chain.iv;
    cipher.decrypt({in_place ? again.data() : result.data(), again.data(), n, &decrypt_iv});
    EXPECT_TRUE(again == chain.plain) << n << " bytes";
    EXPECT_EQ(decrypt_iv, last) << n << " bytes";
  }

  std::mt19937_64 random_{38};
  Bytes key_ = random_bytes(GetParam().key_bytes, random_);
};

TEST_P(Cbc, GivesTheKnownAnswersOfNist) {
  const bool aes_128 = GetParam().key_bytes == 16;
  const std::string_view expected = aes_128 ? kCipher128 : kCipher256;
  CbcCipher cipher(from_hex(aes_128 ? kKey128 : kKey256), GetParam().engine);
  const Bytes plain = from_hex(kPlain);
  for (std::size_t copies = 1; copies <= 17; ++copies) {
    std::vector<Bytes> results(copies, Bytes(plain.size()));
    std::vector<Block> ivs(copies, block(counting(kBlockBytes)));
    std::vector<ChainPiece> pieces;
    for (std::size_t i = 0; i < copies; ++i) {
      pieces.push_back({plain.data(), results[i].data(), plain.size(), &ivs[i]});
    }
    cipher.encrypt(pieces);
    for (const Bytes& result : results) EXPECT_EQ(hex(result), expected) << copies;
  }
  Bytes cipher_text = from_hex(expected), again(plain.size());
  Block iv = block(counting(kBlockBytes));
  cipher.decrypt({cipher_text.data(), again.data(), again.size(), &iv});
  EXPECT_EQ(hex(again), kPlain);
}

TEST_P(Cbc, OfAnyNumberOfChainsIsThatOfEachAlone) {
  for (const std::size_t n : {1, 2, 3, 7, 8, 9, 15, 16, 17, 33, 127, 128, 129, 300}) {
    expect_chains(std::vector<std::size_t>(n, 48), false);
    expect_chains(std::vector<std::size_t>(n, 1024), true);
  }
}

TEST_P(Cbc, OfMixedLengthsIsThatOfEachAlone) {
  for (int round = 0; round < 20; ++round) {
    std::vector<std::size_t> lengths;
    for (std::size_t n = 1 + random_() % 150; n > 0; --n) {
      lengths.push_back(random_() % (random_() % 8 == 0 ? 500 : 20) * kBlockBytes);
    }
    expect_chains(lengths, round % 2 == 0);
  }
}

// ipsec_mb is given a chain in cuts of 65520 bytes.
TEST_P(Cbc, OfLongChainsIsThatOfEachAlone) {
  for (const bool in_place : {false, true}) {
    expect_chains({65504, 65520, 65536, 131024, 131040, 131056, 16, 0, 1 << 20}, in_place);
    expect_chains({300000 / 16 * 16}, in_place);
    expect_chains({200000, 0, 0}, in_place);
    expect_chains(std::vector<std::size_t>(17, 65552), in_place);
  }
}

TEST_P(Cbc, OfNothingDoesNothing) {
  CbcCipher cipher(key_, GetParam().engine);
  cipher.encrypt({});
  Block iv = block(counting(kBlockBytes));
  const std::array<ChainPiece, 3> nothing{{{nullptr, nullptr, 0, &iv}, {}, {}}};
  cipher.encrypt(nothing);
  cipher.decrypt({nullptr, nullptr, 0, &iv});
  EXPECT_EQ(iv, block(counting(kBlockBytes)));
}

TEST_P(Cbc, ContinuesAChainOverItsPieces) {
  CbcCipher cipher(key_, GetParam().engine);
  const Chain one = random_chain(4096, key_, random_), two = random_chain(4096, key_, random_);
  Bytes of_one(4096), of_two(4096), again(4096);
  Block iv_one = one.iv, iv_two = two.iv, iv = one.iv;
  for (std::size_t done = 0; done < 4096; done += 512) {
    const std::array<ChainPiece, 2> pieces{
        {{one.plain.data() + done, of_one.data() + done, 512, &iv_one},
         {two.plain.data() + done, of_two.data() + done, 512, &iv_two}}};
    cipher.encrypt(pieces);
    cipher.decrypt({of_one.data() + done, again.data() + done, 512, &iv});
  }
  EXPECT_EQ(of_one, one.expected);
  EXPECT_EQ(of_two, two.expected);
  EXPECT_EQ(again, one.plain);
}

TEST_P(Cbc, HasOneLaneByOpensslAndSeveralByIpsecMb) {
  const std::size_t lanes = CbcCipher(key_, GetParam().engine).lanes();
  if (GetParam().engine == Engine::openssl) {
    EXPECT_EQ(lanes, 1u);
  } else {
    EXPECT_TRUE(lanes == 8 || lanes == 16) << lanes;
  }
}

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const Engine engine : engines_here()) {
    for (const std::size_t key_bytes : {16, 32}) result.push_back({engine, key_bytes});
  }
  return result;
}

std::string name_of_case(const testing::TestParamInfo<Case>& tested) {
  return std::string(tested.param.engine == Engine::openssl ? "Openssl" : "IpsecMb") +
         std::to_string(8 * tested.param.key_bytes);
}

INSTANTIATE_TEST_SUITE_P(ByEveryEngine, Cbc, testing::ValuesIn(cases()), name_of_case);

TEST(Pkcs7, PadsToTheNextBlockWithTheNumberOfBytesAdded) {
  for (std::size_t n = 0; n <= 48; ++n) {
    Bytes buffer(n + kBlockBytes + 1, std::byte{0xEE});
    const std::size_t padded = pad_pkcs7(buffer.data(), n);
    EXPECT_EQ(padded, (n / 16 + 1) * 16);
    EXPECT_EQ(buffer[padded], std::byte{0xEE});
    for (std::size_t i = n; i < padded; ++i) {
      EXPECT_EQ(std::to_integer<std::size_t>(buffer[i]), padded - n);
    }
    EXPECT_EQ(unpad_pkcs7(std::span(buffer).first(padded)), static_cast<std::ptrdiff_t>(n));
  }
}

// Whatever is before the padding may look like padding.
TEST(Pkcs7, TakesEveryLegalPaddingOffAndNoOther) {
  for (unsigned last = 0; last < 256; ++last) {
    for (unsigned filler : {0u, 1u, last, 255u}) {
      for (std::size_t run = 0; run <= kBlockBytes; ++run) {
        Bytes bytes(32, static_cast<std::byte>(filler));
        std::fill(bytes.end() - static_cast<std::ptrdiff_t>(run), bytes.end(),
                  static_cast<std::byte>(last));
        const unsigned at_end = run == 0 ? filler : last;
        std::size_t same = 0;
        while (same < 32 && bytes[31 - same] == static_cast<std::byte>(at_end)) ++same;
        const bool legal = at_end >= 1 && at_end <= 16 && same >= at_end;
        EXPECT_EQ(unpad_pkcs7(bytes), legal ? 32 - static_cast<std::ptrdiff_t>(at_end) : -1)
            << last << ' ' << filler << ' ' << run;
      }
    }
  }
}

TEST(Pkcs7, RefusesAPaddingWithAnyOfItsBytesChanged) {
  for (std::size_t pad = 2; pad <= kBlockBytes; ++pad) {
    Bytes good(32);
    pad_pkcs7(good.data(), 32 - pad);
    ASSERT_EQ(unpad_pkcs7(good), static_cast<std::ptrdiff_t>(32 - pad));
    for (std::size_t at = 32 - pad; at < 31; ++at) {
      Bytes bad = good;
      bad[at] ^= std::byte{0x40};
      EXPECT_EQ(unpad_pkcs7(bad), -1) << pad << ' ' << at;
    }
  }
}

}  // namespace
}  // namespace tabane::crypto
