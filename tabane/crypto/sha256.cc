#include "tabane/crypto/sha256.h"

#include <openssl/crypto.h>

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

bool from_hexadecimal(const std::string& digits, std::span<std::byte> bytes) {
  std::size_t read = 0;
  return OPENSSL_hexstr2buf_ex(out(bytes), bytes.size(), &read, digits.c_str(), '\0') == 1 &&
         read == bytes.size() && digits.size() == 2 * read;
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
