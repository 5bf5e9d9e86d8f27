// Writes the manifest of a tree that was sealed.
#pragma once

#include <cstdint>
#include <vector>

#include "tabane/core/file.h"
#include "tabane/tools/encrypt/file_records.h"
#include "tabane/tools/encrypt/manifest_file.h"
#include "tabane/tools/encrypt/tree.h"
#include "tabane/tools/encrypt/tree_manifest.h"
#include "tabane/tools/encrypt/tree_seal.h"

namespace tabane::encrypt {

struct SealedTree {
  const Tree& tree;
  int in_root;                 // of the plain tree, for directories and links
  const FileRecords& records;  // of the files; what is not known is left out
  const TreeSeal& seal;
  std::uint64_t generation;
  bool hidden_names;
};

// Whether a manifest has exactly the entries that write_manifest() would write.
// throws: as TreeManifest::for_each().
bool says_the_same(TreeManifest& manifest, const SealedTree& sealed);

// home: the sealed tree's own directory. Directories and links that cannot be read are left out,
// with a failure. throws: core::SystemError if the manifest cannot be written.
// cost: opens each directory once.
Root write_manifest(const SealedTree& sealed, core::SharedDescriptor home, bool fsync,
                    std::vector<Failure>& failures);

}  // namespace tabane::encrypt
