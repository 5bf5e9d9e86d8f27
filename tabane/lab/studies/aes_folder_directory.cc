#include "tabane/lab/studies/aes_folder_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <openssl/evp.h>
#include <sys/file.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <vector>

#include "tabane/core/error.h"

namespace tabane::lab::aes_folder {
namespace {

namespace fs = std::filesystem;
using workloads::aes_dir::Descriptor;

constexpr const char* kMemoryDirectory = "/dev/shm";
constexpr const char* kNamePrefix = "tabane-aes-folder-";

bool writable(const std::string& directory) {
  std::error_code ignored;
  return fs::is_directory(directory, ignored) && access(directory.c_str(), W_OK | X_OK) == 0;
}

Place describe(const std::string& directory) {
  Place place{.directory = directory};
  struct statfs status {};
  if (statfs(directory.c_str(), &status) != 0) return place;
  const auto type = static_cast<unsigned long>(status.f_type);
  place.in_memory = type == TMPFS_MAGIC || type == RAMFS_MAGIC;
  place.free_bytes =
      static_cast<std::uint64_t>(status.f_bavail) * static_cast<std::uint64_t>(status.f_bsize);
  return place;
}

Descriptor lock_directory(const std::string& path) {
  Descriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (directory.valid() && flock(directory.get(), LOCK_EX | LOCK_NB) != 0) directory.reset();
  return directory;
}

// A study that runs holds a lock on its directory; what is not locked was left by one that was
// killed.
void remove_what_killed_studies_left(const std::string& place) {
  std::error_code ignored;
  for (fs::directory_iterator it(place, ignored), end; !ignored && it != end;
       it.increment(ignored)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(kNamePrefix)) continue;
    std::error_code failed;
    if (lock_directory(it->path().string()).valid()) fs::remove_all(it->path(), failed);
  }
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
    fs::remove(entry.path(), ignored);
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

Scratch::Scratch(const std::string& place) {
  remove_what_killed_studies_left(place);
  path_ = place + "/" + kNamePrefix + "XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) throw core::SystemError("mkdtemp", path_, errno);
  lock_ = lock_directory(path_);
  in_ = path_ + "/in";
  out_ = path_ + "/out";
  make_directory(in_);
  make_directory(out_);
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void Scratch::fill_input(std::uint64_t files, std::uint64_t bytes) {
  empty(in_);
  empty_output();
  std::mt19937_64 random(files * 31 + bytes);
  std::vector<std::uint64_t> words((bytes + 7) / 8);
  std::generate(words.begin(), words.end(), std::ref(random));
  for (std::uint64_t i = 0; i < files; ++i) {
    if (!words.empty()) words[0] = random();  // no two files are the same
    const std::string path = fmt::format("{}/{:06}", in_, i);
    errno = 0;
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(bytes));
    file.close();
    if (!file) throw core::SystemError("write", path, errno != 0 ? errno : EIO);
  }
}

void Scratch::empty_output() { empty(out_); }

std::string digest_of_directory(const std::string& directory) {
  std::error_code failed;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(directory, failed)) paths.push_back(entry.path());
  if (failed) throw core::SystemError("opendir", directory, failed.value());
  std::sort(paths.begin(), paths.end());

  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(),
                                                                   EVP_MD_CTX_free);
  if (!context || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1)
    throw core::Error("OpenSSL cannot set up SHA-256");
  std::vector<char> piece(std::size_t{1} << 20);
  for (const fs::path& path : paths) {
    const std::string name = path.filename().string();
    EVP_DigestUpdate(context.get(), name.c_str(), name.size() + 1);
    std::ifstream file(path, std::ios::binary);
    if (!file) throw core::SystemError("open", path.string(), errno);
    while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())), file.gcount() > 0)
      EVP_DigestUpdate(context.get(), piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_DigestFinal_ex(context.get(), digest.data(), &size) != 1)
    throw core::Error("OpenSSL cannot compute SHA-256");
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace tabane::lab::aes_folder
