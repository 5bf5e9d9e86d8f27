// What files and directories have beside their content: modes and extended attributes.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "tabane/tools/encrypt/manifest_format.h"

namespace tabane::encrypt {

struct ModePolicy {
  bool opens = false;          // decrypting
  bool authenticated = false;  // modes come from a manifest
  bool preserve = false;       // all bits: set-user, set-group and sticky, too
  mode_t mask = 077;           // of this process
};

// The umask. throws: core::Error if the system does not tell it.
mode_t process_umask();

// The mode of the output of an input of mode `source`: of encrypted ones the input's permissions;
// of decrypted ones the owner's alone, or all if they are authenticated, within the umask; all bits
// if they are to be preserved.
mode_t output_mode(mode_t source, const ModePolicy& policy);

// Of OUT until its job ends: nobody else is let in, and the sticky bit, which means nothing where
// nobody else can write, tells a job that goes on after a kill that OUT is not one that the user
// has made, whose mode is to stay.
inline constexpr mode_t kUnfinishedRoot = 01700;
bool is_unfinished(int root);

// Those of an open file or directory that may be in a manifest, sorted by name; none where the file
// system has none. throws: core::SystemError; core::Error if they are too large for a manifest.
std::vector<Attribute> read_attributes(int file, const std::string& path);
// throws: core::SystemError.
void write_attributes(int file, const std::vector<Attribute>& attributes, const std::string& path);

// Lets the owner change a directory for a scope.
class WritableForNow {
 public:
  explicit WritableForNow(int directory);
  ~WritableForNow();
  WritableForNow(const WritableForNow&) = delete;
  WritableForNow& operator=(const WritableForNow&) = delete;

 private:
  int directory_;
  struct stat before_ {};
};

}  // namespace tabane::encrypt
