// AES-256-CBC as XML Encryption writes it: a random IV in front, and a padding whose last byte is
// its length. What fills the padding before it is anything.
// source: https://www.w3.org/TR/xmlenc-core1/, section 5.2.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tabane/crypto/cbc_cipher.h"
#include "tabane/crypto/secret.h"

namespace tabane::epub {

// Its name.
inline constexpr const char* kAes256Cbc = "http://www.w3.org/2001/04/xmlenc#aes256-cbc";
inline constexpr std::size_t kKeyBytes = 32;
using Key = crypto::SecretBytes<kKeyBytes>;

// With the IV and the padding.
constexpr std::uint64_t encrypted_bytes(std::uint64_t plain) {
  return crypto::kBlockBytes + (plain / crypto::kBlockBytes + 1) * crypto::kBlockBytes;
}

// Returns the length without padding of decrypted bytes; nothing if they cannot be padded bytes.
std::optional<std::size_t> without_padding(std::span<const std::byte> bytes);

// A short value, such as a key: encrypted in base64, as licences have it.
std::string encrypt_value(const Key& key, std::span<const std::byte> value);
// Returns nothing if `text` is not such a value of at most 1 KiB, or the padding shows that it was
// encrypted with another key.
std::optional<std::string> decrypt_value(const Key& key, std::string_view text);

// Returns nothing if the text is not base64.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace tabane::epub
