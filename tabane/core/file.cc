#include "tabane/core/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tabane/core/error.h"

namespace tabane::core {
namespace {

// Calls step(bytes done) until `size` bytes are done.
void write_pieces(std::size_t size, const char* call, std::string_view what, const auto& step) {
  for (std::size_t total = 0; total < size;) {
    const ssize_t done = step(total);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) throw SystemError(call, what, done < 0 ? errno : EIO);
    total += static_cast<std::size_t>(done);
  }
}

// Calls step(bytes done) until `size` bytes are done or there are no more.
std::size_t read_pieces(std::size_t size, const char* call, std::string_view what,
                        const auto& step) {
  std::size_t total = 0;
  while (total < size) {
    const ssize_t done = step(total);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw SystemError(call, what, errno);
    if (done == 0) break;
    total += static_cast<std::size_t>(done);
  }
  return total;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) reset(other.release());
  return *this;
}

int Descriptor::release() { return std::exchange(fd_, -1); }

void Descriptor::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

void Descriptor::close(std::string_view what) {
  // The descriptor is gone even if close was interrupted.
  if (::close(release()) != 0 && errno != EINTR) throw SystemError("close", what, errno);
}

void write_all(int fd, const void* bytes, std::size_t size, std::string_view what) {
  write_pieces(size, "write", what, [&](std::size_t done) {
    return ::write(fd, static_cast<const char*>(bytes) + done, size - done);
  });
}

void write_all_at(int fd, const void* bytes, std::size_t size, std::uint64_t offset,
                  std::string_view what) {
  write_pieces(size, "pwrite", what, [&](std::size_t done) {
    return ::pwrite(fd, static_cast<const char*>(bytes) + done, size - done,
                    static_cast<off_t>(offset + done));
  });
}

std::size_t read_all(int fd, void* bytes, std::size_t size, std::string_view what) {
  return read_pieces(size, "read", what, [&](std::size_t done) {
    return ::read(fd, static_cast<char*>(bytes) + done, size - done);
  });
}

std::size_t read_all_at(int fd, void* bytes, std::size_t size, std::uint64_t offset,
                        std::string_view what) {
  return read_pieces(size, "pread", what, [&](std::size_t done) {
    return ::pread(fd, static_cast<char*>(bytes) + done, size - done,
                   static_cast<off_t>(offset + done));
  });
}

std::string read_to_end(int fd, std::string_view what) {
  struct stat status {};
  const bool sized = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
  std::string bytes;
  // One byte more than the file has, so that the end shows in the first reading. What the kernel
  // writes as it is read comes in fewer calls, each of which looks up its place, with a large step.
  constexpr std::size_t kLargeStep = std::size_t{64} << 10;
  for (std::size_t step = sized ? static_cast<std::size_t>(status.st_size) + 1 : kLargeStep;;) {
    const std::size_t before = bytes.size();
    bytes.resize(before + step);
    const std::size_t got = read_all(fd, bytes.data() + before, step, what);
    bytes.resize(before + got);
    if (got < step) return bytes;
    step = std::max(bytes.size(), kLargeStep);
  }
}

std::string read_file(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) throw SystemError("open", path.string(), errno);
  return read_to_end(file.get(), path.string());
}

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file.valid()) throw SystemError("open", path.string(), errno);
  write_all(file.get(), bytes.data(), bytes.size(), path.string());
  file.close(path.string());
}

FileId identity_of(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw SystemError("fstat", "", errno);
  return {status.st_dev, status.st_ino};
}

std::vector<FileId> with_parents(int directory) {
  constexpr int kPath = O_PATH | O_DIRECTORY | O_CLOEXEC;
  std::vector<FileId> found = {identity_of(directory)};
  for (Descriptor at(::openat(directory, "..", kPath)); at.valid();
       at.reset(::openat(at.get(), "..", kPath))) {
    const FileId parent = identity_of(at.get());
    if (parent == found.back()) break;  // the root is its own parent
    found.push_back(parent);
  }
  return found;
}

}  // namespace tabane::core
