// The content of the file .tabane/keys of a sealed tree: the slots that open it now.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tabane/tools/encrypt/key_slots.h"
#include "tabane/tools/encrypt/tree_key.h"

namespace tabane::encrypt {

struct KeysFile {
  TreeId tree{};
  std::vector<Slot> slots;

  bool operator==(const KeysFile&) const = default;
};

inline constexpr std::size_t kMostOfKeysFile = std::size_t{64} << 10;

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

}  // namespace tabane::encrypt
