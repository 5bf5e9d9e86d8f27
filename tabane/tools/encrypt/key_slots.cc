#include "tabane/tools/encrypt/key_slots.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "tabane/crypto/openssl.h"
#include "tabane/crypto/secret.h"
#include "tabane/crypto/sha256.h"

namespace tabane::encrypt {
namespace {

using Bytes = std::vector<std::byte>;

constexpr int kTag = 16;
constexpr std::array<std::byte, 12> kNonce{};

// Encrypts a key and writes the tag, or decrypts it and returns whether the tag fits.
// public_fields: authenticated, not hidden.
bool wrap(bool encrypts, const crypto::SecretBytes<32>& wrapping,
          std::span<const std::byte> public_fields, std::span<const std::byte> in,
          std::span<std::byte> out, std::byte* tag) {
  const crypto::CipherContext context(EVP_CIPHER_CTX_new());
  EVP_CIPHER_CTX* const c = context.get();
  int done = 0;
  crypto::require(
      c &&
          EVP_CipherInit_ex2(c, EVP_aes_256_gcm(), crypto::in(wrapping.bytes()), crypto::in(kNonce),
                             encrypts, nullptr) == 1 &&
          EVP_CipherUpdate(c, nullptr, &done, crypto::in(public_fields),
                           static_cast<int>(public_fields.size())) == 1 &&
          EVP_CipherUpdate(c, crypto::out(out), &done, crypto::in(in), kTreeKeyBytes) == 1 &&
          (encrypts || EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, kTag, tag) == 1),
      "AES-256-GCM");
  const bool fits = EVP_CipherFinal_ex(c, crypto::out(out) + done, &done) == 1;
  crypto::require(
      !encrypts || (fits && EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, kTag, tag) == 1),
      "the tag of AES-256-GCM");
  return fits;
}

WrappedKey wrap_key(const crypto::SecretBytes<32>& wrapping, const Bytes& public_fields,
                    const TreeKey& key) {
  WrappedKey wrapped;
  wrap(true, wrapping, public_fields, key.bytes(), wrapped, &wrapped[kTreeKeyBytes]);
  return wrapped;
}

// Returns nothing if the tag does not fit.
std::optional<TreeKey> unwrap_key(const crypto::SecretBytes<32>& wrapping,
                                  const Bytes& public_fields, WrappedKey wrapped) {
  TreeKey key;
  if (wrap(false, wrapping, public_fields, wrapped, key.bytes(), &wrapped[kTreeKeyBytes])) {
    return key;
  }
  return std::nullopt;
}

constexpr std::size_t kCountBytes = 2, kHeadBytes = 3;  // of the table; of a slot
constexpr std::string_view kFieldsLabel = "tabane slot 2";

void append(Bytes& bytes, std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

void append_number(Bytes& bytes, std::size_t number) {  // of 2 bytes, big-endian
  bytes.push_back(static_cast<std::byte>(number >> 8));
  bytes.push_back(static_cast<std::byte>(number & 255));
}

// The parameters stand in a slot as they stand in memory.
static_assert(sizeof(crypto::ScryptParameters) == 3 + crypto::kScryptSaltBytes);

// What stands in the body of a slot before the wrapped key.
std::vector<std::span<std::byte>> fields_of(Slot& slot) {
  if (slot.kind == SlotKind::key_file) return {slot.salt};
  if (slot.kind == SlotKind::x25519) return {slot.ephemeral, slot.recipient};
  return {std::as_writable_bytes(std::span(&slot.scrypt, 1))};
}

Bytes encode_fields(Slot slot) {
  Bytes bytes;
  for (const std::span<std::byte> field : fields_of(slot)) append(bytes, field);
  return bytes;
}

// What the tag of a wrapped key covers beside the key.
Bytes authenticated(const Slot& slot, const TreeId& tree) {
  Bytes bytes;
  append(bytes, std::as_bytes(std::span(kFieldsLabel)));
  append(bytes, tree);
  bytes.push_back(static_cast<std::byte>(slot.kind));
  append(bytes, encode_fields(slot));
  return bytes;
}

crypto::SecretBytes<32> wrapping_key(const Slot& slot, const TreeId& tree, const MasterKey& key) {
  const bool file = slot.kind == SlotKind::key_file;
  return crypto::derive_key(key.bytes(), file ? slot.salt : slot.scrypt.salt,
                            file ? "tabane slot key file 2" : "tabane slot passphrase 2", tree);
}

crypto::SecretBytes<32> wrapping_key(const crypto::X25519Public& ephemeral,
                                     const crypto::X25519Public& recipient,
                                     const crypto::SecretBytes<32>& shared, const TreeId& tree) {
  Bytes salt;
  append(salt, ephemeral);
  append(salt, recipient);
  return crypto::derive_key(shared.bytes(), salt, "tabane slot X25519 2", tree);
}

// Reads one field after the other, and says which cannot be.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, std::uint64_t at) : bytes_(bytes), at_(at) {}

  std::span<const std::byte> take(std::size_t n) {
    if (n > bytes_.size() - done_) {
      throw DamageError("the slots end too early", at_ + bytes_.size());
    }
    done_ += n;
    return bytes_.subspan(done_ - n, n);
  }
  unsigned number(std::size_t n) {
    unsigned value = 0;
    for (const std::byte b : take(n)) value = value << 8 | std::to_integer<unsigned>(b);
    return value;
  }
  void take_into(std::span<std::byte> field) {
    std::ranges::copy(take(field.size()), field.begin());
  }

  bool at_end() const { return done_ == bytes_.size(); }
  // A reader of the next slot alone, whatever it holds; this one stands behind it.
  Reader next_slot() {
    Reader head(bytes_.subspan(done_), at_ + done_);
    head.take(1);
    const std::size_t length = kHeadBytes + head.number(2);
    const std::uint64_t at = at_ + done_;
    return {take(length), at};
  }
  // back: bytes of the field, which was read.
  [[noreturn]] void refuse(const char* what, std::size_t back) const {
    throw DamageError(what, at_ + done_ - back);
  }

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t at_;
  std::size_t done_ = 0;
};

Slot read_slot(Reader& reader) {
  Slot slot;
  const unsigned kind = reader.number(1);
  if (kind > 2) reader.refuse("a slot of a kind that is not known here", 1);
  slot.kind = static_cast<SlotKind>(kind);
  const std::size_t length = reader.number(2);
  if (length != encode_fields(slot).size() + kWrappedBytes) {
    reader.refuse("the length of a slot is not that of its kind", 2);
  }
  for (const std::span<std::byte> field : fields_of(slot)) reader.take_into(field);
  if (slot.kind == SlotKind::passphrase && !crypto::is_legal(slot.scrypt)) {
    reader.refuse("the scrypt parameters are not legal", sizeof slot.scrypt);
  }
  reader.take_into(slot.wrapped);
  return slot;
}

std::string joined(const std::vector<std::string>& names) {
  if (names.empty()) return "nobody";
  if (names.size() == 1) return names.front();
  return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

}  // namespace

Fingerprint fingerprint_of(const crypto::X25519Public& recipient) {
  const crypto::Sha256Sum digest = crypto::sha256(recipient);
  Fingerprint fingerprint;
  std::copy_n(digest.begin(), fingerprint.size(), fingerprint.begin());
  return fingerprint;
}

std::string text_of(const Fingerprint& fingerprint) { return crypto::hexadecimal(fingerprint); }

Slot slot_of_key_file(const MasterKey& key, const TreeId& tree, const TreeKey& tree_key) {
  Slot slot{.kind = SlotKind::key_file};
  crypto::fill_random(slot.salt);
  slot.wrapped = wrap_key(wrapping_key(slot, tree, key), authenticated(slot, tree), tree_key);
  return slot;
}

Slot slot_of_passphrase(const MasterKey& stretched, const crypto::ScryptParameters& scrypt,
                        const TreeId& tree, const TreeKey& tree_key) {
  Slot slot{.kind = SlotKind::passphrase, .scrypt = scrypt};
  slot.wrapped = wrap_key(wrapping_key(slot, tree, stretched), authenticated(slot, tree), tree_key);
  return slot;
}

Slot slot_of_recipient(const crypto::X25519Public& recipient, const TreeId& tree,
                       const TreeKey& tree_key) {
  crypto::X25519Secret ephemeral;
  crypto::fill_random(ephemeral.bytes());
  Slot slot{.kind = SlotKind::x25519,
            .ephemeral = crypto::x25519_public(ephemeral),
            .recipient = fingerprint_of(recipient)};
  const auto shared = crypto::x25519_shared(ephemeral, recipient);
  slot.wrapped = wrap_key(wrapping_key(slot.ephemeral, recipient, shared, tree),
                          authenticated(slot, tree), tree_key);
  return slot;
}

std::optional<TreeKey> open_slot(const Slot& slot, const TreeId& tree, const MasterKey& key) {
  TABANE_ASSERT(slot.kind != SlotKind::x25519);
  return unwrap_key(wrapping_key(slot, tree, key), authenticated(slot, tree), slot.wrapped);
}

std::optional<TreeKey> open_slot(const Slot& slot, const TreeId& tree,
                                 const crypto::X25519Secret& secret,
                                 const crypto::X25519Public& own) {
  TABANE_ASSERT(slot.kind == SlotKind::x25519);
  try {
    const auto shared = crypto::x25519_shared(secret, slot.ephemeral);
    return unwrap_key(wrapping_key(slot.ephemeral, own, shared, tree), authenticated(slot, tree),
                      slot.wrapped);
  } catch (const core::Error&) {
    return std::nullopt;  // no writer draws an ephemeral key of small order
  }
}

std::vector<std::byte> encode_slots(std::span<const Slot> slots) {
  TABANE_ASSERT(!slots.empty() && slots.size() <= kMostSlots);
  Bytes bytes;
  append_number(bytes, slots.size());
  for (const Slot& slot : slots) {
    const Bytes fields = encode_fields(slot);
    bytes.push_back(static_cast<std::byte>(slot.kind));
    append_number(bytes, fields.size() + kWrappedBytes);
    append(bytes, fields);
    append(bytes, slot.wrapped);
  }
  return bytes;
}

std::vector<Slot> decode_slots(std::span<const std::byte> bytes, std::uint64_t at) {
  Reader reader(bytes, at);
  const std::size_t count = reader.number(kCountBytes);
  if (count < 1 || count > kMostSlots) reader.refuse("the number of slots is not legal", 2);
  std::vector<Slot> slots;
  bool passphrase = false;
  for (std::size_t i = 0; i < count; ++i) {
    slots.push_back(read_slot(reader));
    if (slots.back().kind != SlotKind::passphrase) continue;
    // Each would cost a reader the time and memory that it asks for.
    if (std::exchange(passphrase, true)) {
      reader.refuse("a second slot of a passphrase",
                    kHeadBytes + sizeof(crypto::ScryptParameters) + kWrappedBytes);
    }
  }
  if (!reader.at_end()) reader.refuse("bytes behind the slots", 0);
  return slots;
}

FoundSlots find_slots(std::span<const std::byte> bytes, std::uint64_t at) {
  FoundSlots found;
  try {
    Reader reader(bytes, at);
    reader.take(kCountBytes);  // which may be damaged, too
    for (std::size_t i = 0; i < kMostSlots && !reader.at_end(); ++i) {
      Reader one = reader.next_slot();
      try {
        found.slots.push_back(read_slot(one));
      } catch (const DamageError& error) {
        found.unreadable.emplace_back(error.what());
      }
    }
  } catch (const DamageError& error) {  // the last one is cut short
    found.unreadable.emplace_back(error.what());
  }
  return found;
}

std::string describe(std::span<const Slot> slots) {
  std::size_t key_files = 0;
  bool passphrase = false;
  std::vector<std::string> names, recipients;
  for (const Slot& slot : slots) {
    if (slot.kind == SlotKind::key_file) ++key_files;
    if (slot.kind == SlotKind::passphrase) passphrase = true;
    if (slot.kind == SlotKind::x25519) recipients.push_back(text_of(slot.recipient));
  }
  if (key_files == 1) names.emplace_back("a key file");
  if (key_files > 1) names.push_back(fmt::format("any of {} key files", key_files));
  if (passphrase) names.emplace_back("a passphrase");
  if (!recipients.empty()) {
    names.push_back(
        fmt::format("the recipient{} {}", recipients.size() == 1 ? "" : "s", joined(recipients)));
  }
  return joined(names);
}

}  // namespace tabane::encrypt
