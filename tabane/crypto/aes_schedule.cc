#include "tabane/crypto/aes_schedule.h"

#include <bit>

#include "tabane/core/error.h"
#include "tabane/crypto/secret.h"

namespace tabane::crypto {
namespace {

constexpr std::uint8_t doubled(std::uint8_t x) {
  return static_cast<std::uint8_t>((x << 1) ^ ((x >> 7) * 0x1b));
}

// FIPS 197, 5.1.1: the inverse in GF(2^8), then an affine map. p runs through the powers of 3, q
// through those of its inverse.
constexpr std::array<std::uint8_t, 256> make_sub_bytes() {
  std::array<std::uint8_t, 256> table{};
  std::uint8_t p = 1, q = 1;
  do {
    p = static_cast<std::uint8_t>(p ^ doubled(p));
    q = static_cast<std::uint8_t>(q ^ (q << 1));
    q = static_cast<std::uint8_t>(q ^ (q << 2));
    q = static_cast<std::uint8_t>(q ^ (q << 4));
    if (q & 0x80) q = static_cast<std::uint8_t>(q ^ 0x09);
    table[p] = static_cast<std::uint8_t>(q ^ std::rotl(q, 1) ^ std::rotl(q, 2) ^ std::rotl(q, 3) ^
                                         std::rotl(q, 4) ^ 0x63);
  } while (p != 1);
  table[0] = 0x63;
  return table;
}
constexpr std::array<std::uint8_t, 256> kSubBytes = make_sub_bytes();

constexpr std::array<std::uint32_t, 256> make_mixed() {
  std::array<std::uint32_t, 256> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::uint32_t s = kSubBytes[i], two = doubled(kSubBytes[i]);
    table[i] = two | s << 8 | s << 16 | (two ^ s) << 24;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kMixed = make_mixed();

std::uint32_t sub_word(std::uint32_t word) {
  std::uint32_t result = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    result |= std::uint32_t{kSubBytes[(word >> shift) & 0xff]} << shift;
  }
  return result;
}

std::uint32_t load(std::span<const std::byte> bytes) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) word |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * i);
  return word;
}

std::uint64_t big_endian(std::uint32_t first, std::uint32_t second) {
  return std::uint64_t{__builtin_bswap32(first)} << 32 | __builtin_bswap32(second);
}

Polynomial times_x(Polynomial a) {
  const std::uint64_t leaving = a.low & 1;
  return {(a.high >> 1) ^ (leaving * 0xe100000000000000), (a.low >> 1) | (a.high << 63)};
}

}  // namespace

RoundKeys::~RoundKeys() { wipe(std::as_writable_bytes(std::span(words))); }

const std::array<std::uint32_t, 256>& mixed_table() { return kMixed; }

RoundKeys expand_key(std::span<const std::byte> key) {
  TABANE_ASSERT(key.size() == 16 || key.size() == 32);
  RoundKeys keys;
  const std::size_t length = key.size() / 4;  // words
  keys.rounds = length + 6;
  const auto word = [&](std::size_t i) -> std::uint32_t& { return keys.words[i / 4][i % 4]; };
  for (std::size_t i = 0; i < length; ++i) word(i) = load(key.subspan(4 * i));
  std::uint8_t constant = 1;
  for (std::size_t i = length; i < 4 * (keys.rounds + 1); ++i) {
    std::uint32_t next = word(i - 1);
    if (i % length == 0) {
      next = sub_word(std::rotr(next, 8)) ^ constant;
      constant = doubled(constant);
    } else if (length == 8 && i % length == 4) {
      next = sub_word(next);
    }
    word(i) = word(i - length) ^ next;
  }
  return keys;
}

Words encrypt_block(const RoundKeys& keys, Words s) {
  const auto byte = [&](std::size_t row, std::size_t column) {
    return (s[(column + row) % 4] >> (8 * row)) & 0xff;  // with ShiftRows
  };
  for (std::size_t i = 0; i < 4; ++i) s[i] ^= keys.words[0][i];
  for (std::size_t round = 1; round <= keys.rounds; ++round) {
    Words next = keys.words[round];
    for (std::size_t column = 0; column < 4; ++column) {
      for (std::size_t row = 0; row < 4; ++row) {
        next[column] ^= round < keys.rounds
                            ? std::rotl(kMixed[byte(row, column)], static_cast<int>(8 * row))
                            : std::uint32_t{kSubBytes[byte(row, column)]} << (8 * row);
      }
    }
    s = next;
  }
  return s;
}

Polynomial operator*(Polynomial a, Polynomial b) {
  Polynomial sum;
  for (int i = 0; i < 128; ++i) {
    const std::uint64_t word = i < 64 ? a.high : a.low;
    if (word >> (63 - i % 64) & 1) sum = sum + b;
    b = times_x(b);
  }
  return sum;
}

Polynomial hash_key(const RoundKeys& keys) {
  const Words h = encrypt_block(keys, Words{});
  return {big_endian(h[0], h[1]), big_endian(h[2], h[3])};
}

std::array<Polynomial, 16> multiples_of(Polynomial base) {
  std::array<Polynomial, 16> multiples{};
  for (std::size_t one = 8; one > 0; one /= 2, base = times_x(base)) {
    for (std::size_t i = 0; i < 16; ++i) {
      if (i & one) multiples[i] = multiples[i] + base;
    }
  }
  return multiples;
}

}  // namespace tabane::crypto
