// The sealed file format: header and keys. docs/sealed-format.md is its specification.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tabane/core/error.h"
#include "tabane/workloads/aes_dir/secret.h"

namespace tabane::workloads::aes_dir {

inline constexpr std::size_t kMasterKeyBytes = 32;
inline constexpr std::size_t kFileSaltBytes = 32;
inline constexpr std::size_t kScryptSaltBytes = 16;
inline constexpr std::size_t kKeyCheckBytes = 32;
inline constexpr std::size_t kHeaderBytes = 96;
inline constexpr std::size_t kTagBytes = 16;
inline constexpr int kChunkLog2 = 16;

using MasterKey = LockedBytes<kMasterKeyBytes>;

enum class KeySource : std::uint8_t { key_file = 0, scrypt = 1 };

struct ScryptParameters {
  std::uint8_t log2_n = 0;  // 10…22
  std::uint8_t r = 0;       // 1…32
  std::uint8_t p = 0;       // 1…16
  std::array<std::byte, kScryptSaltBytes> salt{};

  auto operator<=>(const ScryptParameters&) const = default;

  std::uint64_t work() const { return (std::uint64_t{r} * p) << log2_n; }      // N r p
  std::uint64_t memory() const { return (std::uint64_t{128} * r) << log2_n; }  // bytes
};

struct Header {
  KeySource source = KeySource::key_file;
  int chunk_log2 = kChunkLog2;  // 12…24
  ScryptParameters scrypt;      // all 0 for a key file
  std::array<std::byte, kFileSaltBytes> file_salt{};

  std::size_t chunk_bytes() const { return std::size_t{1} << chunk_log2; }
};

// What one file's header and the master key give.
struct FileKeys {
  SecretBytes<32> key;
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

// Bytes of the sealed file of a file of n bytes. throws: core::Error if it had more than 2^32
// chunks.
std::uint64_t sealed_bytes(std::uint64_t n, int chunk_log2 = kChunkLog2);

// Bytes of the file in a sealed file of `sealed` bytes.
// throws: DamageError if no file has this sealed size.
std::uint64_t opened_bytes(std::uint64_t sealed, int chunk_log2 = kChunkLog2);

// HKDF-SHA256 of the master key, bound to the header. cost: about 15 SHA-256 blocks, no allocation.
// throws: core::Error if the system's crypto library fails; as all below.
FileKeys derive_file_keys(const Header& header, const MasterKey& master);

std::array<std::byte, kHeaderBytes> encode_header(const Header& header, const FileKeys& keys);

// Reads a header without checking the key. throws: DamageError naming the field that cannot be.
Header decode_header(std::span<const std::byte> sealed);

// Whether the key check of an encoded header fits. Takes the same time for any check.
bool key_fits(std::span<const std::byte, kHeaderBytes> header, const FileKeys& keys);

// Derives a master key from a passphrase. cost: 128 r 2^log2_n bytes of memory, 0.1 s and more.
// throws: core::Error if the parameters are refused or the memory is not there.
MasterKey derive_master_key(std::span<const std::byte> passphrase,
                            const ScryptParameters& parameters);

// Fills bytes with cryptographically strong random numbers.
void fill_random(std::span<std::byte> bytes);

}  // namespace tabane::workloads::aes_dir
