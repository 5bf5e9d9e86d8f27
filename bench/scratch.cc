#include "bench/scratch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>

#include "tabane/core/error.h"

namespace tabane::bench {
namespace {

constexpr const char* kPrefix = "tabane-bench-";
constexpr long kTmpfs = 0x01021994;
constexpr std::size_t kBuffer = std::size_t{1} << 20;

// Locks a file inside: programs under test may lock the folder itself. Returns -1 if that is taken.
int lock(const fs::path& folder) {
  const int fd = open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return -1;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  close(fd);
  return -1;
}

// A folder whose lock is free belongs to a run that is gone.
void remove_leftovers(const fs::path& parent) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    if (entry.path().filename().string().rfind(kPrefix, 0) != 0) continue;
    const int fd = lock(entry.path());
    if (fd < 0) continue;
    fs::remove_all(entry.path(), ignored);
    close(fd);
  }
}

// Bytes of memory that programs and files can still get; the system's answer, "kB" behind it.
std::uint64_t available_memory() {
  std::ifstream in("/proc/meminfo");
  for (std::string name; in >> name;) {
    std::uint64_t kib = 0;
    if (name == "MemAvailable:" && in >> kib) return kib * 1024;
    in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::numeric_limits<std::uint64_t>::max();
}

// What the control group of a container leaves. Unlimited where there is none.
std::uint64_t group_memory() {
  std::uint64_t limit = 0, used = 0;
  if (!(std::ifstream("/sys/fs/cgroup/memory.max") >> limit) ||
      !(std::ifstream("/sys/fs/cgroup/memory.current") >> used)) {
    return std::numeric_limits<std::uint64_t>::max();
  }
  return limit > used ? limit - used : 0;
}

bool same_files(const fs::path& a, const fs::path& b) {
  if (fs::file_size(a) != fs::file_size(b)) return false;
  std::ifstream in_a(a, std::ios::binary), in_b(b, std::ios::binary);
  std::vector<char> buffer_a(kBuffer), buffer_b(kBuffer);
  while (in_a && in_b) {
    in_a.read(buffer_a.data(), kBuffer);
    in_b.read(buffer_b.data(), kBuffer);
    if (in_a.gcount() != in_b.gcount()) return false;
    if (std::memcmp(buffer_a.data(), buffer_b.data(), static_cast<std::size_t>(in_a.gcount())) != 0)
      return false;
  }
  return in_a.eof() && in_b.eof();
}

std::vector<fs::path> entries_below(const fs::path& root) {
  std::vector<fs::path> entries;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    entries.push_back(entry.path().lexically_relative(root));
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace

Scratch::Scratch(const fs::path& parent) {
  remove_leftovers(parent);
  std::string name = (parent / (std::string(kPrefix) + "XXXXXX")).string();
  if (!mkdtemp(name.data())) throw core::SystemError("mkdtemp", name, errno);
  path_ = name;
  lock_ = lock(path_);
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

std::uint64_t Scratch::free_bytes() const {
  struct statfs system {};
  if (statfs(path_.c_str(), &system) != 0) throw core::SystemError("statfs", path_.string(), errno);
  const std::uint64_t room =
      static_cast<std::uint64_t>(system.f_bavail) * static_cast<std::uint64_t>(system.f_bsize);
  if (static_cast<long>(system.f_type) != kTmpfs) return room;
  return std::min({room, available_memory(), group_memory()});
}

void remove_tree(const fs::path& path) { fs::remove_all(path); }

void make_empty(const fs::path& path) {
  fs::remove_all(path);
  fs::create_directories(path);
}

void write_file(const fs::path& path, std::span<const std::byte> bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) throw core::SystemError("write", path.string(), errno);
}

void write_random_file(const fs::path& path, std::uint64_t bytes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> buffer(std::min<std::uint64_t>(bytes, kBuffer) / 8 + 1);
  std::ofstream out(path, std::ios::binary);
  for (std::uint64_t done = 0; done < bytes;) {
    for (std::uint64_t& word : buffer) word = random();
    const std::uint64_t part = std::min<std::uint64_t>(bytes - done, kBuffer);
    out.write(reinterpret_cast<const char*>(buffer.data()), static_cast<std::streamsize>(part));
    done += part;
  }
  out.close();
  if (!out) throw core::SystemError("write", path.string(), errno);
}

std::vector<std::string> write_random_tree(const fs::path& root, std::size_t folders,
                                           std::size_t files, std::uint64_t bytes_each) {
  std::vector<std::string> paths;
  for (std::size_t folder = 0; folder < std::max<std::size_t>(folders, 1); ++folder) {
    const std::string prefix = folders > 0 ? "folder" + std::to_string(folder) + "/" : "";
    fs::create_directories(root / prefix);
    for (std::size_t file = 0; file < files; ++file) {
      paths.push_back(prefix + "file" + std::to_string(file));
      write_random_file(root / paths.back(), bytes_each, paths.size());
    }
  }
  return paths;
}

bool same(const fs::path& a, const fs::path& b) {
  if (!fs::is_directory(a)) return same_files(a, b);
  const std::vector<fs::path> entries = entries_below(a);
  if (entries != entries_below(b)) return false;
  return std::all_of(entries.begin(), entries.end(), [&](const fs::path& entry) {
    return fs::is_directory(a / entry) ? fs::is_directory(b / entry)
                                       : same_files(a / entry, b / entry);
  });
}

}  // namespace tabane::bench
