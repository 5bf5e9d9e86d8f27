// A file that appears complete or not at all: written under a temporary name in its directory, and
// renamed.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>

#include "tabane/core/file.h"

namespace tabane::workloads::aes_dir {

// ".tabane-" + 16 hexadecimal digits + ".part": what a killed run may leave.
bool is_temporary_name(std::string_view name);

// Removes the temporary files of a killed run from an open directory; returns how many.
// throws: core::SystemError if the directory cannot be read, or naming the file that stays.
std::size_t remove_leftovers(int directory);

class OutputFile {
 public:
  // Makes the temporary file with permissions `mode`.
  // throws: core::SystemError naming the final file.
  OutputFile(core::SharedDescriptor directory, std::string name, mode_t mode);
  ~OutputFile();  // removes it unless it was committed
  OutputFile(OutputFile&&) = delete;
  OutputFile& operator=(OutputFile&&) = delete;

  int fd() const { return file_.get(); }

  struct Commit {
    bool replace = false;  // a file of this name; otherwise it is an error
    bool fsync = false;    // file and directory are on the disk before this returns
  };
  // Gives the file the mode and the times of `source` and its final name, and closes it. Set-user
  // and set-group bits are kept only where the new file has the owner and group of `source`.
  // throws: core::SystemError, also (EEXIST) if the name is taken; only a failed fsync of the
  // directory leaves the file there.
  void commit(const struct stat& source, Commit how);

 private:
  void create(mode_t mode);
  void copy_mode(const struct stat& source);
  void rename(bool replace);

  core::SharedDescriptor directory_;
  std::string name_;
  char temporary_[32];
  core::Descriptor file_;
  bool committed_ = false;
};

}  // namespace tabane::workloads::aes_dir
