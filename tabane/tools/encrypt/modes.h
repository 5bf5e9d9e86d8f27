// Which permissions outputs get: a sealed file's mode is not authenticated, so it may take from a
// decrypted file, but opens it to nobody; a manifest's is.
#pragma once

#include <sys/types.h>

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

}  // namespace tabane::encrypt
