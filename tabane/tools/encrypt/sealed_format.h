// The sealed file format: header and keys. tabane/tools/encrypt/sealed-format.md is its
// specification.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/crypto/key_derivation.h"
#include "tabane/crypto/secret.h"
#include "tabane/crypto/sha256.h"

namespace tabane::encrypt {

// The random key of a sealed tree, from which the keys of its files are derived, and the tree's
// name for the machine.
inline constexpr std::size_t kTreeIdBytes = 16;
inline constexpr std::size_t kTreeKeyBytes = 32;

using TreeId = std::array<std::byte, kTreeIdBytes>;
using TreeKey = crypto::LockedBytes<kTreeKeyBytes>;

inline constexpr std::size_t kMasterKeyBytes = 32;
inline constexpr std::size_t kFileSaltBytes = 32;
inline constexpr std::size_t kKeyCheckBytes = 32;
inline constexpr std::size_t kHeaderBytes = 96;            // the fixed part; all of it in version 1
inline constexpr std::size_t kSlotsAt = kHeaderBytes + 4;  // version 2: behind their length
inline constexpr std::size_t kMostSlotsBytes = std::size_t{64} << 10;
inline constexpr std::size_t kMostOfKeysFile = std::size_t{64} << 10;
inline constexpr int kChunkLog2 = 16;

using MasterKey = crypto::LockedBytes<kMasterKeyBytes>;

// What a file's keys come from: the master key, in version 1, or the key of its tree, in version 2.
enum class KeySource : std::uint8_t { key_file = 0, scrypt = 1, tree_key = 2 };

struct Header {
  KeySource source = KeySource::key_file;
  int chunk_log2 = kChunkLog2;      // 12…24
  crypto::ScryptParameters scrypt;  // all 0 but for scrypt
  std::array<std::byte, kFileSaltBytes> file_salt{};
  // With a tree's key, otherwise all 0:
  TreeId tree{};
  std::uint32_t slots_bytes = 0;  // 1 to kMostSlotsBytes
  crypto::Sha256Sum slots_digest{};

  std::size_t chunk_bytes() const { return std::size_t{1} << chunk_log2; }
  // Where the chunks begin.
  std::size_t bytes() const {
    return source == KeySource::tree_key ? kSlotsAt + slots_bytes : kHeaderBytes;
  }
};

// What one file's header and the master key give.
struct FileKeys {
  crypto::SecretBytes<32> key;
  std::array<std::byte, kKeyCheckBytes> check{};
};

// The file is not what it was sealed as, or is opened with another key.
class DamageError : public core::Error {
 public:
  DamageError(const std::string& what, std::uint64_t offset);

  std::uint64_t offset() const { return offset_; }  // in the sealed file, of what does not fit

 private:
  std::uint64_t offset_;
};

// In a version of the format that this program does not know.
class VersionError : public DamageError {
 public:
  // what: "sealed"; known: "1 and 2".
  VersionError(const char* what, unsigned found, const char* known, std::uint64_t offset);
};

// Bytes of the sealed file of a file of n bytes. throws: core::Error if it had more than 2^32
// chunks.
std::uint64_t sealed_bytes(std::uint64_t n, int chunk_log2 = kChunkLog2,
                           std::size_t header_bytes = kHeaderBytes);

// Bytes of the file in a sealed file of `sealed` bytes.
// throws: DamageError if no file has this sealed size.
std::uint64_t opened_bytes(std::uint64_t sealed, int chunk_log2 = kChunkLog2,
                           std::size_t header_bytes = kHeaderBytes);

// What is sealed: a file of a tree, or the tree's manifest, for which no file can stand.
enum class Content { file, manifest };

// HKDF-SHA256 of the master key or the tree's key, bound to the header. cost: 14 to 16 SHA-256
// blocks, no allocation. manifest: with a tree's key only.
// throws: core::Error if the system's crypto library fails; as all below.
FileKeys derive_file_keys(const Header& header, const MasterKey& key,
                          Content content = Content::file);

// The fixed part of a header; with a tree's key, embed_slots() goes behind it.
std::array<std::byte, kHeaderBytes> encode_header(const Header& header, const FileKeys& keys);

// The slots of a tree as they stand in a header, with their length in front.
std::vector<std::byte> embed_slots(std::span<const std::byte> slots);

// Puts what a header says of its slots into it. cost: SHA-256 of the slots, unless they are those
// of the call before in this thread, as in all files of a tree.
void set_slots(Header& header, std::span<const std::byte> slots);

// How many bytes of a file its header may have, as its first kSlotsAt bytes say.
std::size_t header_bytes(std::span<const std::byte> first);

// Reads a header without checking the key or the slots. throws: DamageError naming the field that
// cannot be.
Header decode_header(std::span<const std::byte> sealed);

// Whether the key check of an encoded header fits. Takes the same time for any check.
bool key_fits(std::span<const std::byte, kHeaderBytes> header, const FileKeys& keys);

// The header at the beginning of an open sealed file, or less, where the file ends or is none.
// throws: core::SystemError naming `what`. cost: one read, two if there are many slots.
std::vector<std::byte> read_header(int file, std::string_view what);

}  // namespace tabane::encrypt
