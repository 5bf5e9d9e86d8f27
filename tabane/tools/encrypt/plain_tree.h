// The plain tree that a sealed one with hidden names stands for.
#pragma once

#include <string>
#include <vector>

#include "tabane/tools/encrypt/tree.h"
#include "tabane/tools/encrypt/tree_manifest.h"

namespace tabane::encrypt {

struct PlainTree {
  Tree tree;                        // as a scan of the plain tree gives it, but for links
  std::vector<std::string> strays;  // paths in the sealed tree that no entry names
};

// stored: what a scan of the sealed tree saw. Files have the size of their sealed ones; those that
// are not there are left out, as is what `excludes` names. throws: as TreeManifest::for_each().
PlainTree plain_tree_of(TreeManifest& manifest, const Tree& stored,
                        const std::vector<std::string>& excludes);

}  // namespace tabane::encrypt
