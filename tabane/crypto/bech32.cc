#include <algorithm>
#include <array>
#include <cstdint>

#include "tabane/crypto/keys.h"

namespace tabane::crypto {
namespace {

constexpr std::string_view kAlphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
constexpr std::size_t kChecksumValues = 6, kMostCharacters = 90;

// A BCH code over values of 5 bits, as BIP 173 defines it.
class Checksum {
 public:
  explicit Checksum(std::string_view prefix) {
    for (const char c : prefix) take(static_cast<unsigned char>(c) >> 5);
    take(0);
    for (const char c : prefix) take(static_cast<unsigned char>(c) & 31);
  }

  void take(unsigned value) {
    constexpr std::array<std::uint32_t, 5> kGenerator = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa,
                                                         0x3d4233dd, 0x2a1462b3};
    const std::uint32_t top = state_ >> 25;
    state_ = (state_ & 0x1ffffff) << 5 ^ value;
    for (std::size_t i = 0; i < kGenerator.size(); ++i) {
      if ((top >> i & 1) != 0) state_ ^= kGenerator[i];
    }
  }
  void take(std::span<const std::byte> values) {
    for (const std::byte value : values) take(std::to_integer<unsigned>(value));
  }

  std::uint32_t state() const { return state_; }

 private:
  std::uint32_t state_ = 1;
};

// In lower case; empty if the cases are mixed or a character cannot be printed.
std::string in_one_case(std::string_view text) {
  bool lower = false, upper = false;
  std::string result(text);
  for (char& c : result) {
    if (c < 33 || c > 126) return {};
    lower |= c >= 'a' && c <= 'z';
    if (c < 'A' || c > 'Z') continue;
    upper = true;
    c = static_cast<char>(c - 'A' + 'a');
  }
  return lower && upper ? std::string() : result;
}

}  // namespace

std::optional<Bech32> decode_bech32(std::string_view text) {
  if (text.size() > kMostCharacters) return std::nullopt;
  std::string plain = in_one_case(text);
  Bech32 result;
  const std::size_t separator = plain.rfind('1');
  bool good =
      separator != std::string::npos && separator > 0 && plain.size() - separator > kChecksumValues;
  if (good) {
    result.prefix = plain.substr(0, separator);
    result.values.reserve(plain.size());
    for (const char c : std::string_view(plain).substr(separator + 1)) {
      const std::size_t value = kAlphabet.find(c);
      good &= value != std::string_view::npos;
      result.values.push_back(static_cast<std::byte>(value & 31));
    }
  }
  wipe(std::as_writable_bytes(std::span(plain)));
  if (!good) return std::nullopt;
  Checksum checksum(result.prefix);
  checksum.take(result.values);
  if (checksum.state() != 1) return std::nullopt;
  result.values.resize(result.values.size() - kChecksumValues);
  return result;
}

std::string encode_bech32(std::string_view prefix, std::span<const std::byte> values) {
  Checksum checksum(prefix);
  checksum.take(values);
  for (std::size_t i = 0; i < kChecksumValues; ++i) checksum.take(0u);
  const std::uint32_t sum = checksum.state() ^ 1;
  std::string text;
  text.reserve(kMostCharacters);  // no copy of a secret stays behind
  text.append(prefix) += '1';
  for (const std::byte value : values) text += kAlphabet[std::to_integer<std::size_t>(value)];
  for (std::size_t i = 0; i < kChecksumValues; ++i) text += kAlphabet[sum >> (25 - 5 * i) & 31];
  return text;
}

std::string bech32_of_bytes(std::string_view prefix, std::span<const std::byte> bytes) {
  std::vector<std::byte> values((bytes.size() * 8 + 4) / 5);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    if ((bytes[bit / 8] >> (7 - bit % 8) & std::byte{1}) == std::byte{0}) continue;
    values[bit / 5] |= std::byte{1} << (4 - bit % 5);
  }
  std::string text = encode_bech32(prefix, values);
  wipe(values);
  return text;
}

bool bytes_of_bech32(std::span<const std::byte> values, std::span<std::byte> bytes) {
  if (values.size() != (bytes.size() * 8 + 4) / 5) return false;
  std::ranges::fill(bytes, std::byte{0});
  bool rest = false;
  for (std::size_t bit = 0; bit < values.size() * 5; ++bit) {
    if ((values[bit / 5] >> (4 - bit % 5) & std::byte{1}) == std::byte{0}) continue;
    if (bit >= bytes.size() * 8) {
      rest = true;
    } else {
      bytes[bit / 8] |= std::byte{1} << (7 - bit % 8);
    }
  }
  return !rest;
}

}  // namespace tabane::crypto
