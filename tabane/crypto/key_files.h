// The files of keys and passphrases that a command reads: no output of it may replace them, and
// they should not lie where it reads or writes a tree.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tabane/core/same_place.h"

namespace tabane::crypto {

class KeyFiles {
 public:
  // Takes a regular file, and nothing else. is_secret: not of public keys alone.
  void add(const std::string& path, bool is_secret = true);
  void add(const std::optional<std::string>& path) {
    if (path) add(*path);
  }

  // The path by which a file was added; null: it is none of them.
  const std::string* find(const struct stat& file) const;
  // The same of a file in an open directory, of which a symbolic link is not followed.
  const std::string* find(int directory, const char* name) const;
  // throws: core::UsageError naming `what`, such as "--json", if the output is one of them.
  void require_none(const char* what, const std::filesystem::path& output) const;

  // The secret ones that `place`, a file or directory, is or holds.
  std::vector<std::string> inside(const std::filesystem::path& place) const;

 private:
  struct KeyFile {
    std::string path;
    core::FileId id;
    bool is_secret;
  };

  std::vector<KeyFile> files_;
};

}  // namespace tabane::crypto
