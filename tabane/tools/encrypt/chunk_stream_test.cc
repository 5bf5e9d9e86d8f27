#include "tabane/tools/encrypt/chunk_stream.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tabane/tools/encrypt/bytes_test.h"

namespace tabane::encrypt {
namespace {

constexpr std::size_t kChunk = 4096, kBegin = 96;

const FileKeys& keys() {
  static const FileKeys some = [] {
    FileKeys made;
    std::ranges::copy(counting(32), made.key.bytes().begin());
    return made;
  }();
  return some;
}

Bytes seal(const Bytes& plain, std::size_t step) {
  Bytes sealed;
  ChunkWriter writer(keys(), kChunk, sink_into(sealed));
  for (std::size_t at = 0; at < plain.size(); at += step) {
    writer.put(std::span(plain).subspan(at, std::min(step, plain.size() - at)));
  }
  writer.finish();
  return sealed;
}

Bytes open(const Bytes& sealed, std::size_t step) {
  ChunkReader reader(keys(), kChunk, kBegin, source_of(sealed));
  Bytes plain;
  for (;;) {
    Bytes piece(step);
    const std::size_t here = reader.get(piece);
    plain.insert(plain.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(here));
    if (here < step) return plain;
  }
}

std::uint64_t damage(const Bytes& sealed) {
  return damage_at([&] { open(sealed, 1000); }).value_or(0);
}

TEST(ChunkStream, WritesTheChunksOfASealedFileAndReadsThemAgain) {
  std::mt19937_64 random(1);
  for (const std::size_t bytes : {0, 1, 4095, 4096, 4097, 8192, 20000}) {
    const Bytes plain = random_bytes(bytes, random);
    const Bytes sealed = seal(plain, 777);
    EXPECT_EQ(sealed.size() + kHeaderBytes, sealed_bytes(bytes, 12));
    EXPECT_EQ(seal(plain, 100'000), sealed);
    EXPECT_EQ(open(sealed, 1), plain);
    EXPECT_EQ(open(sealed, 50'000), plain);
    crypto::ChunkCipher cipher(crypto::Engine::openssl);
    cipher.set_key(keys().key.bytes());
    Bytes first(std::min(bytes, kChunk));
    EXPECT_TRUE(cipher.open(0, bytes <= kChunk,
                            std::span(sealed).first(first.size() + crypto::kTagBytes), first));
  }
}

TEST(ChunkStream, NamesTheOffsetOfWhatWasDamaged) {
  std::mt19937_64 random(2);
  const Bytes sealed = seal(random_bytes(10'000, random), 5000);
  constexpr std::size_t kWhole = kChunk + crypto::kTagBytes;
  for (std::size_t bit = 0; bit < 8 * sealed.size(); bit += 997) {
    Bytes bad = sealed;
    flip(bad, bit);
    EXPECT_EQ(damage(bad), kBegin + bit / 8 / kWhole * kWhole);
  }
  for (std::size_t bytes = 0; bytes < sealed.size(); bytes += 13) {
    EXPECT_NE(damage(Bytes(sealed.begin(), sealed.begin() + std::ptrdiff_t(bytes))), 0u) << bytes;
  }
  EXPECT_NE(damage(Bytes(sealed.begin(), sealed.begin() + kWhole)), 0u);
  Bytes longer = sealed;
  for (int i = 0; i < 40; ++i) {
    longer.push_back(std::byte{0});
    EXPECT_NE(damage(longer), 0u);
  }
  Bytes exchanged = sealed;
  std::swap_ranges(exchanged.begin(), exchanged.begin() + kWhole, exchanged.begin() + kWhole);
  EXPECT_EQ(damage(exchanged), kBegin);
}

}  // namespace
}  // namespace tabane::encrypt
