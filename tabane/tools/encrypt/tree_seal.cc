#include "tabane/tools/encrypt/tree_seal.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "tabane/crypto/secret.h"

namespace tabane::encrypt {

std::vector<Slot> make_slots(const Openers& openers, const TreeId& tree, const TreeKey& key) {
  std::vector<Slot> slots;
  if (openers.key) slots.push_back(slot_of_key_file(*openers.key, tree, key));
  if (openers.stretched) {
    slots.push_back(slot_of_passphrase(*openers.stretched, openers.scrypt, tree, key));
  }
  std::set<Recipient> left(openers.recipients.begin(), openers.recipients.end());
  if (slots.size() + left.size() > kMostSlots) {
    throw core::UsageError(fmt::format("a tree has at most {} recipients and keys", kMostSlots));
  }
  for (const Recipient& recipient : openers.recipients) {
    if (left.erase(recipient) > 0) slots.push_back(slot_of_recipient(recipient, tree, key));
  }
  return slots;
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

}  // namespace tabane::encrypt
