// Bech32 (BIP 173): bytes as text of letters and digits in one case, with a checksum.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/crypto/secret.h"

namespace tabane::crypto {

// May hold a secret: wiped at the end.
struct Bech32 {
  Bech32() = default;
  ~Bech32() { wipe(values); }
  Bech32(const Bech32&) = delete;
  Bech32& operator=(const Bech32&) = delete;
  Bech32(Bech32&&) noexcept = default;
  Bech32& operator=(Bech32&&) noexcept = delete;

  std::string prefix;             // in lower case
  std::vector<std::byte> values;  // of 5 bits, without the checksum
};

// Returns null if the text is not Bech32 of at most 90 characters, in one case.
std::optional<Bech32> decode_bech32(std::string_view text);

// Returns a text in lower case. prefix: legal characters; values: below 32.
std::string encode_bech32(std::string_view prefix, std::span<const std::byte> values);

// Returns bytes as a text with the prefix.
std::string bech32_of_bytes(std::string_view prefix, std::span<const std::byte> bytes);

// Fills `bytes`; returns false if the values are not exactly as many, with 0 in the bits left over.
bool bytes_of_bech32(std::span<const std::byte> values, std::span<std::byte> bytes);

}  // namespace tabane::crypto
