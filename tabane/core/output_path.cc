#include "tabane/core/output_path.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <charconv>
#include <string>

#include "tabane/core/error.h"
#include "tabane/core/temporary_file.h"

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
  const std::string name = path.filename();
  int number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc{} && end == name.data() + name.size() ? number : -1;
}

bool is_link(const fs::path& path) {
  struct stat seen {};
  return ::lstat(path.c_str(), &seen) == 0 && S_ISLNK(seen.st_mode);
}

// Whatever the umask. Where a file system keeps no modes, all files have the same one.
void set_mode(int file, mode_t mode, const fs::path& path) {
  struct stat made {};
  if (::fstat(file, &made) != 0) throw SystemError("fstat", path.string(), errno);
  if ((made.st_mode & kNewFile) != mode && ::fchmod(file, mode) != 0) {
    throw SystemError("fchmod", path.string(), errno);
  }
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
  if (stream.descriptor >= 0) {
    opened.reset(::fcntl(stream.descriptor, F_DUPFD_CLOEXEC, 0));
  } else {
    opened.reset(::open(stream.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  }
  if (!opened.valid()) throw SystemError("open", stream.path.string(), errno);
  if ((::fcntl(opened.get(), F_GETFL) & O_ACCMODE) == O_RDONLY) {
    throw SystemError("write", stream.path.string(), EBADF);
  }
  return opened;
}

bool leads_to(const fs::path& path, int descriptor) {
  struct stat there {
  }, open{};
  return ::stat(path.c_str(), &there) == 0 && ::fstat(descriptor, &open) == 0 &&
         same_file(there, open);
}

void write_output(const fs::path& path, std::string_view bytes) {
  const OutputPath place = follow_output_path(path);
  if (place.stream) {
    Descriptor stream = open_stream(place);
    write_all(stream.get(), bytes.data(), bytes.size(), path.string());
    return stream.close(path.string());
  }
  const Descriptor folder = open_parent(place.path, path.string());
  struct stat there {};
  const bool replaces = ::stat(place.path.c_str(), &there) == 0;
  const mode_t mode = replaces ? there.st_mode & kNewFile : 0666;
  TemporaryFile file(folder.get(), place.path.filename(), mode, path.string());
  if (replaces) set_mode(file.fd(), mode, path);
  write_all(file.fd(), bytes.data(), bytes.size(), path.string());
  file.rename(true);
}

}  // namespace tabane::core
