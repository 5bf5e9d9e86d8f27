// The slots of a sealed tree: its key, wrapped once for each key file, passphrase or recipient that
// may open it. tabane/tools/encrypt/sealed-format.md is the specification.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tabane/crypto/key_derivation.h"
#include "tabane/tools/encrypt/sealed_format.h"

namespace tabane::encrypt {

inline constexpr std::size_t kWrappedBytes = kTreeKeyBytes + 16;  // key and tag

// A tree key and its tag under a wrapping key that is used once: AES-256-GCM with nonce 0.
using WrappedKey = std::array<std::byte, kWrappedBytes>;

inline constexpr std::size_t kMostSlots = 256;

// The first bytes of the SHA-256 of a public key: what a slot and messages name a recipient by.
using Fingerprint = std::array<std::byte, 8>;
Fingerprint fingerprint_of(const crypto::X25519Public& recipient);
std::string text_of(const Fingerprint& fingerprint);  // 16 hexadecimal digits

enum class SlotKind : std::uint8_t { key_file = 0, passphrase = 1, x25519 = 2 };

struct Slot {
  SlotKind kind = SlotKind::key_file;
  std::array<std::byte, 16> salt{};  // key file
  crypto::ScryptParameters scrypt;   // passphrase
  crypto::X25519Public ephemeral{};  // recipient
  Fingerprint recipient{};           // recipient
  WrappedKey wrapped{};

  bool operator==(const Slot&) const = default;
};

// Make a slot with fresh random numbers. throw: core::Error if the crypto library fails.
Slot slot_of_key_file(const MasterKey& key, const TreeId& tree, const TreeKey& tree_key);
// stretched: scrypt_key() of the passphrase with these parameters.
Slot slot_of_passphrase(const MasterKey& stretched, const crypto::ScryptParameters& scrypt,
                        const TreeId& tree, const TreeKey& tree_key);
// throws: core::Error also for a public key that protects nothing.
Slot slot_of_recipient(const crypto::X25519Public& recipient, const TreeId& tree,
                       const TreeKey& tree_key);

// Open a slot; return nothing if the key is not the one, or the slot was changed.
// key: of the key file, or the stretched passphrase; the kind of the slot must be one of these.
std::optional<TreeKey> open_slot(const Slot& slot, const TreeId& tree, const MasterKey& key);
// For a slot of a recipient: `secret` belongs to `own`.
std::optional<TreeKey> open_slot(const Slot& slot, const TreeId& tree,
                                 const crypto::X25519Secret& secret,
                                 const crypto::X25519Public& own);

// 1 to kMostSlots slots, at most one of them of a passphrase, as bytes.
std::vector<std::byte> encode_slots(std::span<const Slot> slots);

// throws: DamageError naming the field that cannot be; at: offset of the first byte in its file.
std::vector<Slot> decode_slots(std::span<const std::byte> bytes, std::uint64_t at);

// What is left of slots that somebody may have changed.
struct FoundSlots {
  std::vector<Slot> slots;
  std::vector<std::string> unreadable;  // of each other one, why
};

// Reads as many slots as can be read, also several of a passphrase: each of them costs who tries it
// (see DerivationLimits). at: as of decode_slots().
FoundSlots find_slots(std::span<const std::byte> bytes, std::uint64_t at);

// Whom they are for: "a key file, the recipients 0123456789abcdef and fedcba9876543210".
std::string describe(std::span<const Slot> slots);

}  // namespace tabane::encrypt
