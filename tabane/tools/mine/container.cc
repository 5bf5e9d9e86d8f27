#include "tabane/tools/mine/container.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "tabane/crypto/sha256.h"
#include "tabane/crypto/wipe.h"

namespace tabane::mine {
namespace {

constexpr std::string_view kMagic = "tabanemn";
static_assert(std::endian::native == std::endian::little, "numbers are written as they are");

template <class T>
T number_at(std::span<const std::byte> bytes, std::size_t at) {
  T number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

constexpr std::size_t kHeadBytes = 24;

// Bytes that may be a secret key's, wiped when they go.
class Wiped {
 public:
  explicit Wiped(std::size_t size) : bytes_(size) {}
  explicit Wiped(team::Bytes bytes) : bytes_(std::move(bytes)) {}
  ~Wiped() { crypto::wipe(bytes_); }
  Wiped(const Wiped&) = delete;
  Wiped& operator=(const Wiped&) = delete;

  std::byte* data() { return bytes_.data(); }
  std::size_t size() const { return bytes_.size(); }
  std::span<const std::byte> all() const { return bytes_; }

 private:
  team::Bytes bytes_;
};

// Returns the bytes of the content.
std::uint64_t check_head(std::span<const std::byte> head, Kind kind, const std::string& path) {
  if (head.size() < kHeadBytes || std::memcmp(head.data(), kMagic.data(), kMagic.size()) != 0) {
    throw core::UsageError(
        fmt::format("{}: is not a file of tabane mine, where {} is wanted", path, name_of(kind)));
  }
  const auto there = static_cast<Kind>(number_at<std::uint32_t>(head, 8));
  if (there != kind) {
    throw core::UsageError(
        fmt::format("{}: holds {}, where {} is wanted", path, name_of(there), name_of(kind)));
  }
  const auto version = number_at<std::uint32_t>(head, 12);
  if (version != kContainerVersion) {
    throw core::UsageError(fmt::format("{}: is of version {}; this program knows version {}", path,
                                       version, kContainerVersion));
  }
  return number_at<std::uint64_t>(head, 16);
}

}  // namespace

std::string name_of(Kind kind) {
  switch (kind) {
    case Kind::secret_key:
      return "a secret key";
    case Kind::public_keys:
      return "public keys";
    case Kind::database:
      return "an encrypted database";
    case Kind::state:
      return "the client's state";
    case Kind::query:
      return "a query";
    case Kind::answer:
      return "an answer";
  }
  return "something unknown";
}

void throw_damaged(const std::string& path) {
  throw core::UsageError(fmt::format("{}: is damaged", path));
}

void throw_cut(const std::string& path) {
  throw core::UsageError(
      fmt::format("{}: has not the length that it says: it was cut, or "
                  "something was added",
                  path));
}

core::Descriptor open_to_read(const std::filesystem::path& path) {
  core::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) throw core::SystemError("open", path.string(), errno);
  return file;
}

std::uint64_t size_of(const core::Descriptor& file, const std::string& path) {
  struct stat seen {};
  if (::fstat(file.get(), &seen) != 0) throw core::SystemError("fstat", path, errno);
  if (S_ISREG(seen.st_mode)) return static_cast<std::uint64_t>(seen.st_size);
  throw core::UsageError(fmt::format("{}: is not a regular file", path));
}

team::Bytes container_bytes(Kind kind, std::span<const std::byte> content) {
  team::Bytes bytes(kMagic.size());
  bytes.reserve(kHeadBytes + content.size() + sizeof(crypto::Sha256Sum));
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  team::put_value(bytes, static_cast<std::uint32_t>(kind));
  team::put_value(bytes, kContainerVersion);
  team::put_value(bytes, std::uint64_t{content.size()});
  bytes.insert(bytes.end(), content.begin(), content.end());
  team::put_value(bytes, crypto::sha256(bytes));
  return bytes;
}

Front read_front(const core::Descriptor& file, const std::string& path, Kind kind) {
  const std::uint64_t size = size_of(file, path);
  Wiped bytes(std::min<std::uint64_t>(size, kHeadBytes));
  core::read_all_at(file.get(), bytes.data(), bytes.size(), 0, path);
  const std::uint64_t content = check_head(bytes.all(), kind, path);
  // Before memory is taken for what the head promises.
  if (size < kHeadBytes + sizeof(crypto::Sha256Sum) ||
      content > size - kHeadBytes - sizeof(crypto::Sha256Sum)) {
    throw_cut(path);
  }
  Wiped whole(kHeadBytes + content + sizeof(crypto::Sha256Sum));
  if (core::read_all_at(file.get(), whole.data(), whole.size(), 0, path) != whole.size()) {
    throw_cut(path);
  }
  const auto hashed = whole.all().first(kHeadBytes + content);
  const crypto::Sha256Sum digest = crypto::sha256(hashed);
  if (std::memcmp(digest.data(), whole.data() + hashed.size(), digest.size()) != 0) {
    throw_damaged(path);
  }
  return {.content = {hashed.begin() + kHeadBytes, hashed.end()}, .bytes = whole.size()};
}

void write_container(const std::filesystem::path& path, Kind kind,
                     std::span<const std::byte> content, mode_t mode, Replace replace) {
  Wiped bytes(container_bytes(kind, content));
  OutputStream out(path, mode, replace);
  out.write(bytes.all());
  out.finish();
}

team::Bytes read_container(const std::filesystem::path& path, Kind kind) {
  const core::Descriptor file = open_to_read(path);
  Front front = read_front(file, path.string(), kind);
  if (front.bytes != size_of(file, path.string())) {
    crypto::wipe(front.content);  // a secret key's, perhaps
    throw_cut(path.string());
  }
  return std::move(front.content);
}

}  // namespace tabane::mine
