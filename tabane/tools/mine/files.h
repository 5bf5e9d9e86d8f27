// Files of mining: framed so that damage is found before anything is used.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tabane/core/file.h"
#include "tabane/crypto/sha256.h"
#include "tabane/team/serialiser.h"

namespace tabane::mine {

// The steps of mining leave each other frames, whose numbers are little-endian:
//
//   magic "tabanemn" | kind, version: u32 | bytes of the content: u64 | content | SHA-256 of all
//
// Values in the content are written by put_value().

enum class FileKind : std::uint32_t { secret_key = 1, public_keys, database, state, query, answer };

enum class Replace { yes, no };

// throws: core::SystemError naming the file, also (EEXIST) if it exists and must not be replaced.
// mode: permissions of the file, which appears only when it is whole.
void write_framed(const std::filesystem::path& path, FileKind kind,
                  std::span<const std::byte> content, mode_t mode, Replace replace);

// throws: core::UsageError naming the file if it is of another kind or version, too short, too long
// or damaged; core::SystemError.
team::Bytes read_framed(const std::filesystem::path& path, FileKind kind);

// A frame as the front of a larger file. throw: as above; path is for errors.
std::string framed(FileKind kind, std::span<const std::byte> content);
struct FileFront {
  team::Bytes content;
  std::uint64_t bytes = 0;  // where the rest begins
};
FileFront read_front(const core::Descriptor& file, const std::string& path, FileKind kind);

core::Descriptor open_to_read(const std::filesystem::path& path);
// throws: core::UsageError if it is not a regular file.
std::uint64_t size_of(const core::Descriptor& file, const std::string& path);

// Appends the SHA-256 of what is there; tells whether bytes end in that of what is before it.
inline constexpr std::size_t kDigestBytes = sizeof(crypto::Sha256Sum);
void add_digest(std::string& bytes);
bool has_right_digest(std::string_view bytes);

[[noreturn]] void throw_damaged(const std::string& path);
[[noreturn]] void throw_cut(const std::string& path);

// Returns a value with fields() as bytes, and from the content of a file.
template <class T>
team::Bytes bytes_of(const T& value) {
  team::Bytes bytes;
  team::put_value(bytes, value);
  return bytes;
}
// throws: core::UsageError naming the file.
template <class T>
T value_of(std::span<const std::byte> content, const std::filesystem::path& path) {
  try {
    team::Reader in(content);
    T value = team::get_value<T>(in);
    if (!in.empty()) throw_damaged(path.string());
    return value;
  } catch (const std::out_of_range&) {
    throw_damaged(path.string());
  }
}

template <class T>
void write_value(const std::filesystem::path& path, FileKind kind, const T& value,
                 mode_t mode = 0666, Replace replace = Replace::yes) {
  write_framed(path, kind, bytes_of(value), mode, replace);
}
template <class T>
T read_value(const std::filesystem::path& path, FileKind kind) {
  return value_of<T>(read_framed(path, kind), path);
}

}  // namespace tabane::mine
