#include "tabane/studies/aes_folder/aes_folder_directory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/crypto/sha256.h"

namespace tabane::lab::aes_folder {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMemoryDirectory = "/dev/shm";

bool writable(const std::string& directory) {
  std::error_code ignored;
  return fs::is_directory(directory, ignored) && access(directory.c_str(), W_OK | X_OK) == 0;
}

Place describe(const std::string& directory) {
  return {.directory = directory,
          .in_memory = core::is_in_memory(directory),
          .free_bytes = core::writable_bytes(directory)};
}

void make_directory(const std::string& path) {
  std::error_code failed;
  fs::create_directory(path, failed);
  if (failed) throw core::SystemError("mkdir", path, failed.value());
}

void empty(const std::string& directory) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(directory, failed)) {
    std::error_code ignored;
    fs::remove_all(entry.path(), ignored);
  }
  if (failed) throw core::SystemError("opendir", directory, failed.value());
}

}  // namespace

Place find_place(const std::string& wanted) {
  if (!wanted.empty()) {
    if (!writable(wanted))
      throw core::UsageError(
          fmt::format("--dir {}: not a directory in which files can be made", wanted));
    return describe(wanted);
  }
  if (writable(kMemoryDirectory)) {
    Place place = describe(kMemoryDirectory);
    if (place.in_memory) return place;
  }
  std::error_code ignored;
  Place place = describe(fs::temp_directory_path(ignored).string());
  if (!place.in_memory)
    place.remark = fmt::format(
        "{} is not a memory file system that can be written to, so the files are in {}: the times "
        "contain that file system and its device.",
        kMemoryDirectory, place.directory);
  return place;
}

Scratch::Scratch(const std::string& place) : folder_("tabane-aes-folder", place) {
  make_directory(in());
  make_directory(out());
}

void Scratch::fill_input(std::uint64_t files, std::uint64_t bytes) {
  empty(in());
  empty_output();
  std::mt19937_64 random(files * 31 + bytes);
  std::vector<std::uint64_t> words((bytes + 7) / 8);
  std::generate(words.begin(), words.end(), std::ref(random));
  for (std::uint64_t i = 0; i < files; ++i) {
    if (!words.empty()) words[0] = random();  // no two files are the same
    const std::string path = fmt::format("{}/{:06}", in(), i);
    errno = 0;
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(bytes));
    file.close();
    if (!file) throw core::SystemError("write", path, errno != 0 ? errno : EIO);
  }
}

void Scratch::empty_output() { empty(out()); }

std::string digest_of_directory(const std::string& directory) {
  std::error_code failed;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(directory, failed)) paths.push_back(entry.path());
  if (failed) throw core::SystemError("opendir", directory, failed.value());
  std::sort(paths.begin(), paths.end());

  crypto::Sha256Stream digest;
  std::vector<char> piece(std::size_t{1} << 20);
  for (const fs::path& path : paths) {
    const std::string name = path.filename().string();
    digest.put(std::as_bytes(std::span(name.c_str(), name.size() + 1)));
    std::ifstream file(path, std::ios::binary);
    if (!file) throw core::SystemError("open", path.string(), errno);
    while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())), file.gcount() > 0)
      digest.put(std::as_bytes(std::span(piece.data(), static_cast<std::size_t>(file.gcount()))));
  }
  return crypto::hexadecimal(digest.finish());
}

}  // namespace tabane::lab::aes_folder
