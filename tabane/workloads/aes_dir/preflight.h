// What a job looks at before it writes anything: both places, the tree, and whether the key fits.
#pragma once

#include <string>

#include "tabane/core/file.h"
#include "tabane/workloads/aes_dir/key_ring.h"
#include "tabane/workloads/aes_dir/request.h"
#include "tabane/workloads/aes_dir/tree.h"

namespace tabane::workloads::aes_dir {

struct Places {
  Tree tree;
  core::Descriptor in_root;
  std::string
      out_parent;  // of a directory job: where `out_name` is made; empty: nothing is written
  std::string output_name;  // of a single file
  std::string out_path;     // the directory that outputs go to
  bool single_file = false;
};

// Opens and scans the input, and refuses impossible requests. throws: as run_job().
Places look_at_places(const Request& request);

// Opens the output's directory, made if it is missing.
// throws: core::SystemError; core::UsageError for a single file where a job writes a tree.
core::Descriptor open_output_root(const Places& places, const Request& request);

// Removes what a killed job left in the directories that this job writes to; returns how many
// files.
std::size_t remove_leftovers_in(const Places& places, int out_root);

// throws: core::Error if headers can be read and none fits the key.
void require_key_fits(const Tree& tree, int root, const std::string& name_of_single, KeyRing& keys);

// The scrypt parameters of the sealed files that are in the output already, so that the passphrase
// is derived once for old and new; `fresh` if there are none, or none that cost as much to guess.
// throws: core::Error if the passphrase or key is not the one of the files there.
ScryptParameters parameters_of_outputs(const Tree& tree, int out_root,
                                       const std::string& name_of_single, KeyRing& keys,
                                       const ScryptParameters& fresh);

}  // namespace tabane::workloads::aes_dir
