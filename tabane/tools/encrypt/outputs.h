// The place that outputs go to: made or opened, freed of what killed jobs have left there, and
// finished when all files are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tabane/core/file.h"
#include "tabane/tools/encrypt/attributes.h"
#include "tabane/tools/encrypt/manifest_file.h"
#include "tabane/tools/encrypt/request.h"
#include "tabane/tools/encrypt/tree.h"

namespace tabane::encrypt {

// The directory that outputs go to.
struct OutputRoot {
  core::Descriptor directory;
  bool made = false;  // by this job, or by one that was interrupted; false for a single file
};

// Opens the output's directory; a tree's is made with kUnfinishedRoot if it is missing.
// shown: OUT as the user has given it. throws: core::SystemError; core::UsageError for a single
// file where a job writes a tree.
OutputRoot open_output_root(const std::string& path, bool is_tree, const std::string& shown);

struct Leftovers {
  std::size_t removed = 0;
  // Paths in OUT that have the name of a temporary file, but not its mark, which some file systems
  // do not keep, or that cannot be opened.
  std::vector<std::string> doubtful = {};
};

// Both remove what killed jobs have left; only for a job that was asked to: of names nobody can
// tell whose they are. The first in the directories of a tree as it is written, and in .tabane.
Leftovers remove_leftovers_of(const Tree& written, int out_root);
// Beside a single file, where other jobs may write, by core::remove_own_leftovers(). in: of the one
// file that is read; empty: a stream is. Returns how many there were.
std::size_t remove_leftovers_beside(const Tree& in, int in_root, int out_root);

// Closes a stream that was written to. throws: core::SystemError naming `name` for what a file
// system says only at the end.
void finish_stream(core::Descriptor& stream, bool fsync, const std::string& name);

// The next three: to be called when all files are written, so that none is written through a link,
// nor changes the times of a directory. What cannot be done is told in failures.

struct WrittenTree {
  const Request& request;
  const Tree& tree;
  int in_root, out_root;
  ModePolicy modes;
  bool made_root;  // by a job: it gets mode and times, too
};

// Makes the symbolic links and the further names of files that the manifest has, and gives the
// directories the modes, times and attributes that it has for them. failed_files: which were not
// written. throws: as TreeManifest::merge_with().
void restore(const WrittenTree& written, TreeManifest& manifest,
             const std::set<std::uint32_t>& failed_files, std::vector<Failure>& failures);

// Gives the directories, which were made as the files needed them, the modes and times of the
// input; makes those that have no file. From the leaves up, as writing into one changes its time.
void finish_directories(const WrittenTree& written, std::vector<Failure>& failures);

// Of a tree that is written by other names: the root's mode is in the manifest alone.
void close_root(int root, std::vector<Failure>& failures);

}  // namespace tabane::encrypt
