// Where bytes go for which a user has given a path: a file that appears complete or not at all, or
// a pipe, a terminal or a device, which is written to as it is.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"

namespace tabane::core {

struct OutputPath {
  std::filesystem::path path;  // behind all symbolic links at its end
  bool exists = false;
  bool stream = false;  // there, and not to be replaced: neither a regular file nor a directory, or
                        // a name of an open descriptor such as /dev/stdout, whatever that is
  int descriptor = -1;  // of this process, if the path is a name of one
};

// Standard output, which has no path.
OutputPath standard_output();

// Follows symbolic links at the end of a path, under the system's rules.
// throws: SystemError, for example if the system does not let this user follow a link.
OutputPath follow_output_path(const std::filesystem::path& path);

// Opens the directory of the last name of a path, which need not exist.
// throws: SystemError naming `shown`.
Descriptor open_parent(const std::filesystem::path& path, std::string_view shown);

// Opens a stream for writing as it is; waits for a reader if it is a FIFO.
// throws: SystemError naming the path.
Descriptor open_stream(const OutputPath& stream);

// Whether a path leads to what a descriptor of this process has open, such as /dev/stdout to 1.
bool leads_to(const std::filesystem::path& path, int descriptor);

// Writes bytes to a stream, or makes or replaces a regular file so that it is whole at any moment.
// A link's target is replaced, and the link stays; so do the permissions. If the process is killed
// meanwhile, it leaves nothing where the file system has unnamed files. throws: SystemError,
// Error if something else has taken the file's place meanwhile; both name the path.
void write_output(const std::filesystem::path& path, std::string_view bytes);
// The same of bytes that `produce` hands over piece by piece; what it throws leaves nothing.
using Produce = std::function<void(const std::function<void(std::string_view)>& put)>;
void write_output(const std::filesystem::path& path, const Produce& produce);

// Lets the owner, if that is this user, list and change a directory that is open, if only as a
// path. What cannot be changed shows when it is used.
void let_owner_work(int directory);

// The names in an open directory that temporary files have. throws: core::SystemError.
std::vector<std::string> temporary_names(int directory);

// Removes the temporary files of a killed run from an open directory (core::is_leftover()), but for
// those that `keep` names; returns how many. doubtful: gets what only has such a name and nobody
// has locked, and what cannot be opened, so that nobody knows whether it is locked.
// throws: core::SystemError if the directory cannot be read, or naming the file that stays.
std::size_t remove_leftovers(
    int directory,
    const std::function<bool(const std::string& name)>& keep =
        [](const std::string&) { return false; },
    std::vector<std::string>* doubtful = nullptr);

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
  OutputFile(SharedDescriptor directory, std::string name, mode_t mode, Until until = Until::named);

  int fd() const { return file_.fd(); }
  const char* temporary_name() const { return file_.name(); }

  struct Commit {
    bool replace = false;  // a regular file of this name, not by one that is `in_place`; otherwise
                           // it is an error
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
