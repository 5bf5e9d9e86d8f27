// Whether a tree's key, which somebody may have put into .tabane/keys, is that of what lies there.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "tabane/tools/encrypt/sealed_format.h"
#include "tabane/tools/encrypt/tree_key.h"

namespace tabane::encrypt {

// Returns the keys of what has this header, which `encoded` begins with, if the tree with this id
// and key has sealed it.
std::optional<FileKeys> keys_in_tree(const Header& header, std::span<const std::byte> encoded,
                                     const TreeId& tree, const TreeKey& key,
                                     Content content = Content::file);

// Returns whether the key fits the header of the manifest in the sealed tree below `root`, and the
// header has the tree's id; nothing if there is no manifest. A header that cannot be read does not
// fit. throws: core::SystemError; core::Error for a manifest of another version, or something that
// is no file. cost: reads the header.
std::optional<bool> fits_manifest(int root, const TreeId& tree, const TreeKey& key);

// The same of the first sealed file of a tree below `root`, in the order of a scan; files of
// version 1 have no tree. cost: a scan.
std::optional<bool> fits_files(int root, const TreeId& tree, const TreeKey& key);

// Returns the path of a sealed file below `root` that another tree, or another key with this tree's
// id, has sealed; files of version 1 have no tree, and what is no sealed file is none of another.
// throws: core::SystemError if `root` cannot be read. cost: a scan, and the header of each file.
std::optional<std::string> file_of_another_tree(int root, const TreeId& tree, const TreeKey& key);

// The tree's id in the manifest's header, which nothing has authenticated. throws: as
// fits_manifest(). Returns nothing if there is none that can be read.
std::optional<TreeId> tree_of_manifest(int root);

}  // namespace tabane::encrypt
