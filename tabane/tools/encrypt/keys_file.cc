#include "tabane/tools/encrypt/keys_file.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cstring>

#include "tabane/crypto/key_derivation.h"
#include "tabane/crypto/openssl.h"

namespace tabane::encrypt {
namespace {

constexpr std::array<unsigned char, 8> kKeysMagic = {'T', 'B', 'N', 'K', 'E', 'Y', 'S', 2};
constexpr std::size_t kTableAt = kKeysMagic.size() + kTreeIdBytes, kMacBytes = 32;

using Mac = std::array<std::byte, kMacBytes>;

Mac mac_of(std::span<const std::byte> bytes, const TreeId& tree, const TreeKey& key) {
  const auto mac_key = crypto::derive_key(key.bytes(), tree, "tabane keys file 2");
  Mac mac;
  crypto::require(
      HMAC(EVP_sha256(), mac_key.bytes().data(), static_cast<int>(mac_key.bytes().size()),
           crypto::in(bytes), bytes.size(), crypto::out(mac), nullptr) != nullptr,
      "HMAC");
  return mac;
}

// Returns the slots' bytes.
std::span<const std::byte> read_head(std::span<const std::byte> bytes, TreeId& tree) {
  if (bytes.size() < kTableAt + kMacBytes) throw DamageError("it ends too early", bytes.size());
  if (std::memcmp(bytes.data(), kKeysMagic.data(), kKeysMagic.size() - 1) != 0) {
    throw DamageError("not a file of keys", 0);
  }
  if (std::to_integer<unsigned>(bytes[7]) != kKeysMagic[7]) {
    throw VersionError("written", std::to_integer<unsigned>(bytes[7]), "2", 7);
  }
  if (bytes.size() > kMostOfKeysFile) throw DamageError("it is too long", kMostOfKeysFile);
  std::ranges::copy(bytes.subspan(kKeysMagic.size(), kTreeIdBytes), tree.begin());
  return bytes.subspan(kTableAt, bytes.size() - kTableAt - kMacBytes);
}

}  // namespace

std::vector<std::byte> encode_keys_file(const KeysFile& file, const TreeKey& key) {
  std::vector<std::byte> bytes(kTableAt);
  std::memcpy(bytes.data(), kKeysMagic.data(), kKeysMagic.size());
  std::ranges::copy(file.tree, bytes.begin() + kKeysMagic.size());
  const auto slots = encode_slots(file.slots);
  bytes.insert(bytes.end(), slots.begin(), slots.end());
  const Mac mac = mac_of(bytes, file.tree, key);
  bytes.insert(bytes.end(), mac.begin(), mac.end());
  return bytes;
}

KeysFile decode_keys_file(std::span<const std::byte> bytes) {
  KeysFile file;
  file.slots = decode_slots(read_head(bytes, file.tree), kTableAt);
  return file;
}

FoundKeys find_keys(std::span<const std::byte> bytes) {
  FoundKeys keys;
  keys.found = find_slots(read_head(bytes, keys.tree), kTableAt);
  return keys;
}

bool mac_fits(std::span<const std::byte> bytes, const TreeId& tree, const TreeKey& key) {
  TABANE_ASSERT(bytes.size() >= kMacBytes);
  const Mac mac = mac_of(bytes.first(bytes.size() - kMacBytes), tree, key);
  return CRYPTO_memcmp(mac.data(), bytes.data() + bytes.size() - kMacBytes, kMacBytes) == 0;
}

}  // namespace tabane::encrypt
