// A folder of its own for temporary files, gone with its object; what a killed process left is
// removed by the next one that makes a folder of the same name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "tabane/core/file.h"

namespace tabane::core {

class ScratchFolder {
 public:
  // Makes an empty folder below parent/NAME-XXXXXX. parent: empty means the system's folder
  // for temporary files. throws: SystemError naming the folder.
  explicit ScratchFolder(std::string_view name, const std::filesystem::path& parent = {});
  ~ScratchFolder();  // removes it with all that is in it
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

 private:
  std::filesystem::path outer_;
  std::filesystem::path path_;
  Descriptor lock_;  // on outer_
};

// Whether the files there are kept in memory (tmpfs, ramfs). False if the system does not say.
bool is_in_memory(const std::filesystem::path& folder);

// Bytes that can be written there without filling the file system or, where files are kept in
// memory, the memory that this process can use. throws: SystemError.
std::uint64_t writable_bytes(const std::filesystem::path& folder);

}  // namespace tabane::core
