#include "tabane/tools/encrypt/tree_home.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/core/output_file.h"
#include "tabane/tools/encrypt/sealed_format.h"
#include "tabane/tools/encrypt/tree.h"

namespace tabane::encrypt {
namespace {

constexpr const char* kLockName = "lock";

namespace fs = std::filesystem;

constexpr int kOpenToLock = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
constexpr int kOpenFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// Tells the lock of a plain tree from other temporary files, to those who meet a leftover, too.
constexpr std::string_view kTextOfLock = "A job of tabane writes into this directory.\n";

[[noreturn]] void throw_held(const std::string& path) {
  throw core::UsageError("another job is writing into OUT ({}); wait for it", path);
}

// Nobody else can open it, and so lock it.
bool is_private(int file) {
  struct stat status {};
  return fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & 077) == 0;
}

core::Descriptor open_there(int home) {
  core::Descriptor file(openat(home, kLockName, kOpenToLock));
  if (file.valid() && !is_private(file.get())) file.reset();
  return file;
}

core::Descriptor make(int home) {
  return core::Descriptor(openat(home, kLockName, kOpenToLock | O_CREAT | O_EXCL, 0600));
}

// Who only looks whether it is held has it for a moment, too.
bool lock(int file) {
  constexpr int kAttempts = 5;
  for (int attempt = 1; flock(file, LOCK_EX | LOCK_NB) != 0; ++attempt) {
    if (errno != EWOULDBLOCK || attempt == kAttempts) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// False: whoever had it has removed it meanwhile.
bool has_its_name(int home, int file) {
  struct stat mine {
  }, named{};
  return fstat(file, &mine) == 0 && fstatat(home, kLockName, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         mine.st_ino == named.st_ino && mine.st_dev == named.st_dev;
}

// Whether a temporary file is the lock of a job that is at work. Its mode does not count: some file
// systems keep none.
bool is_announcement(int root, const char* name) {
  const core::Descriptor file = open_entry(root, name);
  struct stat status {};
  char text[kTextOfLock.size()];
  return file.valid() && fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_uid == geteuid() &&
         pread(file.get(), text, sizeof text, 0) == static_cast<ssize_t>(sizeof text) &&
         std::string_view(text, sizeof text) == kTextOfLock &&
         flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace

core::Descriptor open_home(int root, bool make) {
  if (make && mkdirat(root, kOwnDirectory, 0777) != 0 && errno != EEXIST) {
    throw core::SystemError("make the directory", kOwnDirectory, errno);
  }
  core::Descriptor home(openat(root, kOwnDirectory, kOpenFolder));
  if (!home.valid() && errno == ENOTDIR) {
    throw core::Error(
        "{}: is not a directory, as tabane makes it for the keys and the manifest of a "
        "sealed tree; somebody has put it there: move it away",
        kOwnDirectory);
  }
  if (!home.valid() && (make || errno != ENOENT)) {
    throw core::SystemError("open", kOwnDirectory, errno);
  }
  return home;
}

core::Descriptor open_own_file(int root, const char* path) {
  const core::Descriptor home = open_home(root, false);
  if (!home.valid()) return {};
  core::Descriptor file = open_entry(home.get(), name_at_home(path));
  if (!file.valid() && errno == ENOENT) return file;
  struct stat there {};
  if (!file.valid() && errno != ELOOP) throw core::SystemError("open", path, errno);
  if (file.valid() && fstat(file.get(), &there) != 0) throw core::SystemError("stat", path, errno);
  if (S_ISREG(there.st_mode)) return file;
  throw core::Error("{}: is {}, where tabane keeps a file; somebody has put it there: move it away",
                    path,
                    !file.valid()            ? "a symbolic link"
                    : S_ISDIR(there.st_mode) ? "a directory"
                                             : "not a regular file");
}

bool has_own_file(int root, const char* path) {
  return faccessat(root, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void make_mark(int home, const char* path) {
  const core::Descriptor mark(openat(
      home, name_at_home(path), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
  if (!mark.valid()) throw core::SystemError("make", path, errno);
}

void remove_own_file(int home, const char* path) {
  if (unlinkat(home, name_at_home(path), 0) != 0 && errno != ENOENT) {
    throw core::SystemError("remove", path, errno);
  }
}

std::vector<std::string> strangers_at_home(int root) {
  constexpr std::array<std::string_view, 4> kNames = {name_at_home(kKeysPath), kManifestName,
                                                      kLockName, name_at_home(kIsChanging)};
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
  const core::Descriptor file = open_own_file(root, kKeysPath);
  if (!file.valid()) return std::nullopt;
  std::vector<std::byte> bytes(kMostOfKeysFile + 1);
  bytes.resize(core::read_all_at(file.get(), bytes.data(), bytes.size(), 0, kKeysPath));
  return bytes;
}

void write_keys(int root, std::span<const std::byte> bytes, bool fsync) {
  auto home = std::make_shared<const core::Descriptor>(open_home(root, true));
  core::OutputFile file(std::move(home), name_at_home(kKeysPath), 0666);
  core::write_all_at(file.fd(), bytes.data(), bytes.size(), 0, kKeysPath);
  file.commit({.replace = true, .fsync = fsync});
}

// The other constructor has ended: what throws here leaves nothing behind.
JobLock::JobLock(int root, LockedTree tree, const std::string& path) : JobLock(root) {
  if (tree == LockedTree::sealed) {
    lock_home(path);
  } else {
    announce();
    require_free(root, path);
  }
  require_unannounced(path);
}

// Where the file system has no locks, the file would be taken for a leftover.
void JobLock::announce() {
  try {
    announced_.emplace(root_, "lock", 0600);
  } catch (const core::SystemError&) {
    return;
  }
  const bool written = write(announced_->fd(), kTextOfLock.data(), kTextOfLock.size()) ==
                       static_cast<ssize_t>(kTextOfLock.size());
  if (!written || !is_announcement(root_, announced_->name())) announced_.reset();
}

// Each job makes its own file before it looks for others'.
void JobLock::require_unannounced(const std::string& path) const {
  for (const std::string& name : core::temporary_names(root_)) {
    const bool own = announced_ && name == announced_->name();
    if (!own && is_announcement(root_, name.c_str())) throw_held(path);
  }
}

// Whatever else is wrong with .tabane is told by those who need it. A job that ends removes the
// file, and perhaps the directory, at any moment. While it does, Linux 6.18 lets others open a
// directory in which nothing can be made, until that job's thread gets its next turn.
void JobLock::lock_home(const std::string& path) {
  constexpr int kAttempts = 200;  // each against a job that has just ended
  constexpr int kAtOnce = 10;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (attempt >= kAtOnce) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    mkdirat(root_, kOwnDirectory, 0777);
    home_.reset(openat(root_, kOwnDirectory, kOpenFolder));
    core::Descriptor file = home_.valid() ? make(home_.get()) : core::Descriptor();
    if (!file.valid() && errno == EEXIST) file = open_there(home_.get());
    if (!file.valid()) {
      if (errno == ENOENT) continue;
      return;
    }
    const bool locked = lock(file.get());
    if (!locked && errno == EWOULDBLOCK) throw_held(path);
    if (!has_its_name(home_.get(), file.get())) continue;
    if (!locked) {
      unlinkat(home_.get(), kLockName, 0);
      return;
    }
    lock_ = std::move(file);
    return;
  }
}

JobLock::~JobLock() {
  if (!home_.valid()) return;
  if (lock_.valid() && has_its_name(home_.get(), lock_.get())) unlinkat(home_.get(), kLockName, 0);
  unlinkat(root_, kOwnDirectory, AT_REMOVEDIR);
}

bool JobLock::is_alone_in(const fs::path& root) const {
  std::error_code error;
  const fs::directory_iterator entries(root, error);
  if (error) throw core::SystemError("open", root.string(), error.value());
  const auto is_lock = [&](const fs::path& entry) {
    const std::string name = entry.filename();
    if (name != kOwnDirectory) {
      return core::is_temporary_name(name) && is_announcement(root_, name.c_str());
    }
    const fs::directory_iterator at_home(entry, error);  // of another job, perhaps gone by now
    if (error) return error == std::errc::no_such_file_or_directory;
    return std::ranges::all_of(at_home,
                               [](const auto& own) { return own.path().filename() == kLockName; });
  };
  return std::ranges::all_of(entries, is_lock);
}

bool JobLock::is_held(int root) {
  const core::Descriptor home(openat(root, kOwnDirectory, kOpenFolder));
  const core::Descriptor file = home.valid() ? open_there(home.get()) : core::Descriptor();
  return file.valid() && flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

void JobLock::require_free(int root, const std::string& path) {
  if (is_held(root)) throw_held(path);
}

}  // namespace tabane::encrypt
