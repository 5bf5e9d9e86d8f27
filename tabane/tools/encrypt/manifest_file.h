// The manifest as it lies in a sealed tree: a sealed file of its own kind, whose SHA-256 is the
// tree's root.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tabane/core/file.h"
#include "tabane/core/output_file.h"
#include "tabane/crypto/sha256.h"
#include "tabane/tools/encrypt/chunk_stream.h"
#include "tabane/tools/encrypt/manifest_format.h"
#include "tabane/tools/encrypt/root.h"

namespace tabane::encrypt {

inline constexpr const char* kManifestName = "manifest";  // in the tree's own directory
inline constexpr const char* kManifestPath = ".tabane/manifest";

// What stands before the chunks, and their keys.
struct ManifestSeal {
  std::vector<std::byte> header;
  FileKeys keys;
  std::size_t chunk_bytes = 0;
};

// Appears complete or not at all, in the place of the one before.
class ManifestFileWriter {
 public:
  // directory: the tree's own, open. throws: core::SystemError; as all below.
  ManifestFileWriter(core::SharedDescriptor directory, const ManifestSeal& seal,
                     const ManifestHead& head);

  void add(const ManifestEntry& entry) { writer_->add(entry); }
  // fsync: it is on the disk before this returns.
  Root commit(bool fsync);

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
  ManifestFileReader(int file, const ManifestSeal& seal);

  const ManifestHead& head() const { return reader_->head(); }
  bool next(ManifestEntry& entry) { return reader_->next(entry); }
  ManifestReader& entries() { return *reader_; }

  // The sum of the whole file; after next() returned false.
  Root root() { return sum_.finish(); }

 private:
  crypto::Sha256Stream sum_;
  std::uint64_t offset_;
  std::optional<ChunkReader> chunks_;
  std::optional<ManifestReader> reader_;
};

}  // namespace tabane::encrypt
