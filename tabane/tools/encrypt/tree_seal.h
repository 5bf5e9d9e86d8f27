// What the files of one tree are sealed with, and how a run gets at it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tabane/tools/encrypt/identity.h"
#include "tabane/tools/encrypt/key_slots.h"
#include "tabane/tools/encrypt/sealed_format.h"
#include "tabane/tools/encrypt/tree_key.h"

namespace tabane::encrypt {

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

TreeSeal make_seal(const TreeId& tree, TreeKey key, std::vector<Slot> slots);

// A tree that was not there before.
TreeSeal make_new_seal(const Openers& openers);

}  // namespace tabane::encrypt
