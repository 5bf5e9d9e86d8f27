// Files and trees for programs to work on, and whether two of them are the same.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tabane::bench {

namespace fs = std::filesystem;

// Removes a file or a tree, which need not be there. throws: fs::filesystem_error.
void remove_tree(const fs::path& path);

// Removes a tree and makes an empty folder of this name.
void make_empty(const fs::path& path);

// Writes a file of random bytes, different for each seed.
void write_random_file(const fs::path& path, std::uint64_t bytes, std::uint64_t seed);

// Writes `folders` folders of `files` random files each; folders 0: the files are in `root`.
// Returns the paths of the files below root.
std::vector<std::string> write_random_tree(const fs::path& root, std::size_t folders,
                                           std::size_t files, std::uint64_t bytes_each);

// Whether two files, or two trees, have the same names and contents.
bool same(const fs::path& a, const fs::path& b);

}  // namespace tabane::bench
