#include "tabane/core/scratch_folder.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "tabane/core/cgroup.h"
#include "tabane/core/error.h"

namespace tabane::core {
namespace {

namespace fs = std::filesystem;

Descriptor open_folder(const fs::path& folder) {
  return Descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

// Whether a folder of that name can only be one of ours: made by mkdtemp for this user, with
// nothing in it but the folder of files.
bool is_scratch(const fs::path& folder, const std::string& prefix) {
  constexpr std::size_t kDrawn = 6;  // characters
  const std::string name = folder.filename().string();
  if (!name.starts_with(prefix) || name.size() != prefix.size() + kDrawn) return false;
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0 || status.st_uid != ::geteuid()) return false;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed))
    if (entry.path().filename() != "files" || !entry.is_directory(failed)) return false;
  return !failed;
}

// A folder whose lock is free belongs to a process that is gone.
void remove_leftovers(const fs::path& parent, const std::string& prefix) {
  std::error_code ended;
  for (fs::directory_iterator it(parent, ended), end; !ended && it != end; it.increment(ended)) {
    if (!is_scratch(it->path(), prefix)) continue;
    const Descriptor folder = open_folder(it->path());
    std::error_code ignored;
    if (folder.valid() && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0)
      fs::remove_all(it->path(), ignored);
  }
}

fs::path or_temporary(const fs::path& parent) {
  std::error_code ignored;
  return parent.empty() ? fs::temp_directory_path(ignored) : parent;
}

}  // namespace

// The files are one folder below the lock, because programs that work there may lock their folder.
ScratchFolder::ScratchFolder(std::string_view name, const fs::path& parent) {
  const fs::path place = or_temporary(parent);
  const std::string prefix = std::string(name) + "-";
  remove_leftovers(place, prefix);
  for (int attempt = 1;; ++attempt) {
    std::string made = (place / (prefix + "XXXXXX")).string();
    if (::mkdtemp(made.data()) == nullptr) throw SystemError("mkdtemp", made, errno);
    outer_ = made;
    path_ = outer_ / "files";
    lock_ = open_folder(outer_);
    // Waits for a process that has just taken it for a leftover.
    if (lock_.valid()) ::flock(lock_.get(), LOCK_EX);
    std::error_code failed;
    fs::create_directory(path_, failed);
    if (!failed) return;
    constexpr int kAttempts = 16;
    if (attempt == kAttempts) throw SystemError("mkdir", path_.string(), failed.value());
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(outer_, ignored);
}

bool is_in_memory(const fs::path& folder) {
  struct statfs system {};
  if (::statfs(folder.c_str(), &system) != 0) return false;
  const auto type = static_cast<unsigned long>(system.f_type);
  return type == TMPFS_MAGIC || type == RAMFS_MAGIC;
}

std::uint64_t writable_bytes(const fs::path& folder) {
  struct statfs system {};
  if (::statfs(folder.c_str(), &system) != 0) throw SystemError("statfs", folder.string(), errno);
  const std::uint64_t room =
      static_cast<std::uint64_t>(system.f_bavail) * static_cast<std::uint64_t>(system.f_bsize);
  const auto memory = is_in_memory(folder) ? usable_memory_bytes() : std::nullopt;
  return memory ? std::min(room, static_cast<std::uint64_t>(*memory)) : room;
}

}  // namespace tabane::core
