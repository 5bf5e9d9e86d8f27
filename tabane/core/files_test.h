// For tests of files: directories that are opened and listed, files that are changed.
#pragma once

#include <fcntl.h>

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include "tabane/core/file.h"

namespace tabane::core {

// Returns none that is valid if there is no such directory.
inline Descriptor open_directory(const std::filesystem::path& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

inline std::set<std::string> names_in(const std::filesystem::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

// Puts a file with this content and mode in the place of what is there; returns its path.
inline std::string replace_file(const std::filesystem::path& path, std::string_view content,
                                std::filesystem::perms mode) {
  std::filesystem::remove(path);
  write_file(path, content);
  std::filesystem::permissions(path, mode);
  return path.string();
}

// Makes a file with the mark of what a killed run leaves; its name must be a temporary one.
inline void leave_behind(const std::filesystem::path& path, std::string_view content) {
  write_file(path, content);
  std::filesystem::permissions(path, std::filesystem::perms::sticky_bit,
                               std::filesystem::perm_options::add);
}

inline void flip_bits(const std::filesystem::path& path, std::size_t at, int bits = 1) {
  std::string bytes = read_file(path);
  bytes.at(at) = static_cast<char>(bytes.at(at) ^ bits);
  write_file(path, bytes);
}

}  // namespace tabane::core
