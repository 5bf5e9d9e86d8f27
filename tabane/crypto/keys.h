// Keys from files and passphrases, and as text. Nothing here puts key bytes into a message.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/core/file.h"
#include "tabane/crypto/secret.h"

namespace tabane::crypto {

using Passphrase = LockedMemory;  // a text

struct KeyFile {
  LockedBytes<32> key;   // the first `bytes`
  std::string warning;   // others can read the file; empty: they cannot
  std::string weakness;  // why nothing should be encrypted with it; empty: nothing is seen
};

// Reads a key of `bytes` (16 or 32): raw, or in hexadecimal with white space at its end.
// throws: core::SystemError; core::UsageError naming the file and the legal lengths, also if the
// raw bytes are hexadecimal digits: they may be half of a key.
KeyFile read_key_file(const std::string& path, std::size_t bytes);

struct PassphraseFile {
  Passphrase passphrase;
  std::string warning;  // as of a key file
};

// Reads the first line of a file, without its end of line. throws: core::SystemError;
// core::UsageError if the line is empty or longer than 1024 bytes.
PassphraseFile read_passphrase_file(const std::string& path);

// Returns why a passphrase should not encrypt anything: it has less than 8 bytes. Empty: nothing is
// seen.
std::string weakness_of(const Passphrase& passphrase);

// Makes a file of 32 random bytes that only its owner can read and that was not there.
// throws: core::SystemError naming the file.
void write_new_key_file(const std::string& path);

// Makes a file with these bytes that only its owner can read and that was not there; it is on the
// disk when this returns. throws: core::SystemError naming the file.
void write_new_secret_file(const std::string& path, std::span<const std::byte> bytes);

// Opens a file of keys. throws: core::SystemError naming it; core::UsageError, which does not show
// the argument, if it is a key itself.
core::Descriptor open_to_read(const std::string& path);

// Returns a warning if others can read an open file of keys, else an empty text. throws:
// core::SystemError.
std::string warning_of(const core::Descriptor& file, const std::string& path);

// The files of keys and passphrases that a command reads: no output may replace them, and they
// should not lie where the command reads or writes a tree.
class KeyFiles {
 public:
  // Adds a regular file, and ignores anything else. is_secret: false for a file of public keys
  // only.
  void add(const std::string& path, bool is_secret = true);
  void add(const std::optional<std::string>& path) {
    if (path) add(*path);
  }

  // Returns the path by which a file was added; null: it is none of them.
  const std::string* find(const struct stat& file) const;
  // The same for a file in an open directory; does not follow a symbolic link.
  const std::string* find(int directory, const char* name) const;
  // throws: core::UsageError naming `what`, such as "--json", if the output is one of them.
  void require_none(const char* what, const std::filesystem::path& output) const;

  // Returns the secret ones that `place`, a file or directory, is or holds.
  std::vector<std::string> inside(const std::filesystem::path& place) const;

 private:
  struct KeyFile {
    std::string path;
    core::FileId id;
    bool is_secret;
  };

  std::vector<KeyFile> files_;
};

// ---- Bech32 (BIP 173): bytes as text of letters and digits in one case, with a checksum ----

// May hold a secret: wiped at the end.
struct Bech32 {
  Bech32() = default;
  ~Bech32() { wipe(values); }
  Bech32(const Bech32&) = delete;
  Bech32& operator=(const Bech32&) = delete;
  Bech32(Bech32&&) noexcept = default;
  Bech32& operator=(Bech32&&) noexcept = delete;

  std::string prefix;             // in lower case
  std::vector<std::byte> values;  // of 5 bits, without the checksum
};

// Returns null if the text is not Bech32 of at most 90 characters, in one case.
std::optional<Bech32> decode_bech32(std::string_view text);

// Returns a text in lower case. prefix: legal characters; values: below 32.
std::string encode_bech32(std::string_view prefix, std::span<const std::byte> values);

// Returns bytes as a text with the prefix.
std::string bech32_of_bytes(std::string_view prefix, std::span<const std::byte> bytes);

// Fills `bytes`; returns false if the values are not exactly as many, with 0 in the bits left over.
bool bytes_of_bech32(std::span<const std::byte> values, std::span<std::byte> bytes);

}  // namespace tabane::crypto
