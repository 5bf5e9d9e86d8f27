#include "tabane/tools/encrypt/tree_home.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string_view>

#include "tabane/core/error.h"
#include "tabane/core/output_file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/tools/encrypt/tree.h"

namespace tabane::encrypt {
namespace {

constexpr const char* kName = "keys";

}  // namespace

core::Descriptor open_home(int root, bool make) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  if (make && mkdirat(root, kOwnDirectory, 0777) != 0 && errno != EEXIST) {
    throw core::SystemError("make the directory", kOwnDirectory, errno);
  }
  core::Descriptor home(openat(root, kOwnDirectory, kFlags));
  if (!home.valid() && errno == ENOTDIR) {
    throw core::Error(
        fmt::format("{}: is not a directory, as tabane makes it for the keys and the manifest of a "
                    "sealed tree; somebody has put it there: move it away",
                    kOwnDirectory));
  }
  if (!home.valid() && (make || errno != ENOENT)) {
    throw core::SystemError("open", kOwnDirectory, errno);
  }
  return home;
}

core::Descriptor open_own_file(int directory, const char* name, const char* path) {
  core::Descriptor file(openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid() && errno == ENOENT) return file;
  struct stat there {};
  if (!file.valid() && errno != ELOOP) throw core::SystemError("open", path, errno);
  if (file.valid() && fstat(file.get(), &there) != 0) throw core::SystemError("stat", path, errno);
  if (S_ISREG(there.st_mode)) return file;
  throw core::Error(fmt::format(
      "{}: is {}, where tabane keeps a file; somebody has put it there: move it away", path,
      !file.valid()            ? "a symbolic link"
      : S_ISDIR(there.st_mode) ? "a directory"
                               : "not a regular file"));
}

std::vector<std::string> strangers_at_home(int root) {
  constexpr std::array<std::string_view, 5> kNames = {kName, "manifest", "changing", "hidden-names",
                                                      kLockName};
  core::Descriptor home = open_home(root, false);
  std::unique_ptr<DIR, int (*)(DIR*)> stream(home.valid() ? fdopendir(home.get()) : nullptr,
                                             &closedir);
  if (!stream) throw core::SystemError("open", kOwnDirectory, errno);
  home.release();  // which the stream closes
  std::vector<std::string> strangers;
  errno = 0;
  while (const dirent* entry = readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    const bool own = std::ranges::find(kNames, name) != kNames.end();
    if (!own && name != "." && name != ".." && !core::is_temporary_name(name)) {
      strangers.emplace_back(name);
    }
    errno = 0;
  }
  if (errno != 0) throw core::SystemError("read", kOwnDirectory, errno);
  return strangers;
}

std::optional<std::vector<std::byte>> read_keys(int root) {
  const core::Descriptor home = open_home(root, false);
  if (!home.valid()) return std::nullopt;
  const core::Descriptor file = open_own_file(home.get(), kName, kKeysPath);
  if (!file.valid()) return std::nullopt;
  std::vector<std::byte> bytes(kMostOfKeysFile + 1);
  bytes.resize(core::read_all_at(file.get(), bytes.data(), bytes.size(), 0, kKeysPath));
  return bytes;
}

void write_keys(int root, std::span<const std::byte> bytes, bool fsync) {
  auto home = std::make_shared<const core::Descriptor>(open_home(root, true));
  core::OutputFile file(std::move(home), kName, 0666);
  core::write_all_at(file.fd(), bytes.data(), bytes.size(), 0, kKeysPath);
  file.commit({.replace = true, .fsync = fsync});
}

}  // namespace tabane::encrypt
