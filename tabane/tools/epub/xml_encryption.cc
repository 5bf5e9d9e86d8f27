#include "tabane/tools/epub/xml_encryption.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "tabane/crypto/openssl.h"
#include "tabane/crypto/random.h"
#include "tabane/lab/record/text.h"

namespace tabane::epub {

using crypto::kBlockBytes;

std::optional<std::size_t> without_padding(std::span<const std::byte> bytes) {
  if (bytes.empty() || bytes.size() % kBlockBytes != 0) return std::nullopt;
  const auto padding = std::to_integer<std::size_t>(bytes.back());
  if (padding < 1 || padding > kBlockBytes) return std::nullopt;
  return bytes.size() - padding;
}

std::string encrypt_value(const Key& key, std::span<const std::byte> value) {
  std::vector<std::byte> bytes(encrypted_bytes(value.size()));
  crypto::Block iv;
  crypto::fill_random(iv);
  std::ranges::copy(iv, bytes.begin());
  std::byte* const text = bytes.data() + kBlockBytes;
  std::ranges::copy(value, text);
  const crypto::ChainPiece piece{text, text, crypto::pad_pkcs7(text, value.size()), &iv};
  crypto::CbcCipher(key.bytes(), crypto::Engine::openssl).encrypt({&piece, 1});
  return lab::to_base64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::optional<std::string> decrypt_value(const Key& key, std::string_view text) {
  constexpr std::size_t kMostText = 1400;
  std::optional<std::string> bytes;
  if (text.size() <= kMostText) bytes = from_base64(text);
  if (!bytes || bytes->size() < 2 * kBlockBytes || bytes->size() % kBlockBytes != 0) {
    return std::nullopt;
  }
  const auto all = std::as_writable_bytes(std::span(*bytes));
  const auto content = all.subspan(kBlockBytes);
  crypto::Block iv;
  std::copy_n(all.begin(), kBlockBytes, iv.begin());
  crypto::CbcCipher(key.bytes(), crypto::Engine::openssl)
      .decrypt({content.data(), content.data(), content.size(), &iv});
  const auto length = without_padding(content);
  std::optional<std::string> value;
  if (length) value = bytes->substr(kBlockBytes, *length);
  crypto::wipe(all);
  return value;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::string bytes(text.size() / 4 * 3, '\0');
  if (EVP_DecodeBlock(crypto::out(std::as_writable_bytes(std::span(bytes))),
                      reinterpret_cast<const unsigned char*>(text.data()),
                      static_cast<int>(text.size())) < 0) {
    return std::nullopt;
  }
  const std::size_t filled = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  bytes.resize(bytes.size() - filled);
  return bytes;
}

}  // namespace tabane::epub
