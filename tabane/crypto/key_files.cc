#include "tabane/crypto/key_files.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "tabane/core/error.h"
#include "tabane/core/file.h"

namespace tabane::crypto {
namespace {

namespace fs = std::filesystem;

core::FileId id_of(const struct stat& status) { return {status.st_dev, status.st_ino}; }

// The file, and the directories that it lies in.
std::vector<core::FileId> places_of_keys(const std::string& path, const core::FileId& id) {
  std::vector<core::FileId> places = {id};
  std::error_code error;
  const fs::path folder = fs::canonical(path, error).parent_path();
  const core::Descriptor opened(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!error && opened.valid())
    std::ranges::copy(core::with_parents(opened.get()), std::back_inserter(places));
  return places;
}

}  // namespace

void KeyFiles::add(const std::string& path, bool is_secret) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  files_.push_back({path, id_of(status), is_secret});
}

const std::string* KeyFiles::find(const struct stat& file) const {
  const auto found = std::ranges::find(files_, id_of(file), &KeyFile::id);
  return found == files_.end() ? nullptr : &found->path;
}

const std::string* KeyFiles::find(int directory, const char* name) const {
  struct stat there {};
  if (files_.empty() || fstatat(directory, name, &there, AT_SYMLINK_NOFOLLOW) != 0) return nullptr;
  return find(there);
}

void KeyFiles::require_none(const char* what, const fs::path& output) const {
  struct stat there {};
  if (stat(output.c_str(), &there) != 0) return;
  if (const std::string* key = find(there)) {
    throw core::UsageError(fmt::format("{} ({}) is the file of keys {}; give another place", what,
                                       output.string(), *key));
  }
}

std::vector<std::string> KeyFiles::inside(const fs::path& place) const {
  std::vector<std::string> paths;
  struct stat there {};
  if (stat(place.c_str(), &there) != 0) return paths;
  for (const KeyFile& file : files_) {
    const std::vector<core::FileId> places = places_of_keys(file.path, file.id);
    const bool lies_there = std::ranges::find(places, id_of(there)) != places.end();
    if (file.is_secret && lies_there) paths.push_back(file.path);
  }
  return paths;
}

}  // namespace tabane::crypto
