#include "tabane/crypto/sha256.h"

#include <charconv>

namespace tabane::crypto {

std::string hexadecimal(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte b : bytes) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

bool from_hexadecimal(std::string_view digits, std::span<std::byte> bytes) {
  if (digits.size() != 2 * bytes.size()) return false;
  for (const char* pair = digits.data(); std::byte & b : bytes) {
    unsigned char value = 0;
    if (std::from_chars(pair, pair + 2, value, 16).ptr != pair + 2) return false;
    b = std::byte{value};
    pair += 2;
  }
  return true;
}

Sha256Sum sha256(std::span<const std::byte> bytes) {
  Sha256Sum sum;
  require(EVP_Digest(bytes.data(), bytes.size(), out(sum), nullptr, EVP_sha256(), nullptr) == 1,
          "SHA-256");
  return sum;
}

Sha256Stream::Sha256Stream() {
  require(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1, "SHA-256");
}

void Sha256Stream::put(std::span<const std::byte> bytes) {
  require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1, "SHA-256");
}

Sha256Sum Sha256Stream::finish() {
  Sha256Sum sum;
  require(EVP_DigestFinal_ex(context_.get(), out(sum), nullptr) == 1, "SHA-256");
  return sum;
}

}  // namespace tabane::crypto
