// What an interrupted job may have left in a sealed tree, and the plain one does not have any more.
#pragma once

#include <string>
#include <vector>

#include "tabane/tools/encrypt/tree.h"
#include "tabane/tools/encrypt/tree_seal.h"

namespace tabane::encrypt {

struct Stray {
  std::string path;  // in the sealed tree
  bool directory;
  bool of_stranger = false;  // a file that is not sealed with the tree's key
  std::string plain = {};    // its path in the plain tree, if that is another one and is known
};

// Looks through the sealed tree below `sealed` for files and directories that the plain tree lacks,
// directories before what lies in them. cost: a scan; opens what it suspects.
// throws: core::SystemError if the root cannot be read.
std::vector<Stray> strays_of(int sealed, const Tree& plain, const TreeSeal& seal,
                             bool hidden_names);

}  // namespace tabane::encrypt
