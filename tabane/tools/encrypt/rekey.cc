#include "tabane/tools/encrypt/rekey.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tabane/core/file.h"
#include "tabane/tools/encrypt/key_proof.h"
#include "tabane/tools/encrypt/manifest_file.h"
#include "tabane/tools/encrypt/tree_home.h"
#include "tabane/tools/encrypt/tree_keys.h"

namespace tabane::encrypt {
namespace {

core::Descriptor open_tree(const std::string& tree) {
  core::Descriptor root(open(tree.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (!root.valid() && errno == ENOTDIR) {
    throw core::UsageError(
        "TREE ({}) is no directory; what opens a single file is part of it: encrypt it again",
        tree);
  }
  if (!root.valid()) throw core::SystemError("open", tree, errno);
  return root;
}

std::vector<std::byte> require_keys(int root, const std::string& tree) {
  auto bytes = read_keys(root);
  if (bytes) return std::move(*bytes);
  throw core::Error(
      "{} has no {}, which every directory that encrypt writes has; encrypt --resume "
      "writes it anew",
      tree, kKeysPath);
}

FoundKeys find(std::span<const std::byte> bytes, const std::string& tree) {
  try {
    return find_keys(bytes);
  } catch (const DamageError& error) {
    throw core::Error("{}/{}: {}; if it is damaged, encrypt --resume writes it anew", tree,
                      kKeysPath, error.what());
  }
}

// throws: DamageError if only a slot that is too costly to open is left.
std::optional<TreeKey> open_tree_keys(int root, const FoundKeys& file,
                                      std::span<const std::byte> bytes, KeyRing& keys) {
  OpenedKeys opened = open_keys(file, keys, [&](const TreeKey& one) {
    return fits_manifest(root, file.tree, one).value_or(mac_fits(bytes, file.tree, one));
  });
  return opened.key ? std::move(opened.key) : keys.open(file.tree, file.found.slots);
}

// Whoever knows a recipient can make a file of keys for it, with a key that he knows.
void require_key_of_tree(int root, const std::string& path, const TreeId& tree,
                         const TreeKey& key) {
  const std::optional<bool> manifest = fits_manifest(root, tree, key);
  if (!manifest) {
    throw core::Error(
        "{} has no manifest, so nothing shows that {} is of it: its encryption was interrupted, "
        "and encrypt --resume finishes it, or the manifest was removed; nothing was changed",
        path, kKeysPath);
  }
  const auto other = *manifest ? file_of_another_tree(root, tree, key) : std::nullopt;
  if (*manifest && !other) return;
  if (other) {
    throw core::Error(
        "{}: the key in {} fits the manifest, but does not fit {}, which is of another tree or was "
        "exchanged; nothing was changed. Remove it or put it right, and leave {} as it is",
        path, kKeysPath, *other, kKeysPath);
  }
  throw core::Error(
      "{0}/{1} is not of this tree: its key does not fit {2}. One of the two was exchanged or is "
      "damaged; nothing was changed. If it was {1}, remove it, and encrypt --resume writes it "
      "anew",
      path, kKeysPath, kManifestPath);
}

// Whether a slot that was there makes room for a new one.
bool is_replaced(const Slot& slot, const TreeId& tree, const NewOpeners& openers) {
  switch (slot.kind) {
    case SlotKind::key_file:
      return openers.key && open_slot(slot, tree, *openers.key);
    case SlotKind::passphrase:
      return !openers.passphrase.empty();
    case SlotKind::x25519:
      break;
  }
  return std::ranges::find(openers.recipients, slot.recipient, &fingerprint_of) !=
         openers.recipients.end();
}

// The slots that stay.
std::vector<Slot> kept(const FoundKeys& file, const NewOpeners& openers) {
  std::vector<Slot> stay;
  if (!openers.keeps) return stay;
  for (const Slot& slot : file.found.slots) {
    if (!is_replaced(slot, file.tree, openers)) stay.push_back(slot);
  }
  return stay;
}

std::vector<Slot> new_slots(const FoundKeys& file, const TreeKey& key, const NewOpeners& openers,
                            const std::function<bool()>& stop_requested) {
  Openers added;
  added.key = openers.key ? &*openers.key : nullptr;
  added.recipients = openers.recipients;
  KeyRing ring({.key = nullptr, .passphrase = &openers.passphrase, .identities = {}}, {},
               stop_requested);
  if (!openers.passphrase.empty()) {
    added.scrypt = crypto::fresh_scrypt_parameters(openers.passphrase_log2_n);
    added.stretched = &ring.stretched(added.scrypt);
  }
  std::vector<Slot> slots = kept(file, openers);
  std::ranges::move(make_slots(added, file.tree, key), std::back_inserter(slots));
  if (slots.empty()) throw core::UsageError("nobody could open TREE: name a recipient or a key");
  if (slots.size() > kMostSlots) {
    throw core::UsageError("a tree has at most {} recipients and keys", kMostSlots);
  }
  return slots;
}

}  // namespace

std::string rekey(const std::string& tree, KeyRing& keys, const NewOpeners& openers,
                  const std::function<bool()>& stop_requested) {
  const core::Descriptor root = open_tree(tree);
  const JobLock lock(root.get(), LockedTree::sealed, tree);
  const std::vector<std::byte> bytes = require_keys(root.get(), tree);
  const FoundKeys file = find(bytes, tree);
  const std::optional<TreeKey> key = open_tree_keys(root.get(), file, bytes, keys);
  if (!key) throw WrongKey(describe(file.found.slots), 0);
  const bool whole = mac_fits(bytes, file.tree, *key) && file.found.unreadable.empty();
  if (openers.keeps && !whole) {
    throw core::Error(
        "{}/{} is damaged, or was changed by somebody without the tree's key, so "
        "it does not say who can open the tree; without --add, rekey writes it anew",
        tree, kKeysPath);
  }
  require_key_of_tree(root.get(), tree, file.tree, *key);
  const std::vector<Slot> slots = new_slots(file, *key, openers, stop_requested);
  write_keys(root.get(), encode_keys_file({file.tree, slots}, *key), true);
  return describe(slots);
}

std::string recipients_alone(const std::string& tree) {
  const core::Descriptor root(open(tree.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  const auto bytes = root.valid() ? read_keys(root.get()) : std::nullopt;
  if (!bytes) return "";
  try {
    const FoundSlots found = find_keys(*bytes).found;
    const bool alone =
        found.unreadable.empty() &&
        std::ranges::count(found.slots, SlotKind::x25519, &Slot::kind) == std::ssize(found.slots);
    return alone ? describe(found.slots) : "";
  } catch (const DamageError&) {
    return "";
  }
}

std::string openers_of(const std::string& tree) {
  const core::Descriptor root = open_tree(tree);
  const FoundKeys file = find(require_keys(root.get(), tree), tree);
  const std::size_t unreadable = file.found.unreadable.size();
  const std::string openers = describe(file.found.slots);
  return unreadable == 0 ? openers
                         : fmt::format("{} ({} cannot be read; the first: {})", openers, unreadable,
                                       file.found.unreadable.front());
}

}  // namespace tabane::encrypt
