#include "tabane/tools/encrypt/sealed_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>

#include "tabane/tools/encrypt/bytes_test.h"
#include "tabane/tools/encrypt/slot_vectors_test.h"

namespace tabane::encrypt {
namespace {

Header counting_header() {
  Header header;
  std::ranges::copy(counting(kFileSaltBytes, 100), header.file_salt.begin());
  return header;
}

Header scrypt_header() {
  Header header = counting_header();
  header.source = KeySource::scrypt;
  header.scrypt = {.log2_n = 10, .r = 8, .p = 1, .salt = {}};
  std::ranges::copy(counting(crypto::kScryptSaltBytes, 200), header.scrypt.salt.begin());
  return header;
}

Header tree_header() {
  Header header = counting_header();
  header.source = KeySource::tree_key;
  header.tree = vectors::tree();
  set_slots(header, vectors::table_of_file());
  return header;
}

Bytes encoded_tree() {
  const Header header = tree_header();
  const auto fixed = encode_header(header, derive_file_keys(header, vectors::tree_key()));
  const Bytes slots = embed_slots(vectors::table_of_file());
  Bytes bytes(fixed.size() + slots.size());
  std::ranges::copy(slots, std::ranges::copy(fixed, bytes.begin()).out);
  return bytes;
}

std::array<std::byte, kHeaderBytes> encoded(const Header& header, const MasterKey& master) {
  return encode_header(header, derive_file_keys(header, master));
}

constexpr std::size_t kAccepted = ~std::size_t{0};

// The offset of the error, or kAccepted.
std::size_t refused_at(std::span<const std::byte> bytes) {
  return damage_at([&] { decode_header(bytes); }).value_or(kAccepted);
}

std::size_t refused_with(std::size_t at, unsigned value, const Header& header = counting_header()) {
  auto bytes = encoded(header, vectors::master());
  bytes[at] = static_cast<std::byte>(value);
  return refused_at(bytes);
}

// All vectors of this file are those of tabane/tools/encrypt/sealed-format.md.
TEST(SealedHeader, IsTheOneOfThePublishedVector) {
  const FileKeys keys = derive_file_keys(counting_header(), vectors::master());
  EXPECT_EQ(hex(keys.key.bytes()),
            "37b46d6f6c5c8b9f27729c25b28c5f2b82af0ffe97e6176c1d67423f308abfdd");
  const auto bytes = encode_header(counting_header(), keys);
  EXPECT_EQ(hex(std::span(bytes).first(16)), "54424e5345414c010100100000000000");
  EXPECT_EQ(hex(std::span(bytes).subspan(16, 16)), std::string(32, '0'));
  EXPECT_EQ(hex(std::span(bytes).subspan(32, 32)), hex(counting(32, 100)));
  EXPECT_EQ(hex(std::span(bytes).subspan(64)),
            "6478253e581a231825e6766021ffb798e3eeaae78987b95dc25c757fe869f0a0");
}

TEST(SealedHeader, OfAPassphraseIsTheOneOfThePublishedVector) {
  const Header header = scrypt_header();
  const MasterKey master = crypto::scrypt_key(from_text("a short passphrase"), header.scrypt);
  EXPECT_EQ(hex(master.bytes()),
            "a02b4680b63e5db8a0c646124b78179199fcca08e39f2f709568052cf214716c");
  const FileKeys keys = derive_file_keys(header, master);
  EXPECT_EQ(hex(keys.key.bytes()),
            "e1362932a85f6d89038d4dc4ca78dbcb91f18b6e2554f1de25d8860bb0ff016f");
  const auto bytes = encode_header(header, keys);
  EXPECT_EQ(hex(std::span(bytes).first(16)), "54424e5345414c010101100a08010000");
  EXPECT_EQ(hex(std::span(bytes).subspan(64)),
            "8fc059209a56df1770ce36703c5a7444f9bd09669b5d9e9174bcde6834c68589");
}

TEST(SealedHeader, OfATreeIsTheOneOfThePublishedVector) {
  const Header header = tree_header();
  const FileKeys keys = derive_file_keys(header, vectors::tree_key());
  EXPECT_EQ(hex(keys.key.bytes()),
            "6d5f934b9fe48273491f6918062a791fab77f46f2cfd658715bf70db1dec920f");
  EXPECT_EQ(hex(header.slots_digest),
            "5180d41d6bff2ed687a5759cc838bc612a8e954c33ae38403ce508dd6e9e380e");
  const auto bytes = encode_header(header, keys);
  EXPECT_EQ(hex(std::span(bytes).first(16)), "54424e5345414c020102100000000000");
  EXPECT_EQ(hex(std::span(bytes).subspan(16, 16)), hex(counting(16, 50)));
  EXPECT_EQ(hex(std::span(bytes).subspan(32, 32)), hex(counting(32, 100)));
  EXPECT_EQ(hex(std::span(bytes).subspan(64)),
            "fc6e8e2c43c696426936b1326dd0ea4b184e54f7b9a59a8ebdaaf93e78837af0");
}

TEST(SealedHeader, OfATreeWithSeveralSlotsIsTheOneOfThePublishedVector) {
  Header header = tree_header();
  set_slots(header, vectors::table_of_all());
  const FileKeys keys = derive_file_keys(header, vectors::tree_key());
  EXPECT_EQ(hex(keys.key.bytes()),
            "4df650a7157a6fccd5876d7b7347fe9274f2041d7fbb28bf6ad37772a4fb4bb5");
  EXPECT_EQ(hex(keys.check), "de64d275fe3546404d1a1188d1a75d11fe8eb8d45bf938170b4fd67fd603e1dd");
}

TEST(SealedHeader, OfATreeComesBackAndSaysHowLongItIs) {
  const Bytes bytes = encoded_tree();
  const Header again = decode_header(bytes);
  EXPECT_EQ(again.bytes(), bytes.size());
  EXPECT_EQ(again.tree, vectors::tree());
  EXPECT_EQ(again.file_salt, tree_header().file_salt);
  EXPECT_EQ(again.slots_digest, tree_header().slots_digest);
  EXPECT_TRUE(all_zero(again.scrypt.salt));
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_EQ(header_bytes(std::span(bytes).first(n)), n < kSlotsAt ? kHeaderBytes : bytes.size());
  }
}

TEST(SealedHeader, OfATreeIsRefusedOrDoesNotFitItsKeyWhicheverBitIsFlipped) {
  const Bytes good = encoded_tree();
  const auto fits = [](const Bytes& bytes) {
    const FileKeys keys = derive_file_keys(decode_header(bytes), vectors::tree_key());
    return key_fits(std::span(bytes).first<kHeaderBytes>(), keys);
  };
  ASSERT_TRUE(fits(good));
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    Bytes bad = good;
    flip(bad, bit);
    if (refused_at(bad) != kAccepted) continue;  // a shorter length leaves bytes to the chunks
    EXPECT_FALSE(fits(bad)) << bit;
  }
}

TEST(SealedHeader, OfATreeIsRefusedAtTheFieldThatCannotBe) {
  const auto with = [](std::size_t at, unsigned value) {
    Bytes bytes = encoded_tree();
    bytes[at] = static_cast<std::byte>(value);
    return refused_at(bytes);
  };
  EXPECT_EQ(with(7, 1), 9u);  // version 1 has no tree
  EXPECT_EQ(with(9, 0), 9u);
  EXPECT_EQ(with(9, 1), 9u);
  for (const std::size_t at : {11, 12, 13}) EXPECT_EQ(with(at, 1), 11u) << at;
  EXPECT_EQ(with(99, 0), 96u);
  EXPECT_EQ(with(96, 1), 96u);
  EXPECT_EQ(with(97, 2), 96u);
  EXPECT_EQ(with(99, 255), encoded_tree().size());  // more slots than there are bytes
}

TEST(SealedHeader, OfATreeIsRefusedWhereverItIsCutShort) {
  const Bytes good = encoded_tree();
  EXPECT_EQ(refused_at(good), kAccepted);
  for (std::size_t n = 0; n < good.size(); ++n) {
    EXPECT_EQ(refused_at(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n))), n);
  }
}

TEST(SealedHeader, OfAManifestHasOtherKeysThanAFileWithTheSameHeader) {
  const FileKeys file = derive_file_keys(tree_header(), vectors::tree_key());
  const FileKeys manifest = derive_file_keys(tree_header(), vectors::tree_key(), Content::manifest);
  EXPECT_EQ(hex(manifest.key.bytes()),
            "d86493ae97a613cedf6decf334b39f98cc48b6668db0a8dead93acab6bbf0a70");
  EXPECT_EQ(hex(manifest.check),
            "cb40c3d1f558819533fcbdc07be3a419f21b2aa6055627eb5654febdc2f2012c");
  EXPECT_NE(manifest.check, file.check);
}

TEST(SealedHeader, ComesBackAsItWasWritten) {
  Header header = scrypt_header();
  header.chunk_log2 = 20;
  const auto bytes = encoded(header, vectors::master());
  const Header again = decode_header(bytes);
  EXPECT_EQ(again.source, header.source);
  EXPECT_EQ(again.chunk_bytes(), 1u << 20);
  EXPECT_TRUE(again.scrypt == header.scrypt);
  EXPECT_EQ(again.file_salt, header.file_salt);
  EXPECT_TRUE(key_fits(bytes, derive_file_keys(again, vectors::master())));
}

TEST(SealedHeader, IsRefusedOrDoesNotFitItsKeyWhicheverBitIsFlipped) {
  for (const Header& header : {counting_header(), scrypt_header()}) {
    const auto good = encoded(header, vectors::master());
    ASSERT_TRUE(key_fits(good, derive_file_keys(decode_header(good), vectors::master())));
    for (std::size_t bit = 0; bit < 8 * kHeaderBytes; ++bit) {
      auto bad = good;
      flip(bad, bit);
      if (refused_at(bad) != kAccepted) continue;
      EXPECT_FALSE(key_fits(bad, derive_file_keys(decode_header(bad), vectors::master()))) << bit;
    }
  }
}

TEST(SealedHeader, IsRefusedAtTheFieldThatCannotBe) {
  EXPECT_EQ(refused_with(0, 'X'), 0u);
  EXPECT_EQ(refused_with(6, 'X'), 0u);
  EXPECT_EQ(refused_with(7, 0), 7u);
  EXPECT_EQ(refused_with(7, 3), 7u);
  EXPECT_EQ(refused_with(7, 2), 9u);  // with the key of a tree only
  EXPECT_EQ(refused_with(8, 0), 8u);
  EXPECT_EQ(refused_with(8, 2), 8u);
  EXPECT_EQ(refused_with(9, 2), 9u);
  EXPECT_EQ(refused_with(10, 11), 10u);
  EXPECT_EQ(refused_with(10, 25), 10u);
  EXPECT_EQ(refused_with(14, 1), 14u);
  EXPECT_EQ(refused_with(15, 128), 14u);
}

TEST(SealedHeader, OfAKeyFileHasNothingOfScrypt) {
  EXPECT_EQ(refused_with(9, 1), 11u);
  for (const std::size_t at : {11, 12, 13}) EXPECT_EQ(refused_with(at, 1), 11u) << at;
  for (const std::size_t at : {16, 31}) EXPECT_EQ(refused_with(at, 1), 16u) << at;
}

TEST(SealedHeader, HasScryptParametersInsideTheirBounds) {
  const auto at = [](std::size_t where, unsigned value) {
    return refused_with(where, value, scrypt_header());
  };
  EXPECT_EQ(at(11, 9), 11u);
  EXPECT_EQ(at(11, 22), kAccepted);
  EXPECT_EQ(at(11, 23), 11u);
  EXPECT_EQ(at(12, 0), 11u);
  EXPECT_EQ(at(12, 32), kAccepted);
  EXPECT_EQ(at(12, 33), 11u);
  EXPECT_EQ(at(13, 0), 11u);
  EXPECT_EQ(at(13, 16), kAccepted);
  EXPECT_EQ(at(13, 17), 11u);
  Header narrow = scrypt_header();
  narrow.scrypt.r = 1;
  EXPECT_EQ(refused_with(11, 15, narrow), kAccepted);
  EXPECT_EQ(refused_with(11, 16, narrow), 11u);
}

TEST(SealedHeader, IsRefusedWhereverItIsCutShort) {
  const auto good = encoded(counting_header(), vectors::master());
  EXPECT_EQ(refused_at(good), kAccepted);
  for (std::size_t n = 0; n < kHeaderBytes; ++n) {
    EXPECT_EQ(refused_at(std::span(good).first(n)), n);
  }
}

TEST(SealedHeader, DoesNotFitAnotherKey) {
  const auto bytes = encoded(counting_header(), vectors::master());
  for (std::size_t bit = 0; bit < 8 * kMasterKeyBytes; bit += 5) {
    MasterKey other = vectors::master();
    flip(other.bytes(), bit);
    EXPECT_FALSE(key_fits(bytes, derive_file_keys(counting_header(), other))) << bit;
  }
}

TEST(FileKeys, AreTheSameInEveryThread) {
  std::string check;
  std::thread([&] {
    check = hex(derive_file_keys(counting_header(), vectors::master()).check);
  }).join();
  EXPECT_EQ(check, hex(derive_file_keys(counting_header(), vectors::master()).check));
}

TEST(SealedBytes, CountHeaderContentAndATagForEachChunk) {
  EXPECT_EQ(sealed_bytes(0), 96u + 16);
  EXPECT_EQ(sealed_bytes(1), 96u + 1 + 16);
  EXPECT_EQ(sealed_bytes(65535), 96u + 65535 + 16);
  EXPECT_EQ(sealed_bytes(65536), 96u + 65536 + 16);
  EXPECT_EQ(sealed_bytes(65537), 96u + 65537 + 32);
  EXPECT_EQ(sealed_bytes(4097, 12), 96u + 4097 + 32);
}

TEST(SealedBytes, EndAtTheChunksThatTheNonceCanCount) {
  const std::uint64_t most = std::uint64_t{1} << 48;
  EXPECT_EQ(opened_bytes(sealed_bytes(most)), most);
  EXPECT_THROW(sealed_bytes(most + 1), core::Error);
  EXPECT_THROW(sealed_bytes(~std::uint64_t{0}), core::Error);
  EXPECT_THROW(opened_bytes(sealed_bytes(most) + 17), DamageError);
  EXPECT_THROW(opened_bytes(~std::uint64_t{0}), DamageError);
}

TEST(OpenedBytes, AreTheInverseOfSealedBytesAndDefinedForNoOtherSize) {
  constexpr int kLog2 = 12;
  constexpr std::uint64_t kMost = 3 * 4096 + 40;
  std::set<std::uint64_t> legal;
  for (std::uint64_t n = 0; n <= kMost; ++n) {
    EXPECT_EQ(opened_bytes(sealed_bytes(n, kLog2), kLog2), n);
    legal.insert(sealed_bytes(n, kLog2));
  }
  for (std::uint64_t size = 0; size <= sealed_bytes(kMost, kLog2); ++size) {
    if (legal.contains(size)) continue;
    EXPECT_THROW(opened_bytes(size, kLog2), DamageError) << size;
  }
}

TEST(OpenedBytes, NameWhereTheFileDoesNotFit) {
  const auto offset = [](std::uint64_t size) { return damage_at([=] { opened_bytes(size); }); };
  EXPECT_EQ(offset(95), 95u);
  EXPECT_EQ(offset(96), 96u);
  EXPECT_EQ(offset(111), 96u);
  EXPECT_EQ(offset(96 + 65536 + 16 + 16), 96u + 65536 + 16);
}

TEST(SealedChunk, DoesNotOpenInAnotherFile) {
  for (const crypto::Engine engine : engines_here()) {
    crypto::ChunkCipher cipher(engine);
    Header header;
    MasterKey master;
    const FileKeys one = derive_file_keys(header, master);
    header.file_salt[0] = std::byte{1};
    const FileKeys other = derive_file_keys(header, master);
    cipher.set_key(one.key.bytes());
    const Bytes of_one = seal_chunk(cipher, 0, true, from_text("x"));
    Bytes plain(1);
    cipher.set_key(other.key.bytes());
    EXPECT_FALSE(cipher.open(0, true, of_one, plain));
    EXPECT_NE(seal_chunk(cipher, 0, true, from_text("x")), of_one);
    cipher.set_key(one.key.bytes());
    EXPECT_TRUE(cipher.open(0, true, of_one, plain));
  }
}

}  // namespace
}  // namespace tabane::encrypt
