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
  bool made = false;  // by this job, or by one that was interrupted; always false for a single file
};

// Opens the output's directory; a tree's is made with kUnfinishedRoot if it is missing.
// throws: core::SystemError; core::UsageError for a single file where a job writes a tree.
OutputRoot open_output_root(const Places& places, const Request& request);

struct Leftovers {
  std::size_t removed = 0;
  // Paths in OUT that have the name of a temporary file, but not its mark, which some file systems
  // do not keep.
  std::vector<std::string> unmarked = {};
};

// Removes what a killed job left in the directories that this job writes to; beside a single file,
// where other jobs may write, by remove_own_leftovers(). Only for a job that was asked to: of names
// nobody can tell whose they are. Tells of unmarked ones only in trees whose names show.
Leftovers remove_leftovers_in(const Places& places, int out_root, bool hides_names);

}  // namespace tabane::encrypt
