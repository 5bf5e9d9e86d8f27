// Sealed trees whose names tell nothing: one pass over the entries gives their files the names that
// they are written by, ab/cdef…, another one the files that were found the names that the manifest
// has. Between the two a job has one tree by two sets of names.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/tools/encrypt/manifest_file.h"
#include "tabane/tools/encrypt/manifest_format.h"
#include "tabane/tools/encrypt/sealed_format.h"
#include "tabane/tools/encrypt/tree.h"
#include "tabane/tools/encrypt/tree_keys.h"

namespace tabane::encrypt {

using StoredName = std::array<std::byte, kStoredNameBytes>;

// Whoever has not the tree's key cannot tell it from random bytes; who has it finds the same one
// for a path again. throws: core::Error if the crypto library fails.
StoredName stored_name_of(const TreeKey& key, const TreeId& tree, std::string_view path);

// "ab/" and 30 hexadecimal digits.
std::string text_of_stored(const StoredName& name);

// Of the files of a plain tree, by their indices; all 0: not known yet.
using StoredNames = std::vector<StoredName>;

// Finds those that are not known yet, in so many threads. cost: an HKDF each.
void complete(StoredNames& names, const Tree& plain, const TreeSeal& seal, unsigned threads);

// The tree that is written: its files have these names, and stand at the same indices.
Tree stored_tree(const StoredNames& names);

// The paths of files of a scanned tree that none of the names is for, in the order of paths.
std::vector<std::string> files_without_name(const Tree& found, StoredNames names);

// What a manifest makes of a scanned tree with hidden names.
struct UnhiddenTree {
  Tree plain;                       // as a scan of the plain tree gives it, but for links
  Tree stored;                      // the files of that, at the same indices, as they are read
  std::vector<std::string> strays;  // paths in the sealed tree that no entry names
};

// Files have the size of their sealed ones; those that are not there are left out, as is what
// `selection` does not take. throws: as TreeManifest::for_each().
UnhiddenTree unhide(TreeManifest& manifest, Tree scanned, const Selection& selection);

}  // namespace tabane::encrypt
