// What a job looks at before it writes anything: both places, the tree, and whether the key fits.
#pragma once

#include <optional>
#include <string>

#include "tabane/core/file.h"
#include "tabane/core/output_file.h"
#include "tabane/tools/encrypt/key_ring.h"
#include "tabane/tools/encrypt/request.h"
#include "tabane/tools/encrypt/tree.h"
#include "tabane/tools/encrypt/tree_seal.h"

namespace tabane::encrypt {

class JobLock;

struct Places {
  Tree tree;
  core::Descriptor in_root;  // not for standard input, which has an empty tree
  // Of a sealed tree that is read, as it lay there before the scan, without access to its content.
  core::Descriptor manifest;
  std::string in_path;                     // the directory that inputs are in
  std::string output_name;                 // of a single file
  std::optional<core::OutputPath> stream;  // that a single file goes to; then there is no directory
  std::string out_path;                    // the directory that outputs go to
  bool single_file = false;
};

// Opens and scans the input, and refuses impossible requests. throws: as run_job().
Places look_at_places(const Request& request);

// The directory that outputs go to.
struct OutputRoot {
  core::Descriptor directory;
  bool made = false;  // by this job, or by one that was interrupted; always false for a single file
};

// Opens the output's directory; a tree's is made with kUnfinishedRoot if it is missing.
// throws: core::SystemError; core::UsageError for a single file where a job writes a tree.
OutputRoot open_output_root(const Places& places, const Request& request);

// For a tree whose root is locked now: another job may have ended there since look_at_places().
// throws: core::UsageError if something has come into a directory that must be empty.
void require_still_empty(const Places& places, const Request& request, const JobLock& lock);

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

// keys_problem: what is wrong with .tabane/keys, which may be why none fits; empty: nothing.
// throws: core::Error if headers can be read and none fits the key.
void require_key_fits(const Tree& tree, int root, const std::string& keys_problem, KeyRing& keys);

// Whether a sealed file of a tree lies there, not only files of version 1. cost: opens files until
// it finds one.
bool holds_files_of_trees(const Tree& tree, int root);

// The id of another tree than this one, if sealed files of trees lie there and none of them says
// that it is of this one. cost: opens files until it finds one of this tree.
std::optional<TreeId> other_tree_there(const Tree& tree, int root, const TreeId& id);

// The tree of the sealed files below `root`, by the slots of the first of version 2; nothing if
// there is none. throws: core::Error if a file before it, or itself, is sealed for other keys.
std::optional<TreeSeal> seal_of_files(const Tree& tree, int root, const std::string& name_of_single,
                                      KeyRing& keys);

}  // namespace tabane::encrypt
