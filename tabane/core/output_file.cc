#include "tabane/core/output_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <memory>
#include <utility>

#include "tabane/core/error.h"

namespace tabane::core {
namespace {

constexpr mode_t kModeBits = 07777;
constexpr std::time_t kHour = 3600;

// Invalid, for example, where this user may not read it.
Descriptor open_leftover(int directory, const std::string& name) {
  return Descriptor(
      ::openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
}

// A lock that others can share is enough, and all that a file which is open for reading gets from
// NFS.
bool lock(const Descriptor& file) { return ::flock(file.get(), LOCK_SH | LOCK_NB) == 0; }

// Another host may be writing it, whose locks nobody sees here.
bool is_old(const struct stat& status) { return status.st_mtime < std::time(nullptr) - kHour; }

}  // namespace

void let_owner_work(int directory) {
  constexpr mode_t kOwner = 0700;
  struct stat there {};
  if (::fstat(directory, &there) != 0 || there.st_uid != ::geteuid()) return;
  if ((there.st_mode & kOwner) == kOwner) return;
  // fchmod takes no descriptor that is only a path.
  const std::string name = "/proc/self/fd/" + std::to_string(directory);
  static_cast<void>(::chmod(name.c_str(), (there.st_mode & kModeBits) | kOwner));
}

std::vector<std::string> temporary_names(int directory) {
  Descriptor own(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(own.valid() ? ::fdopendir(own.get()) : nullptr,
                                                   ::closedir);
  if (!stream) throw SystemError("open directory", "", errno);
  own.release();
  std::vector<std::string> found;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    if (is_temporary_name(entry->d_name)) found.emplace_back(entry->d_name);
  }
  if (errno != 0) throw SystemError("readdir", "", errno);
  return found;
}

std::size_t remove_leftovers(int directory,
                             const std::function<bool(const std::string& name)>& keep,
                             std::vector<std::string>* unmarked) {
  std::size_t removed = 0;
  for (const std::string& name : temporary_names(directory)) {
    if (keep(name)) continue;
    struct stat status;
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) continue;
      throw SystemError("fstatat", name, errno);
    }
    const bool marked = is_leftover(name, status.st_mode);
    if (!marked && (unmarked == nullptr || !S_ISREG(status.st_mode))) continue;
    const Descriptor file = open_leftover(directory, name);
    // Another job is writing it.
    if (file.valid() && !lock(file) && errno == EWOULDBLOCK) continue;
    if (!marked) {
      unmarked->push_back(name);
      continue;
    }
    int result = ::unlinkat(directory, name.c_str(), 0);
    if (result != 0 && errno == EACCES) {
      let_owner_work(directory);
      result = ::unlinkat(directory, name.c_str(), 0);
    }
    if (result == 0) {
      ++removed;
    } else if (errno != ENOENT) {
      throw SystemError("unlinkat", name, errno);
    }
  }
  return removed;
}

std::size_t remove_own_leftovers(int directory, const std::set<FileId>& keep) {
  std::vector<std::string> names;
  try {
    names = temporary_names(directory);
  } catch (const SystemError&) {
    return 0;  // no output waits for tidying
  }
  std::size_t removed = 0;
  for (const std::string& name : names) {
    const Descriptor file = open_leftover(directory, name);
    struct stat status {};
    if (!file.valid() || ::fstat(file.get(), &status) != 0) continue;
    if (!is_leftover(name, status.st_mode)) continue;
    if (keep.contains({status.st_dev, status.st_ino}) || !is_old(status)) continue;
    if (status.st_uid != ::geteuid() || !lock(file)) continue;
    if (::unlinkat(directory, name.c_str(), 0) == 0) ++removed;
  }
  return removed;
}

OutputFile::OutputFile(SharedDescriptor directory, std::string name, mode_t mode)
    : directory_(std::move(directory)),
      name_(std::move(name)),
      file_(directory_->get(), name_, mode) {}

// Asks the file rather than reckoning with the umask: default access lists, mount options and
// remote file systems have a say in the mode, too.
void set_mode(int file, const struct stat& wanted, const std::string& name, mode_t stay) {
  struct stat made;
  if (::fstat(file, &made) != 0) throw SystemError("fstat", name, errno);
  mode_t mode = (wanted.st_mode & kModeBits) | (made.st_mode & stay);
  if (wanted.st_uid != made.st_uid) mode &= ~static_cast<mode_t>(S_ISUID);
  if (wanted.st_gid != made.st_gid) mode &= ~static_cast<mode_t>(S_ISGID);
  if ((made.st_mode & kModeBits) == mode) return;
  if (::fchmod(file, mode) != 0) throw SystemError("fchmod", name, errno);
}

void OutputFile::commit(const struct stat& wanted, Commit how) {
  TABANE_ASSERT(file_.fd() >= 0);
  set_mode(file_.fd(), wanted, name_, S_ISVTX);
  const timespec times[2] = {wanted.st_atim, wanted.st_mtim};
  if (::futimens(file_.fd(), times) != 0) throw SystemError("futimens", name_, errno);
  if (how.fsync && ::fsync(file_.fd()) != 0) throw SystemError("fsync", name_, errno);
  file_.rename(how.replace, (wanted.st_mode & S_ISVTX) != 0);
  // EINVAL: a file system that has nothing to do for directories.
  if (how.fsync && ::fsync(directory_->get()) != 0 && errno != EINVAL) {
    throw SystemError("fsync of the directory", name_, errno);
  }
}

void OutputFile::commit(Commit how) {
  struct stat as_made {};
  if (::fstat(file_.fd(), &as_made) != 0) throw SystemError("fstat", name_, errno);
  as_made.st_mode &= ~static_cast<mode_t>(S_ISVTX);
  commit(as_made, how);
}

}  // namespace tabane::core
