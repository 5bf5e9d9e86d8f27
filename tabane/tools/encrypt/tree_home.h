// The directory .tabane at the root of a sealed tree, which belongs to tabane, and the file of keys
// in it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tabane/core/file.h"
#include "tabane/tools/encrypt/keys_file.h"

namespace tabane::encrypt {

// Opens the directory .tabane; makes it if it is missing and `make`.
// throws: core::SystemError; core::Error if something else has the name. Returns none that is valid
// if it is missing.
core::Descriptor open_home(int root, bool make);

// Opens a file that tabane keeps in .tabane for reading, by its name below `directory`.
// path: told in errors. throws: core::SystemError; core::Error if something is there that is not a
// regular file. Returns none that is valid if it is missing.
core::Descriptor open_own_file(int directory, const char* name, const char* path);

// The lock of the job that changes the tree, a file in .tabane; see job_lock.h.
inline constexpr const char* kLockName = "lock";

// Returns the names in .tabane that no job gives. throws: core::SystemError.
std::vector<std::string> strangers_at_home(int root);

// Reads .tabane/keys; nothing if there is no such file. throws: core::SystemError; DamageError if
// it is longer than any.
std::optional<std::vector<std::byte>> read_keys(int root);

// Writes .tabane/keys, so that it is whole at any moment. fsync: it is on the disk when this
// returns. throws: core::SystemError.
void write_keys(int root, std::span<const std::byte> bytes, bool fsync);

// What is told of these files: ".tabane/keys: at byte 7: …".
inline constexpr const char* kKeysPath = ".tabane/keys";

}  // namespace tabane::encrypt
