// Where the study aes-folder keeps its files: a directory of its own in a memory file system, which
// goes away with it.
#pragma once

#include <cstdint>
#include <string>

#include "tabane/core/scratch_folder.h"

namespace tabane::lab::aes_folder {

struct Place {
  std::string directory;
  bool in_memory = false;  // tmpfs or ramfs
  std::string remark;      // why it is not in memory; empty: it is, or was asked for
  std::uint64_t free_bytes = 0;
};

// Finds where files are written: `wanted`, or if it is empty /dev/shm, or if that is not a writable
// memory file system the system's directory for temporary files.
// throws: core::UsageError if `wanted` is not a directory in which files can be made.
Place find_place(const std::string& wanted);

// A directory with an input and an output directory in it. Takes away what a killed study left
// beside it.
class Scratch {
 public:
  // throws: core::SystemError naming the directory.
  explicit Scratch(const std::string& place);

  std::string in() const { return (folder_ / "in").string(); }
  std::string out() const { return (folder_ / "out").string(); }

  // Replaces the input by `files` files of `bytes` random bytes each.
  // throws: core::SystemError, as when the place is full.
  void fill_input(std::uint64_t files, std::uint64_t bytes);
  void empty_output();

 private:
  core::ScratchFolder folder_;
};

// SHA-256 of the names and contents of a directory's files, as 64 hexadecimal digits.
// throws: core::SystemError naming what cannot be read.
std::string digest_of_directory(const std::string& directory);

}  // namespace tabane::lab::aes_folder
