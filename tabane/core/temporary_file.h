// Files under a temporary name in the directory that they are made for, until they are whole, and
// folders for temporary files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "tabane/core/file.h"

namespace tabane::core {

// ".tabane-" + 16 hexadecimal digits + ".part". A user's file may have such a name, too.
bool is_temporary_name(std::string_view name);

// Whether a file is what a killed run has left, by its name and its mode as stat() gives it: a
// TemporaryFile has the sticky bit, which means nothing else for a regular file.
bool is_leftover(std::string_view name, mode_t mode);

// What a file is until it is whole: under a temporary name; without any, so that it goes with the
// process, if the file system has such files (FAT, exFAT, NFS, and FUSE and overlayfs before Linux
// 6.1 and 6.3 have none), otherwise `named`; or in the place of its final name, which is for what
// can be told from a whole file.
enum class Until { named, unnamed, in_place };

// Whether an unnamed file in the directory can get a name. Makes a file there for a moment.
bool unnamed_files_get_names(int directory);

class TemporaryFile {
 public:
  // Makes a new file under a random name, so that it neither writes to nor follows
  // what exists. directory: open as long as this lives. final_name: for rename(). mode:
  // permissions, before the umask; to them the sticky bit is added until rename(), if the file has
  // a name. shown: what errors call the file; empty: final_name. throws: SystemError naming it.
  TemporaryFile(int directory, std::string final_name, mode_t mode, std::string shown = {},
                Until until = Until::named);
  ~TemporaryFile();  // removes it unless it was renamed
  TemporaryFile(TemporaryFile&&) = delete;
  TemporaryFile& operator=(TemporaryFile&&) = delete;

  int fd() const { return file_.get(); }
  const char* name() const { return name_; }  // empty: it is not `named`

  // Closes the file and gives it its final name. replace: a regular file of that name, not by one
  // that is `in_place`; nothing else is ever replaced. sticky: the file keeps this bit. throws:
  // SystemError, also (EEXIST) if the name is taken; Error if something has the name that is not a
  // regular file.
  void rename(bool replace, bool sticky = false);

 private:
  void create(mode_t mode);
  void create_in_place(mode_t mode);
  bool create_unnamed(mode_t mode);
  void name_and_close();
  void take_name(bool replace);
  void rename_after_looking();

  int directory_;
  std::string final_name_, shown_;
  Until until_;
  char name_[32] = {};
  Descriptor file_;
  bool renamed_ = false;
};

// A folder of its own for temporary files, gone with its object; what a killed process left is
// removed by the next one that makes a folder of the same name.
class ScratchFolder {
 public:
  // Makes an empty folder below parent/NAME-XXXXXX. parent: empty means the system's folder
  // for temporary files. throws: SystemError naming the folder.
  explicit ScratchFolder(std::string_view name, const std::filesystem::path& parent = {});
  ~ScratchFolder();  // removes it with all that is in it
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

 private:
  std::filesystem::path outer_;
  std::filesystem::path path_;
  Descriptor lock_;  // on outer_
};

// Whether the files there are kept in memory (tmpfs, ramfs). False if the system does not say.
bool is_in_memory(const std::filesystem::path& folder);

// Bytes that can be written there without filling the file system or, where files are kept in
// memory, the memory that this process can use. throws: SystemError.
std::uint64_t writable_bytes(const std::filesystem::path& folder);

}  // namespace tabane::core
