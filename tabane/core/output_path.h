// Where bytes go for which a user has given a path: a file that appears whole or not at all, or a
// pipe, a terminal or a device, which is written to as it is.
#pragma once

#include <filesystem>
#include <string_view>

#include "tabane/core/file.h"

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
// A link's target is replaced, and the link stays; so do the permissions. throws: SystemError,
// Error if something else has taken the file's place meanwhile; both name the path.
void write_output(const std::filesystem::path& path, std::string_view bytes);

}  // namespace tabane::core
