// The place that outputs go to: made or opened, and freed of what killed jobs have left there.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tabane/core/file.h"
#include "tabane/tools/encrypt/places.h"
#include "tabane/tools/encrypt/request.h"

namespace tabane::encrypt {

// The directory that outputs go to.
struct OutputRoot {
  core::Descriptor directory;
  bool made = false;  // by this job, or by one that was interrupted; false for a single file
};

// Opens the output's directory; a tree's is made with kUnfinishedRoot if it is missing.
// throws: core::SystemError; core::UsageError for a single file where a job writes a tree.
OutputRoot open_output_root(const Places& places, const Request& request);

struct Leftovers {
  std::size_t removed = 0;
  // Paths in OUT that have the name of a temporary file, but not its mark, which some file systems
  // do not keep, or that cannot be opened.
  std::vector<std::string> doubtful = {};
};

// Both remove what killed jobs have left; only for a job that was asked to: of names nobody can
// tell whose they are. The first in the directories of a tree as it is written, and in .tabane.
Leftovers remove_leftovers_of(const Tree& written, int out_root);
// Beside a single file, where other jobs may write, by core::remove_own_leftovers(). Returns how
// many there were.
std::size_t remove_leftovers_beside(const Places& places, int out_root);

// Closes a stream that was written to. throws: core::SystemError naming `name` for what a file
// system says only at the end.
void finish_stream(core::Descriptor& stream, bool fsync, const std::string& name);

}  // namespace tabane::encrypt
