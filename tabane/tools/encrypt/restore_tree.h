// Gives a decrypted tree what its manifest has beside the content of files: symbolic links, and
// the modes and times of directories.
#pragma once

#include <vector>

#include "tabane/tools/encrypt/modes.h"
#include "tabane/tools/encrypt/tree.h"
#include "tabane/tools/encrypt/tree_manifest.h"

namespace tabane::encrypt {

struct Restoring {
  ModePolicy modes;
  bool replace_links;    // symbolic links that are there, with another target
  bool root_attributes;  // the root gets mode and times, too
};

// tree: the sealed one, whose directories are made below out_root where they are missing. To be
// called when all files are written, so that none is written through a link. What cannot be
// restored is told in failures. excludes: of the scan. throws: as TreeManifest::merge_with().
void restore_links_and_directories(TreeManifest& manifest, const Tree& tree,
                                   const std::vector<std::string>& excludes, int out_root,
                                   const Restoring& how, std::vector<Failure>& failures);

}  // namespace tabane::encrypt
