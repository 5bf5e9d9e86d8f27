// The manifest in a sealed tree: a sealed file of its own kind, whose SHA-256 is the tree's root.
// It is written entry by entry; what is read says what each file should be, and what differs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tabane/core/file.h"
#include "tabane/core/output_file.h"
#include "tabane/crypto/sha256.h"
#include "tabane/tools/encrypt/chunk_stream.h"
#include "tabane/tools/encrypt/file_records.h"
#include "tabane/tools/encrypt/key_ring.h"
#include "tabane/tools/encrypt/manifest_compare.h"
#include "tabane/tools/encrypt/manifest_format.h"
#include "tabane/tools/encrypt/selection.h"
#include "tabane/tools/encrypt/tree.h"
#include "tabane/tools/encrypt/tree_keys.h"

namespace tabane::encrypt {

// Appears complete or not at all, in the place of the one before.
class ManifestFileWriter {
 public:
  // directory: the tree's own, open. throws: core::SystemError; as all below.
  ManifestFileWriter(core::SharedDescriptor directory, const StreamSeal& seal,
                     const ManifestHead& head);

  void add(const ManifestEntry& entry) { writer_->add(entry); }
  // fsync: it is on the disk before this returns.
  ManifestHash commit(bool fsync);

 private:
  void write(std::span<const std::byte> sealed);

  core::OutputFile file_;
  crypto::Sha256Stream sum_;
  std::optional<ChunkWriter> chunks_;
  std::optional<ManifestWriter> writer_;
};

// Reads a manifest once, from its beginning to its end. All: throw core::SystemError; DamageError
// with an offset in the sealed file or, if what was sealed is no manifest, in its plaintext.
class ManifestFileReader {
 public:
  // file: open as long as this lives.
  ManifestFileReader(int file, const StreamSeal& seal);

  const ManifestHead& head() const { return reader_->head(); }
  bool next(ManifestEntry& entry) { return reader_->next(entry); }
  ManifestReader& entries() { return *reader_; }

  // The sum of the whole file; after next() returned false.
  ManifestHash root() { return sum_.finish(); }

 private:
  crypto::Sha256Stream sum_;
  std::uint64_t offset_;
  std::optional<ChunkReader> chunks_;
  std::optional<ManifestReader> reader_;
};

// A file is not what the manifest has at its path.
struct DiffersFromManifest : core::Error {
  explicit DiffersFromManifest(const Misfit& what)
      : Error(text_of(TreeDifference{what.kind, "", ""})), misfit(what) {}

  const Misfit misfit;
};

FileRecord record_of(const ManifestEntry& entry);

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
  // added or of another kind. selection: of the scan. attributes: keeps the extended ones of files.
  // cost: see FileRecords, which may write to the directory for temporary files.
  void hold_against(const Tree& tree, const Selection& selection, bool attributes = false);

  // After hold_against(): what a file should be; not known: it is not in the manifest. Thread-safe.
  FileRecord expected(std::uint64_t file) const { return files_->get(file); }

  // After hold_against(): the file that a file is another name of, if the tree has that; a file
  // whose first name is not taken is the first itself. Thread-safe.
  std::optional<std::uint32_t> first_name_of(std::uint32_t file) const;
  // The same: the extended attributes that a file should have. Thread-safe.
  const std::vector<Attribute>& attributes_of(std::uint32_t file) const;
  // Whether a difference was noted at the path.
  bool differs(const std::string& path) const { return finder_.has(path); }

  // Notes a difference; of a file that is not in the manifest and has a temporary name, that it is
  // left out.
  void add(const std::string& path, const Misfit& misfit);
  // Names all that were found, in the order of their paths; to be called once, after the work.
  std::vector<TreeDifference> differences();

  std::vector<std::string> take_temporaries() { return std::move(temporaries_); }

  const ManifestHead& head() const { return head_; }
  const ManifestHash& root() const { return root_; }  // after all was read
  std::uint64_t links() const { return links_; }      // symbolic ones, after hold_against()

 private:
  TreeManifest() = default;
  template <class Read>
  void read(const Read& read);

  core::Descriptor file_;
  StreamSeal seal_;
  ManifestHead head_;
  ManifestHash root_{};
  std::uint64_t links_ = 0;
  std::optional<FileRecords> files_;
  std::unordered_map<std::uint32_t, std::uint32_t> first_names_;
  std::unordered_map<std::uint32_t, std::vector<Attribute>> attributes_;
  DifferenceFinder finder_;
  std::vector<std::string> temporaries_;
};

struct SealedTree {
  const Tree& tree;
  int in_root;                 // of the plain tree, for directories and links
  const FileRecords& records;  // of the files; what is not known is left out
  const TreeSeal& seal;
  ManifestHead head;  // whether it has parts, the writer finds out
  // Adds to the entry of a file what neither the tree nor the records say.
  std::function<void(std::uint32_t file, ManifestEntry& entry)> complete;
};

// Whether a manifest has exactly the entries that write_manifest() would write.
// throws: as TreeManifest::for_each().
bool says_the_same(TreeManifest& manifest, const SealedTree& sealed);

// home: the sealed tree's own directory. Directories and links that cannot be read are left out,
// with a failure. throws: core::SystemError if the manifest cannot be written.
// cost: opens each directory once.
ManifestHash write_manifest(const SealedTree& sealed, core::SharedDescriptor home, bool fsync,
                            std::vector<Failure>& failures);

}  // namespace tabane::encrypt
