#include "tabane/tools/encrypt/tree_keys.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "tabane/crypto/key_derivation.h"
#include "tabane/crypto/openssl.h"
#include "tabane/crypto/secret.h"

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

std::vector<Slot> make_slots(const Openers& openers, const TreeId& tree, const TreeKey& key) {
  std::vector<Slot> slots;
  if (openers.key) slots.push_back(slot_of_key_file(*openers.key, tree, key));
  if (openers.stretched) {
    slots.push_back(slot_of_passphrase(*openers.stretched, openers.scrypt, tree, key));
  }
  std::set<Recipient> left(openers.recipients.begin(), openers.recipients.end());
  if (slots.size() + left.size() > kMostSlots) {
    throw core::UsageError("a tree has at most {} recipients and keys", kMostSlots);
  }
  for (const Recipient& recipient : openers.recipients) {
    if (left.erase(recipient) > 0) slots.push_back(slot_of_recipient(recipient, tree, key));
  }
  return slots;
}

TreeKey copy_of(const TreeKey& key) {
  TreeKey copy;
  std::ranges::copy(key.bytes(), copy.bytes().begin());
  return copy;
}

TreeSeal make_seal(const TreeId& tree, TreeKey key, std::vector<Slot> slots) {
  TreeSeal seal;
  seal.key = std::move(key);
  seal.slots = std::move(slots);
  seal.header.source = KeySource::tree_key;
  seal.header.tree = tree;
  const std::vector<std::byte> table = encode_slots(seal.slots);
  set_slots(seal.header, table);
  seal.embedded = embed_slots(table);
  return seal;
}

TreeSeal make_new_seal(const Openers& openers) {
  TreeId tree;
  crypto::fill_random(tree);
  TreeKey key;
  crypto::fill_random(key.bytes());
  std::vector<Slot> slots = make_slots(openers, tree, key);
  return make_seal(tree, std::move(key), std::move(slots));
}

StreamSeal fresh_seal(const TreeSeal& tree, Content content) {
  Header header = tree.header;
  crypto::fill_random(header.file_salt);
  StreamSeal seal{{}, derive_file_keys(header, tree.key, content), header.chunk_bytes()};
  const auto fixed = encode_header(header, seal.keys);
  seal.header.assign(fixed.begin(), fixed.end());
  seal.header.insert(seal.header.end(), tree.embedded.begin(), tree.embedded.end());
  return seal;
}

}  // namespace tabane::encrypt
