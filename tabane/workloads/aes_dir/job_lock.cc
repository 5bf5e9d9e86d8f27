#include "tabane/workloads/aes_dir/job_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "tabane/core/error.h"

namespace tabane::workloads::aes_dir {
namespace {

constexpr const char* kName = ".tabane-0000000000000000.part";
constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

[[noreturn]] void throw_held(const std::string& path) {
  throw core::UsageError(fmt::format("another job is writing into OUT ({}); wait for it", path));
}

// Nobody else can open it, and so lock it.
bool is_private(int file) {
  struct stat status {};
  return fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & 077) == 0;
}

core::Descriptor open_there(int directory) {
  core::Descriptor file(openat(directory, kName, kFlags));
  if (file.valid() && !is_private(file.get())) file.reset();
  return file;
}

core::Descriptor make(int directory) {
  return core::Descriptor(openat(directory, kName, kFlags | O_CREAT | O_EXCL, 0600));
}

// False: whoever had it has removed it meanwhile.
bool has_its_name(int directory, int file) {
  struct stat mine {
  }, named{};
  return fstat(file, &mine) == 0 && fstatat(directory, kName, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         mine.st_ino == named.st_ino && mine.st_dev == named.st_dev;
}

}  // namespace

JobLock::JobLock(int directory, const std::string& path) : directory_(directory) {
  constexpr int kAttempts = 100;  // each against a job that has just ended
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    core::Descriptor file = make(directory);
    if (!file.valid()) {
      if (errno != EEXIST) return;
      file = open_there(directory);
      if (!file.valid()) {
        if (errno == ENOENT) continue;
        return;
      }
    }
    if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) throw_held(path);
      unlinkat(directory, kName, 0);
      return;
    }
    if (!has_its_name(directory, file.get())) continue;
    file_ = std::move(file);
    return;
  }
}

// It has its name as long as it is locked: nobody removes another's.
JobLock::~JobLock() {
  if (file_.valid()) unlinkat(directory_, kName, 0);
}

bool JobLock::is_held(int directory) {
  const core::Descriptor file = open_there(directory);
  return file.valid() && flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

void JobLock::require_free(int directory, const std::string& path) {
  if (is_held(directory)) throw_held(path);
}

}  // namespace tabane::workloads::aes_dir
