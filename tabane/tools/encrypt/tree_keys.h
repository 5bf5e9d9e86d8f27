// What one tree is sealed with, its key and the slots that open it, and the file of them,
// .tabane/keys, as bytes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tabane/tools/encrypt/chunk_stream.h"
#include "tabane/tools/encrypt/identity.h"
#include "tabane/tools/encrypt/key_slots.h"
#include "tabane/tools/encrypt/sealed_format.h"

namespace tabane::encrypt {

struct KeysFile {
  TreeId tree{};
  std::vector<Slot> slots;

  bool operator==(const KeysFile&) const = default;
};

// With a MAC by the tree's key. throws: core::Error if the crypto library fails.
std::vector<std::byte> encode_keys_file(const KeysFile& file, const TreeKey& key);

// Reads a file without checking its MAC. throws: DamageError naming the field that cannot be.
KeysFile decode_keys_file(std::span<const std::byte> bytes);

// The same of a file that somebody may have changed.
struct FoundKeys {
  TreeId tree{};
  FoundSlots found;
};

// Reads the slots that can be read. throws: DamageError if it is no such file.
FoundKeys find_keys(std::span<const std::byte> bytes);

// Whether who knows the tree's key wrote the whole file as it is. Takes the same time for any MAC.
bool mac_fits(std::span<const std::byte> bytes, const TreeId& tree, const TreeKey& key);

struct TreeSeal {
  TreeKey key;
  std::vector<Slot> slots;
  Header header;                    // of each file, but for its salt
  std::vector<std::byte> embedded;  // the slots as they stand behind the fixed part of a header
};

// Whom a tree is sealed for; at least one of them.
struct Openers {
  const MasterKey* key = nullptr;        // of a key file
  const MasterKey* stretched = nullptr;  // a passphrase, by scrypt with the parameters
  crypto::ScryptParameters scrypt;
  std::span<const Recipient> recipients;
};

// Wraps a tree's key for all of them, once for each recipient. throws: core::UsageError if they are
// more than kMostSlots.
std::vector<Slot> make_slots(const Openers& openers, const TreeId& tree, const TreeKey& key);

// For a second owner.
TreeKey copy_of(const TreeKey& key);

TreeSeal make_seal(const TreeId& tree, TreeKey key, std::vector<Slot> slots);

// A tree that was not there before.
TreeSeal make_new_seal(const Openers& openers);

// Draws a salt and makes a header. throws: core::Error if the crypto library fails.
StreamSeal fresh_seal(const TreeSeal& tree, Content content = Content::file);

}  // namespace tabane::encrypt
