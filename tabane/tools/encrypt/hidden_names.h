// Sealed trees whose names tell nothing: where their files are, ab/cdef…, and the plain tree that
// their manifest has.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/core/file.h"
#include "tabane/tools/encrypt/manifest_file.h"
#include "tabane/tools/encrypt/manifest_format.h"
#include "tabane/tools/encrypt/sealed_format.h"
#include "tabane/tools/encrypt/tree.h"

namespace tabane::encrypt {

using StoredName = std::array<std::byte, kStoredNameBytes>;

// Whoever has not the tree's key cannot tell it from random bytes; who has it finds the same one
// for a path again. throws: core::Error if the crypto library fails.
StoredName stored_name_of(const TreeKey& key, const TreeId& tree, std::string_view path);

// "ab/" and 30 hexadecimal digits.
std::string text_of_stored(const StoredName& name);

// "00", "01" … "ff", and tabane's own.
std::vector<std::string> stored_directories();

// A file by its name in an open directory.
struct DirectoryEntry {
  core::SharedDescriptor directory;
  std::string name;
};

// The directories of such a tree, opened once each. One thread at a time.
class StoredDirectories {
 public:
  // root: open as long as this lives. make: directories that are missing are made, with mode 0700.
  StoredDirectories(int root, bool make) : root_(root), make_(make) {}
  // throws: core::SystemError.
  DirectoryEntry at(const StoredName& name);

 private:
  int root_;
  bool make_;
  std::array<core::SharedDescriptor, 256> directories_;
};

struct PlainTree {
  Tree tree;                        // as a scan of the plain tree gives it, but for links
  std::vector<std::string> strays;  // paths in the sealed tree that no entry names
};

// stored: what a scan of the sealed tree saw. Files have the size of their sealed ones; those that
// are not there are left out, as is what `excludes` names. throws: as TreeManifest::for_each().
PlainTree plain_tree_of(TreeManifest& manifest, const Tree& stored,
                        const std::vector<std::string>& excludes);

}  // namespace tabane::encrypt
