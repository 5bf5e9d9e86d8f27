// A file that appears complete or not at all: written under a temporary name in its directory, and
// renamed.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tabane/core/file.h"
#include "tabane/core/same_place.h"
#include "tabane/core/temporary_file.h"

namespace tabane::core {

// Lets the owner, if that is this user, list and change a directory that is open, if only as a
// path. What cannot be changed shows when it is used.
void let_owner_work(int directory);

// The names in an open directory that temporary files have. throws: core::SystemError.
std::vector<std::string> temporary_names(int directory);

// Removes the temporary files of a killed run from an open directory (core::is_leftover()), but for
// those that `keep` names; returns how many. unmarked: gets what only has such a name and nobody
// has locked.
// throws: core::SystemError if the directory cannot be read, or naming the file that stays.
std::size_t remove_leftovers(
    int directory,
    const std::function<bool(const std::string& name)>& keep =
        [](const std::string&) { return false; },
    std::vector<std::string>* unmarked = nullptr);

// Removes what killed runs of this user left in a directory that others write to, too: files that
// nobody has written to for an hour by this host's clock, nor writes, as their locks say; a lock
// may hold for one host only. Leaves those of `keep`, and what cannot be removed, or read, or
// locked; of a directory that cannot be read, all. Returns how many.
std::size_t remove_own_leftovers(int directory, const std::set<FileId>& keep);

// Gives a file the mode of `wanted`. Set-user and set-group bits are kept only where the file has
// the owner and group of `wanted`; those of `stay`, if it has them. throws: core::SystemError
// naming the file.
void set_mode(int file, const struct stat& wanted, const std::string& name, mode_t stay = 0);

class OutputFile {
 public:
  // Makes the temporary file with permissions `mode`.
  // throws: core::SystemError naming the final file.
  OutputFile(SharedDescriptor directory, std::string name, mode_t mode);

  int fd() const { return file_.fd(); }
  const char* temporary_name() const { return file_.name(); }

  struct Commit {
    bool replace = false;  // a regular file of this name; otherwise it is an error
    bool fsync = false;    // file and directory are on the disk before this returns
  };
  // Gives the file the mode (see set_mode()) and the times of `wanted` and its final name, and
  // closes it. throws: core::SystemError, also (EEXIST) if the name is taken; core::Error if
  // something has the name that is not a regular file. Only what fails once it has its name leaves
  // the file there.
  void commit(const struct stat& wanted, Commit how);
  // The same with the mode and the times that it has.
  void commit(Commit how);

 private:
  SharedDescriptor directory_;
  std::string name_;
  TemporaryFile file_;  // removed unless it was committed
};

}  // namespace tabane::core
