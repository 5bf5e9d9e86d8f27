// Whether two directories are one, by whatever names or mounts they are reached.
#pragma once

#include <sys/types.h>

#include <compare>
#include <vector>

namespace tabane::core {

struct FileId {
  dev_t device;
  ino_t inode;

  auto operator<=>(const FileId&) const = default;
};

// throws: core::SystemError.
FileId identity_of(int fd);

// The open directory itself, then its parents up to the root, or to the last that can be reached.
// throws: core::SystemError.
std::vector<FileId> with_parents(int directory);

}  // namespace tabane::core
