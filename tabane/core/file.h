// Files: descriptors that close themselves, and bytes that are read and written to the last one.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tabane::core {

// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release();
  void reset(int fd = -1);
  // Closes it; a remote file system may report an error only then. throws: SystemError naming
  // `what`.
  void close(std::string_view what);

 private:
  int fd_ = -1;
};

// Stays open as long as someone holds it, in whatever thread.
using SharedDescriptor = std::shared_ptr<const Descriptor>;

// Write all bytes: at the descriptor's position, or to a pipe; at an offset.
// throw: SystemError naming `what`.
void write_all(int fd, const void* bytes, std::size_t size, std::string_view what);
void write_all_at(int fd, const void* bytes, std::size_t size, std::uint64_t offset,
                  std::string_view what);

// Read until size or the end of the file; return what was read. throw: SystemError naming `what`.
std::size_t read_all(int fd, void* bytes, std::size_t size, std::string_view what);
std::size_t read_all_at(int fd, void* bytes, std::size_t size, std::uint64_t offset,
                        std::string_view what);

// Reads from the descriptor's position to the end. throws: SystemError naming `what`.
std::string read_to_end(int fd, std::string_view what);

// Reads a whole file. throws: SystemError naming it.
std::string read_file(const std::filesystem::path& path);

// Makes a file, or replaces what is in it. throws: SystemError naming it.
void write_file(const std::filesystem::path& path, std::string_view bytes);

// Whether two directories are one, by whatever names or mounts they are reached.
struct FileId {
  dev_t device;
  ino_t inode;

  auto operator<=>(const FileId&) const = default;
};

// throws: core::SystemError.
FileId identity_of(int fd);

// The open directory itself, then its parents up to the root, or to the last that can be reached.
// throws: core::SystemError.
std::vector<FileId> with_parents(int directory);

}  // namespace tabane::core
