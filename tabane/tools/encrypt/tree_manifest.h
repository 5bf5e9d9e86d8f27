// The manifest of a sealed tree that is opened: what it says of each file, and what differs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tabane/core/file.h"
#include "tabane/tools/encrypt/file_records.h"
#include "tabane/tools/encrypt/key_ring.h"
#include "tabane/tools/encrypt/manifest_compare.h"
#include "tabane/tools/encrypt/manifest_file.h"
#include "tabane/tools/encrypt/tree.h"
#include "tabane/tools/encrypt/tree_seal.h"

namespace tabane::encrypt {

// A file is not what the manifest has at its path.
class DiffersFromManifest : public core::Error {
 public:
  DiffersFromManifest(Difference kind, std::optional<DifferenceFinder::Salt> salt);

  Difference kind() const { return kind_; }
  const std::optional<DifferenceFinder::Salt>& salt() const { return salt_; }

 private:
  Difference kind_;
  std::optional<DifferenceFinder::Salt> salt_;
};

FileRecord record_of(const ManifestEntry& entry);

// Draws a salt and makes the header of a manifest. throws: core::Error if the crypto library fails.
ManifestSeal seal_of_manifest(const TreeSeal& tree);

class TreeManifest {
 public:
  // Opens the manifest in a sealed tree's own directory; returns null if there is none.
  // throws: core::SystemError; WrongKey; DamageError; core::Error if it is of another tree than
  // the file of keys beside it.
  static std::unique_ptr<TreeManifest> open(int root, KeyRing& keys);

  // Reads it all. throws: as open(), and what `each` throws.
  using Each = std::function<void(const ManifestEntry*, const TreeWalk*)>;
  void merge_with(const Tree& tree, const Each& each);
  void for_each(const std::function<void(const ManifestEntry&)>& each);

  // Reads it all and notes what it says of the files of a tree, and which entries are missing,
  // added or of another kind. excludes: of the scan. cost: see FileRecords, which may write to the
  // directory for temporary files.
  void hold_against(const Tree& tree, const std::vector<std::string>& excludes);

  // After hold_against(): what a file should be; not known: it is not in the manifest. Thread-safe.
  FileRecord expected(std::uint64_t file) const { return files_->get(file); }

  // Notes a difference that the work found; of a file that is not in the manifest and has
  // a temporary name, that it is left out. Thread-safe.
  void add(const std::string& path, const DiffersFromManifest& difference);
  // Names all that were found, in the order of their paths; to be called once, after the work.
  std::vector<TreeDifference> differences();

  std::vector<std::string> take_temporaries() { return std::move(temporaries_); }

  const ManifestHead& head() const { return head_; }
  const Root& root() const { return root_; }      // after all was read
  std::uint64_t links() const { return links_; }  // symbolic ones, after hold_against()

 private:
  TreeManifest() = default;
  template <class Read>
  void read(const Read& read);

  core::Descriptor file_;
  ManifestSeal seal_;
  ManifestHead head_;
  Root root_{};
  std::uint64_t links_ = 0;
  std::optional<FileRecords> files_;
  std::mutex mutex_;
  DifferenceFinder finder_;
  std::vector<std::string> temporaries_;
};

}  // namespace tabane::encrypt
