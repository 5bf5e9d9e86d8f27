// A file under a temporary name in the directory that it is made for, until it is whole.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "tabane/core/file.h"

namespace tabane::core {

// ".tabane-" + 16 hexadecimal digits + ".part": what a killed run may leave.
bool is_temporary_name(std::string_view name);

class TemporaryFile {
 public:
  // Makes a new file under a random name, so that nothing that lies there is written to or
  // followed. directory: open as long as this lives. final_name: for rename(). mode: permissions,
  // before the umask. shown: what errors call the file; empty: final_name. throws: SystemError
  // naming it.
  TemporaryFile(int directory, std::string final_name, mode_t mode, std::string shown = {});
  ~TemporaryFile();  // removes it unless it was renamed
  TemporaryFile(TemporaryFile&&) = delete;
  TemporaryFile& operator=(TemporaryFile&&) = delete;

  int fd() const { return file_.get(); }
  const char* name() const { return name_; }

  // Closes the file and gives it its final name. replace: a regular file of that name; nothing else
  // is ever replaced. throws: SystemError, also (EEXIST) if the name is taken; Error if something
  // has the name that is not a regular file.
  void rename(bool replace);

 private:
  void create(mode_t mode);
  void rename_after_looking();

  int directory_;
  std::string final_name_, shown_;
  char name_[32];
  Descriptor file_;
  bool renamed_ = false;
};

}  // namespace tabane::core
