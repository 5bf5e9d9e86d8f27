#include "tabane/core/temporary_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "tabane/core/cgroup.h"
#include "tabane/core/error.h"

namespace tabane::core {
namespace {

constexpr std::string_view kPrefix = ".tabane-", kSuffix = ".part";
constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::size_t kDigits = 16;
constexpr mode_t kPermissions = 0777, kPermissionsAndIds = 06777;

std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number))
    throw SystemError("getrandom", "", errno);
  return number;
}

// Differs from all others of this process; from those of other processes almost surely.
std::uint64_t next_number() {
  static std::atomic<std::uint64_t> next = random_number();
  return next.fetch_add(1, std::memory_order_relaxed);
}

void put_temporary_name(std::uint64_t number, char* out) {
  out = std::ranges::copy(kPrefix, out).out;
  for (int shift = 60; shift >= 0; shift -= 4) *out++ = kHexDigits[(number >> shift) & 15];
  *std::ranges::copy(kSuffix, out).out = '\0';
}

// Tells others that this file is not a leftover. Returns false if one of them has just taken it for
// one. Where the file system has no locks, it stays without.
bool lock(int file) {
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
  struct stat made {};
  return ::fstat(file, &made) != 0 || made.st_nlink > 0;
}

// Without a capability, Linux before 6.10 names an unnamed file only by way of /proc.
int link_unnamed(int file, int directory, const char* name) {
  static std::atomic<bool> by_descriptor = true;
  if (by_descriptor) {
    if (::linkat(file, "", directory, name, AT_EMPTY_PATH) == 0) return 0;
    if (errno != ENOENT) return -1;
  }
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  const int result = ::linkat(AT_FDCWD, path.c_str(), directory, name, AT_SYMLINK_FOLLOW);
  if (result == 0) by_descriptor = false;
  return result;
}

void require_replaceable(int directory, const std::string& name, const std::string& shown) {
  struct stat there {};
  if (::fstatat(directory, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (S_ISREG(there.st_mode)) return;
  const char* const what = S_ISDIR(there.st_mode)   ? "a directory"
                           : S_ISLNK(there.st_mode) ? "a symbolic link"
                                                    : "not a regular file";
  throw Error(shown + ": is " + what + ", so it is not replaced; move it away");
}

}  // namespace

bool is_temporary_name(std::string_view name) {
  return name.size() == kPrefix.size() + kDigits + kSuffix.size() &&
         name.substr(0, kPrefix.size()) == kPrefix &&
         name.substr(kPrefix.size() + kDigits) == kSuffix &&
         name.substr(kPrefix.size(), kDigits).find_first_not_of(kHexDigits) == name.npos;
}

bool is_leftover(std::string_view name, mode_t mode) {
  return S_ISREG(mode) && (mode & S_ISVTX) != 0 && is_temporary_name(name);
}

bool unnamed_files_get_names(int directory) {
  const Descriptor file(
      ::openat(directory, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, S_IRUSR | S_IWUSR | S_ISVTX));
  char name[32];
  put_temporary_name(next_number(), name);
  return file.valid() && link_unnamed(file.get(), directory, name) == 0 &&
         ::unlinkat(directory, name, 0) == 0;
}

TemporaryFile::TemporaryFile(int directory, std::string final_name, mode_t mode, std::string shown,
                             Until until)
    : directory_(directory),
      final_name_(std::move(final_name)),
      shown_(shown.empty() ? final_name_ : std::move(shown)),
      until_(until) {
  if (until_ == Until::in_place) {
    create_in_place(mode);
  } else if (until_ == Until::named || !create_unnamed(mode)) {
    until_ = Until::named;
    create(mode);
  }
}

TemporaryFile::~TemporaryFile() {
  if (renamed_ || until_ == Until::unnamed) return;
  ::unlinkat(directory_, until_ == Until::named ? name_ : final_name_.c_str(), 0);
}

void TemporaryFile::create_in_place(mode_t mode) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  do {
    file_.reset(::openat(directory_, final_name_.c_str(), kFlags, mode & kPermissions));
  } while (!file_.valid() && errno == EINTR);
  if (!file_.valid()) throw SystemError("openat", shown_, errno);
}

bool TemporaryFile::create_unnamed(mode_t mode) {
  file_.reset(::openat(directory_, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, mode & kPermissions));
  return file_.valid();
}

void TemporaryFile::create(mode_t mode) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  constexpr int kAttempts = 1000;  // a busy remover has been seen to win 16 times in a row
  std::uint64_t number = next_number();
  for (int attempt = 1;; ++attempt) {
    put_temporary_name(number, name_);
    file_.reset(::openat(directory_, name_, kFlags, (mode & kPermissions) | S_ISVTX));
    if (file_.valid()) {
      if (attempt == kAttempts || lock(file_.get())) return;
      ::unlinkat(directory_, name_, 0);
    } else if (errno == EINTR) {
      continue;
    } else if (errno != EEXIST || attempt == kAttempts) {
      throw SystemError("openat", shown_, errno);
    }
    number = random_number();  // a forked process counts through the same numbers
  }
}

// The mark goes when the file has its name: a run that is killed in between leaves a whole file
// with a bit that means nothing.
void TemporaryFile::rename(bool replace, bool sticky) {
  if (until_ == Until::unnamed && replace) {  // only a name can be put in the place of another one
    put_temporary_name(random_number(), name_);
    if (link_unnamed(file_.get(), directory_, name_) != 0)
      throw SystemError("linkat", shown_, errno);
    until_ = Until::named;
  }
  if (until_ != Until::named) return name_and_close();
  // Holds the lock until the file has its name.
  const Descriptor locked(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
  if (!locked.valid()) throw SystemError("fcntl", shown_, errno);
  file_.close(shown_);
  take_name(replace);
  struct stat named {};
  if (sticky || ::fstat(locked.get(), &named) != 0 || (named.st_mode & S_ISVTX) == 0) return;
  if (::fchmod(locked.get(), named.st_mode & kPermissionsAndIds) != 0)
    throw SystemError("fchmod", shown_, errno);
}

void TemporaryFile::name_and_close() {
  if (until_ == Until::unnamed && link_unnamed(file_.get(), directory_, final_name_.c_str()) != 0)
    throw SystemError("linkat", shown_, errno);
  renamed_ = true;
  try {
    file_.close(shown_);
  } catch (const SystemError&) {
    ::unlinkat(directory_, final_name_.c_str(), 0);
    throw;
  }
}

void TemporaryFile::take_name(bool replace) {
  if (replace) require_replaceable(directory_, final_name_, shown_);
  const char* final_name = final_name_.c_str();
  const unsigned flags = replace ? 0 : RENAME_NOREPLACE;
  if (::renameat2(directory_, name_, directory_, final_name, flags) == 0) {
    renamed_ = true;
    return;
  }
  if (replace || (errno != EINVAL && errno != ENOSYS))
    throw SystemError("renameat2", shown_, errno);
  if (::linkat(directory_, name_, directory_, final_name, 0) == 0) {
    renamed_ = true;
    // The file has its name: a temporary one that stays is removed as a leftover later.
    ::unlinkat(directory_, name_, 0);
  } else if (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS) {
    rename_after_looking();
  } else {
    throw SystemError("linkat", shown_, errno);
  }
}

// On file systems without hard links, too, such as exFAT. What appears under the name between the
// look and the renaming is replaced; a placeholder would remain after a crash.
void TemporaryFile::rename_after_looking() {
  struct stat there {};
  if (::fstatat(directory_, final_name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0)
    throw SystemError("renameat", shown_, EEXIST);
  if (::renameat(directory_, name_, directory_, final_name_.c_str()) != 0)
    throw SystemError("renameat", shown_, errno);
  renamed_ = true;
}

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
