#include "bench/scratch.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>

#include "tabane/core/error.h"

namespace tabane::bench {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 20;

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
  std::ranges::sort(entries);
  return entries;
}

}  // namespace

void remove_tree(const fs::path& path) { fs::remove_all(path); }

void make_empty(const fs::path& path) {
  fs::remove_all(path);
  fs::create_directories(path);
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
  return std::ranges::all_of(entries, [&](const fs::path& entry) {
    return fs::is_directory(a / entry) ? fs::is_directory(b / entry)
                                       : same_files(a / entry, b / entry);
  });
}

}  // namespace tabane::bench
