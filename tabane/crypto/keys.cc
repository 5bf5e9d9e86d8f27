#include "tabane/crypto/keys.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <system_error>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/crypto/sha256.h"

namespace tabane::crypto {
namespace {

constexpr std::size_t kMostOfKeyFile = 192;  // a hexadecimal key and much white space
constexpr std::size_t kMostOfLine = 1024;

std::span<const std::byte> read_some(const core::Descriptor& file, const std::string& path,
                                     std::span<std::byte> buffer) {
  return buffer.first(core::read_all(file.get(), buffer.data(), buffer.size(), path));
}

std::string_view without_space_behind(std::string_view text) {
  return text.substr(0, text.find_last_not_of(" \t\n\v\f\r") + 1);
}

// Random bytes are not: one key in 10^34 of 32 bytes, one in 10^17 of 16.
bool is_hexadecimal_text(std::string_view text) {
  text = without_space_behind(text);
  return !text.empty() && text.find_first_not_of("0123456789abcdefABCDEF") == text.npos;
}

// Whether what is not the name of a file is the text of an identity, a whole file of one, or the
// digits of a key.
bool may_be_secret(std::string_view text) {
  constexpr std::string_view kIdentity = "tabane-secret-key-";
  constexpr std::size_t kFewDigits = 16;
  const auto is_same = [](unsigned char a, unsigned char b) { return std::tolower(a) == b; };
  if (!std::ranges::search(text, kIdentity, is_same).empty()) return true;
  return text.size() >= kFewDigits && is_hexadecimal_text(text);
}

bool is_zero(std::span<const std::byte> bytes) {
  std::byte all{0};
  for (const std::byte b : bytes) all |= b;
  return all == std::byte{0};
}

[[noreturn]] void throw_ambiguous(const std::string& path, std::size_t bytes) {
  throw core::UsageError(
      "key file {0}: its {1} bytes are hexadecimal digits, which may be half of a key or a raw "
      "one. A key is {2} such digits; if these are raw bytes, write them so: xxd -p -c {1} {0}",
      path, bytes, 2 * bytes);
}

void write_and_close(core::Descriptor file, const std::string& path,
                     std::span<const std::byte> bytes) {
  core::write_all(file.get(), bytes.data(), bytes.size(), path);
  // Some file systems have no fsync (EINVAL).
  if (fsync(file.get()) != 0 && errno != EINVAL) throw core::SystemError("fsync", path, errno);
  file.close(path);
}

// A passphrase may be any text.
core::Descriptor open_passphrase_file(const std::string& path) {
  try {
    return open_to_read(path);
  } catch (const core::SystemError& error) {
    if (error.code() != ENOENT || path.find('/') != path.npos) throw;
    throw core::Error(
        "passphrase file: there is no such file; its name is not shown, as it may be the "
        "passphrase itself");
  }
}

namespace fs = std::filesystem;

core::FileId id_of(const struct stat& status) { return {status.st_dev, status.st_ino}; }

// Returns the file and the directories that hold it.
std::vector<core::FileId> places_of_keys(const std::string& path, const core::FileId& id) {
  std::vector<core::FileId> places = {id};
  std::error_code error;
  const fs::path folder = fs::canonical(path, error).parent_path();
  const core::Descriptor opened(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!error && opened.valid())
    std::ranges::copy(core::with_parents(opened.get()), std::back_inserter(places));
  return places;
}

}  // namespace

core::Descriptor open_to_read(const std::string& path) {
  core::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (file.valid()) return file;
  const int code = errno;
  if (may_be_secret(path)) {
    throw core::UsageError(
        "a secret key where the name of its file is wanted: other users may have seen it in the "
        "list of processes, and the shell may keep it in its history. Write it into a file that "
        "only you can read");
  }
  throw core::SystemError("open", path, code);
}

std::string warning_of(const core::Descriptor& file, const std::string& path) {
  struct stat status;
  if (fstat(file.get(), &status) != 0) throw core::SystemError("fstat", path, errno);
  if (!S_ISREG(status.st_mode) || (status.st_mode & 077) == 0) return {};
  return fmt::format("others may have access to {}: chmod 600 {}", path, path);
}

KeyFile read_key_file(const std::string& path, std::size_t bytes) {
  TABANE_ASSERT(bytes == 16 || bytes == 32);
  const core::Descriptor file = open_to_read(path);
  KeyFile result;
  result.warning = warning_of(file, path);
  LockedBytes<kMostOfKeyFile> buffer;
  const auto content = read_some(file, path, buffer.bytes());
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  const auto key = result.key.bytes().first(bytes);
  if (content.size() == bytes) {
    if (is_hexadecimal_text(text)) throw_ambiguous(path, bytes);
    std::ranges::copy(content, key.begin());
  } else if (!from_hexadecimal(without_space_behind(text), key)) {
    throw core::UsageError(
        "key file {}: {} {} bytes; legal are {} raw bytes, or {} hexadecimal digits "
        "with white space at the end",
        path, content.size() == kMostOfKeyFile ? "at least" : "it has", content.size(), bytes,
        2 * bytes);
  }
  if (is_zero(key)) result.weakness = fmt::format("key file {}: the key is all zeros", path);
  return result;
}

PassphraseFile read_passphrase_file(const std::string& path) {
  const core::Descriptor file = open_passphrase_file(path);
  LockedBytes<kMostOfLine + 2> buffer;  // room for the end of the longest line
  auto line = read_some(file, path, buffer.bytes());
  const auto end = std::ranges::find(line, std::byte{'\n'});
  line = line.first(end - line.begin());
  if (!line.empty() && line.back() == std::byte{'\r'}) line = line.first(line.size() - 1);
  if (line.empty() || line.size() > kMostOfLine) {
    throw core::UsageError("passphrase file {}: its first line is {}; legal are 1 to {} bytes",
                           path, line.empty() ? "empty" : "too long", kMostOfLine);
  }
  return {Passphrase::of(line), warning_of(file, path)};
}

std::string weakness_of(const Passphrase& passphrase) {
  constexpr std::size_t kFewBytes = 8;
  if (passphrase.bytes().size() >= kFewBytes) return {};
  return fmt::format("the passphrase has less than {} bytes and is easily guessed", kFewBytes);
}

void write_new_key_file(const std::string& path) {
  LockedBytes<32> key;
  fill_random(key.bytes());
  write_new_secret_file(path, key.bytes());
}

void write_new_secret_file(const std::string& path, std::span<const std::byte> bytes) {
  core::Descriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) throw core::SystemError("open", path, errno);
  try {
    write_and_close(std::move(file), path, bytes);
  } catch (const core::SystemError&) {
    unlink(path.c_str());
    throw;
  }
}

void KeyFiles::add(const std::string& path, bool is_secret) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  files_.push_back({path, id_of(status), is_secret});
}

const std::string* KeyFiles::find(const struct stat& file) const {
  const auto found = std::ranges::find(files_, id_of(file), &KeyFile::id);
  return found == files_.end() ? nullptr : &found->path;
}

const std::string* KeyFiles::find(int directory, const char* name) const {
  struct stat there {};
  if (files_.empty() || fstatat(directory, name, &there, AT_SYMLINK_NOFOLLOW) != 0) return nullptr;
  return find(there);
}

void KeyFiles::require_none(const char* what, const fs::path& output) const {
  struct stat there {};
  if (stat(output.c_str(), &there) != 0) return;
  if (const std::string* key = find(there)) {
    throw core::UsageError("{} ({}) is the file of keys {}; give another place", what,
                           output.string(), *key);
  }
}

std::vector<std::string> KeyFiles::inside(const fs::path& place) const {
  std::vector<std::string> paths;
  struct stat there {};
  if (stat(place.c_str(), &there) != 0) return paths;
  for (const KeyFile& file : files_) {
    const std::vector<core::FileId> places = places_of_keys(file.path, file.id);
    const bool lies_there = std::ranges::find(places, id_of(there)) != places.end();
    if (file.is_secret && lies_there) paths.push_back(file.path);
  }
  return paths;
}

}  // namespace tabane::crypto
