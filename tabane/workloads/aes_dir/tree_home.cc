#include "tabane/workloads/aes_dir/tree_home.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string_view>

#include "tabane/core/error.h"
#include "tabane/core/temporary_file.h"
#include "tabane/workloads/aes_dir/output_file.h"
#include "tabane/workloads/aes_dir/tree.h"

namespace tabane::workloads::aes_dir {
namespace {

constexpr const char* kName = "keys";

}  // namespace

core::Descriptor open_home(int root, bool make) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  if (make && mkdirat(root, kOwnDirectory, 0777) != 0 && errno != EEXIST) {
    throw core::SystemError("make the directory", kOwnDirectory, errno);
  }
  core::Descriptor home(openat(root, kOwnDirectory, kFlags));
  if (!home.valid() && (make || errno != ENOENT)) {
    throw core::SystemError("open", kOwnDirectory, errno);
  }
  return home;
}

std::vector<std::string> strangers_at_home(int root) {
  constexpr std::array<std::string_view, 4> kNames = {kName, "manifest", "changing",
                                                      "hidden-names"};
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
  const core::Descriptor file(
      openat(home.get(), kName, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid() && errno == ENOENT) return std::nullopt;
  if (!file.valid()) throw core::SystemError("open", kKeysPath, errno);
  std::vector<std::byte> bytes(kMostOfKeysFile + 1);
  bytes.resize(core::read_all_at(file.get(), bytes.data(), bytes.size(), 0, kKeysPath));
  return bytes;
}

void write_keys(int root, std::span<const std::byte> bytes, bool fsync) {
  auto home = std::make_shared<const core::Descriptor>(open_home(root, true));
  OutputFile file(std::move(home), kName, 0666);
  core::write_all_at(file.fd(), bytes.data(), bytes.size(), 0, kKeysPath);
  struct stat made {};
  if (fstat(file.fd(), &made) != 0) throw core::SystemError("stat", kKeysPath, errno);
  file.commit(made, {.replace = true, .fsync = fsync});
}

}  // namespace tabane::workloads::aes_dir
