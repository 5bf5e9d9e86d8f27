// Files that the steps of mining leave for each other: what they hold, in which version, and a
// digest, so that a damaged file, a cut one and one of another kind are told apart before anything
// is taken from them.
//
//   magic "tabanemn" | kind, version: u32 | bytes of the content: u64 | content | SHA-256 of all
//
// Numbers are little-endian. Values in the content are written by put_value().
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/team/serialiser.h"
#include "tabane/tools/mine/output_stream.h"

namespace tabane::mine {

inline constexpr std::uint32_t kContainerVersion = 1;

enum class Kind : std::uint32_t { secret_key = 1, public_keys, database, state, query, answer };

// "a secret key", "a database" …
std::string name_of(Kind kind);

// mode: permissions of a new file. throws: core::SystemError naming it.
void write_container(const std::filesystem::path& path, Kind kind,
                     std::span<const std::byte> content, mode_t mode, Replace replace);

// throws: core::UsageError naming the file if it is of another kind or version, too short, too long
// or damaged; core::SystemError.
team::Bytes read_container(const std::filesystem::path& path, Kind kind);

// A container as the front of a larger file. throw: as above; path is for errors.
team::Bytes container_bytes(Kind kind, std::span<const std::byte> content);
struct Front {
  team::Bytes content;
  std::uint64_t bytes = 0;  // where the rest begins
};
Front read_front(const core::Descriptor& file, const std::string& path, Kind kind);

core::Descriptor open_to_read(const std::filesystem::path& path);
// throws: core::UsageError if it is not a regular file.
std::uint64_t size_of(const core::Descriptor& file, const std::string& path);

[[noreturn]] void throw_damaged(const std::string& path);
[[noreturn]] void throw_cut(const std::string& path);

// Puts a value with fields() into bytes, and takes it out of the content of a file.
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
void write_value(const std::filesystem::path& path, Kind kind, const T& value, mode_t mode = 0666,
                 Replace replace = Replace::yes) {
  write_container(path, kind, bytes_of(value), mode, replace);
}
template <class T>
T read_value(const std::filesystem::path& path, Kind kind) {
  return value_of<T>(read_container(path, kind), path);
}

}  // namespace tabane::mine
