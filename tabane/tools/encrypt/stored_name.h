// Where the files of a sealed tree with hidden names lie: ab/cdef…, which their manifest says.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/core/file.h"
#include "tabane/tools/encrypt/manifest_format.h"
#include "tabane/tools/encrypt/sealed_format.h"

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
struct Place {
  core::SharedDescriptor directory;
  std::string name;
};

// The directories of such a tree, opened once each. One thread at a time.
class StoredPlaces {
 public:
  // root: open as long as this lives. make: directories that are missing are made, with mode 0700.
  StoredPlaces(int root, bool make) : root_(root), make_(make) {}
  // throws: core::SystemError.
  Place at(const StoredName& name);

 private:
  int root_;
  bool make_;
  std::array<core::SharedDescriptor, 256> directories_;
};

}  // namespace tabane::encrypt
