// What a job looks at before it writes anything: both places and the tree.
#pragma once

#include <optional>
#include <string>

#include "tabane/core/file.h"
#include "tabane/core/output_file.h"
#include "tabane/tools/encrypt/key_ring.h"
#include "tabane/tools/encrypt/request.h"
#include "tabane/tools/encrypt/tree.h"

namespace tabane::encrypt {

class JobLock;

enum class InputKind { tree, file, stream };  // of IN

struct Places {
  // The plain tree, or what a scan found; of a single file: of that alone; of a stream: empty.
  Trees trees;
  core::Descriptor in_root;  // not for standard input, which has an empty tree
  // Of a sealed tree that is read, as it lay there before the scan, without access to its content.
  core::Descriptor manifest;
  std::string in_path;                     // the directory that inputs are in
  std::string output_name;                 // of a single file
  std::optional<core::OutputPath> stream;  // that a single file goes to; then there is no directory
  std::string out_path;                    // the directory that outputs go to
  InputKind input_kind = InputKind::tree;
};

// Opens and scans the input, and refuses impossible requests. throws: as run_job().
Places look_at_places(const Request& request);

// Opens a sealed tree alone, without a scan. throws: as look_at_places().
Places look_at_root(const Request& request);

// For a tree whose root is locked now: another job may have ended there since look_at_places().
// throws: core::UsageError if something has come into a directory that must be empty.
void require_still_empty(const Places& places, const Request& request, const JobLock& lock);

}  // namespace tabane::encrypt
