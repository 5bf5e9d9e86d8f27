// The manifest of a sealed tree, as plaintext: a stream of entries in the order of their paths.
// tabane/tools/encrypt/sealed-format.md is its specification.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tabane/crypto/chunk_cipher.h"
#include "tabane/tools/encrypt/sealed_format.h"

namespace tabane::encrypt {

// The root of a sealed tree: the SHA-256 of its manifest as it is stored.
using ManifestHash = std::array<std::byte, 32>;

// Reads 64 hexadecimal digits. throws: core::UsageError.
ManifestHash parse_manifest_hash(const std::string& text);

inline constexpr std::size_t kStoredNameBytes = 16;
inline constexpr std::size_t kMostPathBytes = std::size_t{1} << 20;       // of a path or a target
inline constexpr std::size_t kMostAttributeBytes = std::size_t{1} << 20;  // of all of an entry

// The order of a manifest: byte by byte, with '/' before every other byte, so that what lies below
// a directory stands right behind it. Returns below 0, 0 or above 0.
int compare_paths(std::string_view a, std::string_view b);

struct ManifestHead {
  TreeId tree_id{};
  std::uint64_t generation = 1;  // one more with each update of the tree
  bool hidden_names = false;
  bool has_parts = false;   // entries say what most files do not have
  bool attributes = false;  // extended ones, too; only with parts

  bool operator==(const ManifestHead&) const = default;
};

enum class EntryKind : std::uint8_t { directory = 1, file = 2, link = 3 };

// What tells one sealing of a file from all others: its salt is drawn anew each time.
struct SealedState {
  std::uint64_t bytes = 0;  // of the plain file
  std::array<std::byte, kFileSaltBytes> salt{};
  std::array<std::byte, crypto::kTagBytes> last_tag{};

  bool operator==(const SealedState&) const = default;
};

// An extended attribute: its name and its value.
using Attribute = std::pair<std::string, std::string>;

// Whether it may be in a manifest: of a user, or an access control list.
bool is_attribute_name(std::string_view name);

struct ManifestEntry {
  EntryKind kind = EntryKind::directory;
  std::string path;               // below the root; empty for the root itself
  std::uint32_t mode = 0;         // 07777
  std::int64_t seconds = 0;       // of the last change of the content
  std::uint32_t nanoseconds = 0;  // below 10^9
  SealedState sealed;             // of a file
  std::array<std::byte, kStoredNameBytes> stored_name{};  // of a file, with hidden names
  std::string target;                                     // of a link
  // The next four only if there are parts; the first three of a file.
  bool sparse = false;                // blocks of zeros are holes
  bool has_names = false;             // the first of several names of one file
  std::string same_as;                // the first name, if this is another one
  std::vector<Attribute> attributes;  // of a file or directory, sorted by name

  bool operator==(const ManifestEntry&) const = default;
};

// Checks that paths come in order, each below a directory that has come. One tree at a time.
class PathOrder {
 public:
  // Returns what is wrong with the next path, or null.
  const char* refuse(EntryKind kind, std::string_view path);

 private:
  bool any_ = false;
  std::string last_, last_directory_;
};

// Writes a manifest piece by piece. Memory: one buffer of 64 KiB.
class ManifestWriter {
 public:
  // sink: takes what is written; what it throws comes out of all functions below.
  using Sink = std::function<void(std::span<const std::byte>)>;
  ManifestWriter(const ManifestHead& head, Sink sink);

  // The root first, then all others in order; anything else is an error of the programmer.
  void add(const ManifestEntry& entry);
  // Writes how many entries there were. To be called once, after the last one.
  void finish();

 private:
  void put(std::span<const std::byte> bytes);
  void put_number(std::uint64_t value, std::size_t bytes);
  void put_text(std::string_view text);
  void flush();

  void put_parts(const ManifestEntry& entry);

  const ManifestHead head_;
  Sink sink_;
  std::vector<std::byte> buffer_;
  PathOrder order_;
  std::uint64_t entries_ = 0, bytes_ = 0;
};

// Reads a manifest piece by piece. Memory: one buffer of 64 KiB and one entry.
class ManifestReader {
 public:
  // source: fills the bytes as far as there are any and returns how many; less: the end.
  using Source = std::function<std::size_t(std::span<std::byte>)>;
  // throws: DamageError with the offset in the plaintext; as next().
  explicit ManifestReader(Source source);

  const ManifestHead& head() const { return head_; }
  // Returns false behind the last entry, when the count fits and nothing follows.
  bool next(ManifestEntry& entry);
  std::uint64_t entries() const { return entries_; }  // until now
  std::uint64_t bytes() const { return bytes_; }      // of the plain files among them

 private:
  std::uint64_t offset() const { return before_ + at_; }
  // Makes sure that `bytes` (at most the buffer's half) stand at at_; otherwise the input is cut.
  const std::byte* need(std::size_t bytes);
  void take(std::span<std::byte> field);
  std::uint64_t number(std::size_t bytes);
  void text(std::string& text, const char* what);
  void read_entry(EntryKind kind, ManifestEntry& entry);
  void read_parts(ManifestEntry& entry);
  void read_attributes(ManifestEntry& entry);
  void read_end();

  ManifestHead head_;
  Source source_;
  std::vector<std::byte> buffer_;
  std::size_t at_ = 0, filled_ = 0;
  std::uint64_t before_ = 0;  // bytes that were read before what is in the buffer
  PathOrder order_;
  std::uint64_t entries_ = 0, bytes_ = 0;
};

}  // namespace tabane::encrypt
