// Whether a tree's key, which somebody may have put into .tabane/keys, is that of what is there:
// the one place where keys are held against slots, headers of files and the manifest's header.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tabane/tools/encrypt/key_ring.h"
#include "tabane/tools/encrypt/sealed_format.h"
#include "tabane/tools/encrypt/tree.h"
#include "tabane/tools/encrypt/tree_keys.h"

namespace tabane::encrypt {

// The header of a sealed file.
struct FoundHeader {
  Header header;
  std::vector<std::byte> bytes;

  std::vector<Slot> slots() const {  // of one with a tree's key. throws: as decode_slots().
    return decode_slots(std::span(bytes).subspan(kSlotsAt, header.slots_bytes), kSlotsAt);
  }
};

// Returns the header of the file `name` below an open directory; nothing if there is no file that
// begins with one.
std::optional<FoundHeader> header_there(int directory, const char* name);

// Returns the header of the manifest in the sealed tree below `root`; nothing if there is no
// manifest. throws: DamageError for a header that cannot be read, VersionError for one of another
// version; core::SystemError; core::Error for something that is no file.
std::optional<FoundHeader> manifest_there(int root);

// The tree's key by the slots of .tabane/keys.
struct OpenedKeys {
  std::optional<TreeKey> key;
  SlotTrials trials;  // if there is none
};

// Prefers a key that belongs to what is there: somebody who knows a recipient can put a slot for
// it, with a key of his own, before the others. throws: as KeyRing::stretched().
OpenedKeys open_keys(const FoundKeys& file, KeyRing& keys, const KeyRing::Accepts& belongs);

// Returns the keys of what has this header if the tree with this id and key has sealed it.
std::optional<FileKeys> keys_in_tree(const Header& header, std::span<const std::byte> encoded,
                                     const TreeId& tree, const TreeKey& key,
                                     Content content = Content::file);

// Returns whether the key fits the header of the manifest in the sealed tree below `root`, and the
// header has the tree's id; nothing if there is no manifest. A header that cannot be read does not
// fit. throws: as manifest_there(), but for DamageError; core::Error for a manifest of another
// version. cost: reads the header.
std::optional<bool> fits_manifest(int root, const TreeId& tree, const TreeKey& key);

// The same of the first sealed file of a tree below `root`, in the order of a scan; files of
// version 1 have no tree. cost: a scan.
std::optional<bool> fits_files(int root, const TreeId& tree, const TreeKey& key);

// Returns the path of a sealed file below `root` that another tree, or another key with this tree's
// id, has sealed; files of version 1 have no tree, and what is no sealed file is none of another.
// throws: core::SystemError if `root` cannot be read. cost: a scan, and the header of each file.
std::optional<std::string> file_of_another_tree(int root, const TreeId& tree, const TreeKey& key);

// Returns the tree's id in the manifest's header, which nothing has authenticated; nothing if there
// is none that can be read. throws: as fits_manifest().
std::optional<TreeId> tree_of_manifest(int root);

// Returns whether a file of the scanned tree can be read as a sealed one; of_tree: not one of
// version 1. cost, of both: opens files until it finds one.
bool holds_sealed_files(const Tree& tree, int root, bool of_tree = false);

// Returns the id of another tree than this one, if sealed files of trees are there and none of them
// says that it is of this one.
std::optional<TreeId> other_tree_there(const Tree& tree, int root, const TreeId& id);

// keys_problem: what is wrong with .tabane/keys, which may be why none fits; empty: nothing.
// throws: core::Error if headers can be read and none fits the key.
void require_key_fits(const Tree& tree, int root, const std::string& keys_problem, KeyRing& keys);

// Returns the tree of the sealed files below `root`, by the slots of the first of version 2;
// nothing if there is none. throws: core::Error if a file before it, or itself, is sealed for other
// keys.
std::optional<TreeSeal> seal_of_files(const Tree& tree, int root, KeyRing& keys);

}  // namespace tabane::encrypt
