#include "tabane/core/output_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <memory>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/core/units.h"

namespace tabane::core {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as the kernel's
constexpr mode_t kNewFile = 0777;

fs::path parent_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Links there lead to what a process has open, not to what the text of the link says.
bool is_on_proc(const fs::path& directory) {
  struct statfs system {};
  return ::statfs(directory.c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

// The number of an own descriptor, if the path is /proc/self/fd/N by any name; otherwise -1.
int own_descriptor(const fs::path& path) {
  // Both held open, or their numbers might be given away between two looks.
  const Descriptor there(::open(parent_of(path).c_str(), O_PATH | O_CLOEXEC));
  const Descriptor own(::open("/proc/self/fd", O_PATH | O_CLOEXEC));
  struct stat a {
  }, b{};
  if (::fstat(there.get(), &a) != 0 || ::fstat(own.get(), &b) != 0 || !same_file(a, b)) return -1;
  return number_in<int>(path.filename().string()).value_or(-1);
}

bool is_link(const fs::path& path) {
  struct stat seen {};
  return ::lstat(path.c_str(), &seen) == 0 && S_ISLNK(seen.st_mode);
}

}  // namespace

OutputPath standard_output() {
  return {.path = "standard output", .exists = true, .stream = true, .descriptor = 1};
}

OutputPath follow_output_path(const fs::path& path) {
  OutputPath found{.path = path};
  struct stat seen {};
  // Asked first: the system may refuse to follow a link that somebody else has planted.
  found.exists = ::stat(path.c_str(), &seen) == 0;
  if (!found.exists && errno != ENOENT) throw SystemError("stat", path.string(), errno);
  found.stream = found.exists && !S_ISREG(seen.st_mode) && !S_ISDIR(seen.st_mode);
  for (int links = 0; is_link(found.path); ++links) {
    const fs::path folder = parent_of(found.path);
    if (is_on_proc(folder)) {
      found.stream = true;
      found.descriptor = own_descriptor(found.path);
      break;
    }
    if (links == kMostLinks) throw SystemError("stat", path.string(), ELOOP);
    found.path = folder / fs::read_symlink(found.path);
  }
  return found;
}

Descriptor open_parent(const fs::path& path, std::string_view shown) {
  Descriptor folder(::open(parent_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) throw SystemError("open", std::string(shown), errno);
  return folder;
}

Descriptor open_stream(const OutputPath& stream) {
  Descriptor opened;
  if (stream.descriptor >= 0)
    opened.reset(::fcntl(stream.descriptor, F_DUPFD_CLOEXEC, 0));
  else
    opened.reset(::open(stream.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!opened.valid()) throw SystemError("open", stream.path.string(), errno);
  if ((::fcntl(opened.get(), F_GETFL) & O_ACCMODE) == O_RDONLY)
    throw SystemError("write", stream.path.string(), EBADF);
  return opened;
}

bool leads_to(const fs::path& path, int descriptor) {
  struct stat there {
  }, open{};
  return ::stat(path.c_str(), &there) == 0 && ::fstat(descriptor, &open) == 0 &&
         same_file(there, open);
}

void write_output(const fs::path& path, std::string_view bytes) {
  write_output(path, [bytes](const auto& put) { put(bytes); });
}

void write_output(const fs::path& path, const Produce& produce) {
  const OutputPath place = follow_output_path(path);
  const auto write_to = [&](int fd) {
    produce(
        [&](std::string_view piece) { write_all(fd, piece.data(), piece.size(), path.string()); });
  };
  if (place.stream) {
    Descriptor stream = open_stream(place);
    write_to(stream.get());
    return stream.close(path.string());
  }
  const Descriptor folder = open_parent(place.path, path.string());
  struct stat there {};
  const bool replaces = ::stat(place.path.c_str(), &there) == 0;
  there.st_mode &= kNewFile;
  const Until until = unnamed_files_get_names(folder.get()) ? Until::unnamed : Until::named;
  TemporaryFile file(folder.get(), place.path.filename(), replaces ? there.st_mode : 0666,
                     path.string(), until);
  if (replaces) set_mode(file.fd(), there, path.string(), S_ISVTX);
  write_to(file.fd());
  file.rename(true);
}

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
                             std::vector<std::string>* doubtful) {
  std::size_t removed = 0;
  for (const std::string& name : temporary_names(directory)) {
    if (keep(name)) continue;
    struct stat status;
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) continue;
      throw SystemError("fstatat", name, errno);
    }
    const bool marked = is_leftover(name, status.st_mode);
    if (!marked && (doubtful == nullptr || !S_ISREG(status.st_mode))) continue;
    const Descriptor file = open_leftover(directory, name);
    if (!file.valid() && errno == ENOENT) continue;
    // Nobody can tell whether another job is writing it.
    const bool unknown = !file.valid();
    if (unknown && doubtful == nullptr) throw SystemError("open", name, errno);
    if (!unknown && !lock(file) && errno == EWOULDBLOCK) continue;
    if (unknown || !marked) {
      doubtful->push_back(name);
      continue;
    }
    int result = ::unlinkat(directory, name.c_str(), 0);
    if (result != 0 && errno == EACCES) {
      let_owner_work(directory);
      result = ::unlinkat(directory, name.c_str(), 0);
    }
    if (result == 0)
      ++removed;
    else if (errno != ENOENT)
      throw SystemError("unlinkat", name, errno);
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

OutputFile::OutputFile(SharedDescriptor directory, std::string name, mode_t mode, Until until)
    : directory_(std::move(directory)),
      name_(std::move(name)),
      file_(directory_->get(), name_, mode, {}, until) {}

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
  if (how.fsync && ::fsync(directory_->get()) != 0 && errno != EINVAL)
    throw SystemError("fsync of the directory", name_, errno);
}

void OutputFile::commit(Commit how) {
  struct stat as_made {};
  if (::fstat(file_.fd(), &as_made) != 0) throw SystemError("fstat", name_, errno);
  as_made.st_mode &= ~static_cast<mode_t>(S_ISVTX);
  commit(as_made, how);
}

}  // namespace tabane::core
