#include "tabane/workloads/aes_dir/output_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "tabane/core/error.h"

namespace tabane::workloads::aes_dir {
namespace {

constexpr std::string_view kPrefix = ".tabane-", kSuffix = ".part";
constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::size_t kDigits = 16;
constexpr mode_t kPermissions = 0777, kModeBits = 07777;

std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
    throw core::SystemError("getrandom", "", errno);
  }
  return number;
}

// Differs from all others of this process; from those of other processes almost surely.
std::uint64_t next_number() {
  static std::atomic<std::uint64_t> next = random_number();
  return next.fetch_add(1, std::memory_order_relaxed);
}

void put_temporary_name(std::uint64_t number, char* out) {
  out = std::copy(kPrefix.begin(), kPrefix.end(), out);
  for (int shift = 60; shift >= 0; shift -= 4) *out++ = kHexDigits[(number >> shift) & 15];
  *std::copy(kSuffix.begin(), kSuffix.end(), out) = '\0';
}

std::vector<std::string> leftovers(int directory) {
  core::Descriptor own(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(own.valid() ? ::fdopendir(own.get()) : nullptr,
                                                   ::closedir);
  if (!stream) throw core::SystemError("open directory", "", errno);
  own.release();
  std::vector<std::string> found;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    if (is_temporary_name(entry->d_name)) found.emplace_back(entry->d_name);
  }
  if (errno != 0) throw core::SystemError("readdir", "", errno);
  return found;
}

}  // namespace

bool is_temporary_name(std::string_view name) {
  return name.size() == kPrefix.size() + kDigits + kSuffix.size() &&
         name.substr(0, kPrefix.size()) == kPrefix &&
         name.substr(kPrefix.size() + kDigits) == kSuffix &&
         name.substr(kPrefix.size(), kDigits).find_first_not_of(kHexDigits) == name.npos;
}

std::size_t remove_leftovers(int directory) {
  std::size_t removed = 0;
  for (const std::string& name : leftovers(directory)) {
    struct stat status;
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) continue;
      throw core::SystemError("fstatat", name, errno);
    }
    if (!S_ISREG(status.st_mode)) continue;
    const core::Descriptor file(
        ::openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file.valid() && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      continue;  // another job is writing it
    }
    if (::unlinkat(directory, name.c_str(), 0) == 0) {
      ++removed;
    } else if (errno != ENOENT) {
      throw core::SystemError("unlinkat", name, errno);
    }
  }
  return removed;
}

OutputFile::OutputFile(core::SharedDescriptor directory, std::string name, mode_t mode)
    : directory_(std::move(directory)), name_(std::move(name)) {
  create(mode);
}

OutputFile::~OutputFile() {
  if (!committed_) ::unlinkat(directory_->get(), temporary_, 0);
}

void OutputFile::create(mode_t mode) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  constexpr int kAttempts = 16;
  std::uint64_t number = next_number();
  for (int attempt = 1;; ++attempt) {
    put_temporary_name(number, temporary_);
    file_.reset(::openat(directory_->get(), temporary_, kFlags, mode & kPermissions));
    if (file_.valid()) {
      // Tells other jobs that this file is not a leftover.
      ::flock(file_.get(), LOCK_EX | LOCK_NB);
      return;
    }
    if (errno == EINTR) continue;
    if (errno != EEXIST || attempt == kAttempts) throw core::SystemError("openat", name_, errno);
    number = random_number();  // a forked process counts through the same numbers
  }
}

// Asks the file rather than reckoning with the umask: default access lists, mount options and
// remote file systems have a say in the mode, too.
void OutputFile::copy_mode(const struct stat& source) {
  struct stat made;
  if (::fstat(file_.get(), &made) != 0) throw core::SystemError("fstat", name_, errno);
  mode_t wanted = source.st_mode & kModeBits;
  if (source.st_uid != made.st_uid) wanted &= ~static_cast<mode_t>(S_ISUID);
  if (source.st_gid != made.st_gid) wanted &= ~static_cast<mode_t>(S_ISGID);
  if ((made.st_mode & kModeBits) == wanted) return;
  if (::fchmod(file_.get(), wanted) != 0) throw core::SystemError("fchmod", name_, errno);
}

void OutputFile::rename(bool replace) {
  const int at = directory_->get();
  const char* name = name_.c_str();
  const unsigned flags = replace ? 0 : RENAME_NOREPLACE;
  if (::renameat2(at, temporary_, at, name, flags) == 0) {
    committed_ = true;
    return;
  }
  if (replace || (errno != EINVAL && errno != ENOSYS)) {
    throw core::SystemError("renameat2", name_, errno);
  }
  if (::linkat(at, temporary_, at, name, 0) != 0) {
    throw core::SystemError("linkat", name_, errno);
  }
  committed_ = true;
  // The file has its name: a temporary one that stays is removed as a leftover later.
  ::unlinkat(directory_->get(), temporary_, 0);
}

void OutputFile::commit(const struct stat& source, Commit how) {
  TABANE_ASSERT(file_.valid());
  copy_mode(source);
  const timespec times[2] = {source.st_atim, source.st_mtim};
  if (::futimens(file_.get(), times) != 0) throw core::SystemError("futimens", name_, errno);
  if (how.fsync && ::fsync(file_.get()) != 0) throw core::SystemError("fsync", name_, errno);
  // Holds the lock until the file has its name.
  const core::Descriptor locked(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
  file_.close(name_);
  rename(how.replace);
  // EINVAL: a file system that has nothing to do for directories.
  if (how.fsync && ::fsync(directory_->get()) != 0 && errno != EINVAL) {
    throw core::SystemError("fsync of the directory", name_, errno);
  }
}

}  // namespace tabane::workloads::aes_dir
