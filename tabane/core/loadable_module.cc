#include "tabane/core/loadable_module.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace tabane::core {
namespace {

namespace fs = std::filesystem;

bool is_below(const fs::path& path, const fs::path& root) {
  const fs::path relative = path.lexically_relative(root);
  return !relative.empty() && *relative.begin() != "..";
}

// In a directory with the sticky bit, nobody replaces what belongs to another.
bool others_can_write(const struct stat& status) {
  const bool sticky = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
  const bool own_group = status.st_gid == 0 || status.st_gid == getegid();
  return !sticky &&
         ((status.st_mode & S_IWOTH) != 0 || ((status.st_mode & S_IWGRP) != 0 && !own_group));
}

}  // namespace

const ModulePlaces& module_places() {
  static const ModulePlaces places{TABANE_BUILD_DIR, TABANE_MODULES_BUILT,
                                   TABANE_MODULES_FROM_PROGRAM, TABANE_MODULES_INSTALLED};
  return places;
}

fs::path this_program() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored);
}

fs::path module_directory(const fs::path& program, const ModulePlaces& places) {
  if (!program.is_absolute()) return places.installed;
  std::error_code error;
  const fs::path build_folder = fs::weakly_canonical(places.build_folder, error);
  if (!error && is_below(program, build_folder)) return places.built;
  // The second is that of a build folder which was moved.
  for (const fs::path& place : {places.from_program, places.built.filename()}) {
    fs::path beside = (program.parent_path() / place).lexically_normal();
    if (fs::is_directory(beside, error)) return beside;
  }
  return places.installed;
}

std::string distrust_of(const fs::path& module, const fs::path& program) {
  std::error_code error;
  fs::path place = fs::canonical(module, error);
  if (error) return fmt::format("{}: {}", module.string(), error.message());
  struct stat status {};
  const uid_t owner = stat(program.c_str(), &status) == 0 ? status.st_uid : geteuid();
  for (;; place = place.parent_path()) {
    if (lstat(place.c_str(), &status) != 0)
      return fmt::format("{}: {}", place.string(), std::strerror(errno));
    if (status.st_uid != 0 && status.st_uid != geteuid() && status.st_uid != owner)
      return fmt::format("{} belongs to user {}", place.string(), status.st_uid);
    if (others_can_write(status)) return "others can write to " + place.string();
    if (place == place.parent_path()) return {};
  }
}

}  // namespace tabane::core
