// A folder for files to work on, gone when it goes out of scope; what a killed run left is removed
// by the next.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tabane::bench {

namespace fs = std::filesystem;

class Scratch {
 public:
  // parent: usually a memory file system. throws: core::SystemError.
  explicit Scratch(const fs::path& parent);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const fs::path& path() const { return path_; }
  fs::path operator/(const std::string& name) const { return path_ / name; }
  // Bytes that can be written without emptying the machine's memory or the file system.
  std::uint64_t free_bytes() const;

 private:
  fs::path path_;
  int lock_ = -1;
};

// Removes a file or a tree, which need not be there. throws: fs::filesystem_error.
void remove_tree(const fs::path& path);

// Removes a tree and makes an empty folder of this name.
void make_empty(const fs::path& path);

// throws: core::SystemError.
void write_file(const fs::path& path, std::span<const std::byte> bytes);

// Writes a file of random bytes, different for each seed.
void write_random_file(const fs::path& path, std::uint64_t bytes, std::uint64_t seed);

// Writes `folders` folders of `files` random files each; folders 0: the files stand in `root`.
// Returns the paths of the files below root.
std::vector<std::string> write_random_tree(const fs::path& root, std::size_t folders,
                                           std::size_t files, std::uint64_t bytes_each);

// Whether two files, or two trees, have the same names and contents.
bool same(const fs::path& a, const fs::path& b);

}  // namespace tabane::bench
