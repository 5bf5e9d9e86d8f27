#include "tabane/tools/encrypt/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <ranges>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/crypto/keys.h"
#include "tabane/crypto/secret.h"

namespace tabane::encrypt {
namespace {

constexpr std::string_view kRecipientPrefix = "tabane", kSecretPrefix = "tabane-secret-key-";
constexpr std::size_t kMostOfFile = std::size_t{64} << 10;

bool has_prefix(std::string_view text, std::string_view prefix) {
  return text.size() > prefix.size() && text[prefix.size()] == '1' &&
         std::ranges::equal(text.substr(0, prefix.size()), prefix, {},
                            [](unsigned char c) { return std::tolower(c); });
}

// Returns what is wrong with the text, or null.
const char* decode(std::string_view text, std::string_view prefix, std::span<std::byte> key) {
  const auto decoded = crypto::decode_bech32(text);
  if (!decoded) return "is mistyped or cut short: its checksum does not fit";
  if (decoded->prefix != prefix) return "is of another kind";
  if (!crypto::bytes_of_bech32(decoded->values, key)) return "has not the length of a key";
  return nullptr;
}

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const std::size_t first = line.find_first_not_of(kSpace);
  if (first == line.npos) return {};
  return line.substr(first, line.find_last_not_of(kSpace) - first + 1);
}

// Calls take(line) for the lines that are neither empty nor comments. take: throws UsageError.
void read_lines(const core::Descriptor& file, const std::string& path,
                const std::function<void(std::string_view)>& take) {
  crypto::LockedMemory memory(kMostOfFile + 1);
  const std::span<std::byte> bytes = memory.bytes();
  const std::size_t size = core::read_all(file.get(), bytes.data(), bytes.size(), path);
  if (size > kMostOfFile) {
    throw core::UsageError("{}: larger than {} KiB", path, kMostOfFile >> 10);
  }
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), size);
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.empty() || line.front() == '#') continue;
    try {
      take(line);
    } catch (const core::UsageError& error) {
      throw core::UsageError("{}, line {}: {}", path, number, error.what());
    }
  }
}

Identity parse_identity(std::string_view text) {
  if (has_prefix(text, kRecipientPrefix)) {
    throw core::UsageError("a recipient, which opens nothing, where its identity is wanted");
  }
  if (!has_prefix(text, kSecretPrefix)) {
    throw core::UsageError("not an identity: those begin with TABANE-SECRET-KEY-1");
  }
  Identity identity;
  if (const char* wrong = decode(text, kSecretPrefix, identity.secret.bytes())) {
    throw core::UsageError("the identity {}", wrong);
  }
  identity.recipient = crypto::x25519_public(identity.secret);
  return identity;
}

// X25519 takes numbers of 256 bits modulo 2^255 - 19, without their highest bit; slots hold the
// text's bytes, and no identity has another text than the smallest.
bool is_reduced(const Recipient& recipient) {
  Recipient prime;  // little-endian
  prime.fill(std::byte{0xff});
  prime.front() = std::byte{0xed};
  prime.back() = std::byte{0x7f};
  return std::ranges::lexicographical_compare(recipient | std::views::reverse,
                                              prime | std::views::reverse);
}

// The multiplication by any secret gives 0 for the keys that protect nothing.
void refuse_small_order(const Recipient& recipient) {
  crypto::X25519Secret any;
  any.bytes()[0] = std::byte{1};
  try {
    crypto::x25519_shared(any, recipient);
  } catch (const core::Error& error) {
    throw core::UsageError(error.what());
  }
}

}  // namespace

std::string text_of(const Recipient& recipient) {
  return crypto::bech32_of_bytes(kRecipientPrefix, recipient);
}

Recipient parse_recipient(std::string_view text) {
  if (has_prefix(text, kSecretPrefix)) {
    throw core::UsageError("an identity, which is secret, where its recipient is wanted");
  }
  if (!has_prefix(text, kRecipientPrefix)) {
    throw core::UsageError("not a recipient: those begin with tabane1");
  }
  Recipient recipient{};
  if (const char* wrong = decode(text, kRecipientPrefix, recipient)) {
    throw core::UsageError("the recipient {}", wrong);
  }
  if (!is_reduced(recipient)) {
    throw core::UsageError("the recipient belongs to no identity, so nobody could open the result");
  }
  refuse_small_order(recipient);
  return recipient;
}

std::vector<Recipient> read_recipients(const std::string& file_or_text) {
  if (has_prefix(file_or_text, kRecipientPrefix)) return {parse_recipient(file_or_text)};
  std::vector<Recipient> recipients;
  read_lines(crypto::open_to_read(file_or_text), file_or_text,
             [&](std::string_view line) { recipients.push_back(parse_recipient(line)); });
  if (recipients.empty()) {
    throw core::UsageError("{}: no recipient in it", file_or_text);
  }
  return recipients;
}

IdentityFile read_identity_file(const std::string& path) {
  const core::Descriptor file = crypto::open_to_read(path);
  IdentityFile result;
  result.warning = crypto::warning_of(file, path);
  read_lines(file, path,
             [&](std::string_view line) { result.identities.push_back(parse_identity(line)); });
  if (result.identities.empty()) {
    throw core::UsageError("{}: no identity in it", path);
  }
  return result;
}

Recipient write_new_identity(const std::string& path) {
  Identity identity;
  crypto::fill_random(identity.secret.bytes());
  identity.recipient = crypto::x25519_public(identity.secret);
  std::string secret = crypto::bech32_of_bytes(kSecretPrefix, identity.secret.bytes());
  for (char& c : secret) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string text = fmt::format("# public key: {}\n{}\n", text_of(identity.recipient), secret);
  crypto::write_new_secret_file(path, std::as_bytes(std::span(text)));
  crypto::wipe(std::as_writable_bytes(std::span(secret)));
  crypto::wipe(std::as_writable_bytes(std::span(text)));
  return identity.recipient;
}

}  // namespace tabane::encrypt
