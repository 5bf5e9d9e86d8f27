#include "tabane/tools/mine/files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/core/output_file.h"
#include "tabane/crypto/secret.h"

namespace tabane::mine {

namespace {

// The client's memory has the names of items since version 2.
constexpr std::uint32_t version_of(FileKind kind) { return kind == FileKind::state ? 2 : 1; }

struct FrameHead {
  std::array<char, 8> magic = {'t', 'a', 'b', 'a', 'n', 'e', 'm', 'n'};
  FileKind kind{};
  std::uint32_t version = version_of(kind);
  std::uint64_t bytes = 0;  // of the content
};
static_assert(sizeof(FrameHead) == 24 && std::endian::native == std::endian::little);

const char* name_of(FileKind kind) {
  constexpr const char* kNames[] = {
      "something unknown",  "a secret key", "public keys", "an encrypted database",
      "the client's state", "a query",      "an answer"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(FileKind::answer) + 1);
  const auto number = static_cast<std::size_t>(kind);  // as a file says it
  return kNames[number < std::size(kNames) ? number : 0];
}

FrameHead read_head(const core::Descriptor& file, FileKind kind, const std::string& path) {
  FrameHead head;
  const std::size_t got = core::read_all_at(file.get(), &head, sizeof head, 0, path);
  if (got < sizeof head || head.magic != FrameHead().magic) {
    throw core::UsageError("{}: is not a file of tabane mine, where {} is wanted", path,
                           name_of(kind));
  }
  if (head.kind != kind) {
    throw core::UsageError("{}: holds {}, where {} is wanted", path, name_of(head.kind),
                           name_of(kind));
  }
  if (head.version != version_of(kind)) {
    throw core::UsageError("{}: is of version {}; this program knows version {}", path,
                           head.version, version_of(kind));
  }
  return head;
}

crypto::Sha256Sum digest_of(std::string_view bytes) {
  return crypto::sha256(std::as_bytes(std::span(bytes)));
}

}  // namespace

void add_digest(std::string& bytes) {
  const crypto::Sha256Sum digest = digest_of(bytes);
  bytes.append(reinterpret_cast<const char*>(digest.data()), digest.size());
}

bool has_right_digest(std::string_view bytes) {
  const std::size_t hashed = bytes.size() - kDigestBytes;
  const crypto::Sha256Sum digest = digest_of(bytes.substr(0, hashed));
  return std::memcmp(digest.data(), bytes.data() + hashed, digest.size()) == 0;
}

void throw_damaged(const std::string& path) { throw core::UsageError("{}: is damaged", path); }

void throw_cut(const std::string& path) {
  throw core::UsageError(
      "{}: has not the length that it says: it was cut, or "
      "something was added",
      path);
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
  throw core::UsageError("{}: is not a regular file", path);
}

std::string framed(FileKind kind, std::span<const std::byte> content) {
  const FrameHead head{.kind = kind, .bytes = content.size()};
  std::string bytes;
  bytes.reserve(sizeof head + content.size() + kDigestBytes);  // growth would copy a secret
  bytes.append(reinterpret_cast<const char*>(&head), sizeof head);
  bytes.append(reinterpret_cast<const char*>(content.data()), content.size());
  add_digest(bytes);
  return bytes;
}

FileFront read_front(const core::Descriptor& file, const std::string& path, FileKind kind) {
  const std::uint64_t size = size_of(file, path);
  const std::uint64_t content = read_head(file, kind, path).bytes;
  // Before memory is taken for what the head promises.
  constexpr std::size_t kFrameBytes = sizeof(FrameHead) + kDigestBytes;
  if (size < kFrameBytes || content > size - kFrameBytes) throw_cut(path);
  std::string whole(kFrameBytes + content, '\0');
  const crypto::WipedAtEnd end(whole);  // a secret key's, perhaps
  if (core::read_all_at(file.get(), whole.data(), whole.size(), 0, path) != whole.size()) {
    throw_cut(path);
  }
  if (!has_right_digest(whole)) throw_damaged(path);
  const auto bytes = std::as_bytes(std::span(whole)).subspan(sizeof(FrameHead), content);
  return {.content = {bytes.begin(), bytes.end()}, .bytes = whole.size()};
}

void write_framed(const std::filesystem::path& path, FileKind kind,
                  std::span<const std::byte> content, mode_t mode, Replace replace) {
  std::string bytes = framed(kind, content);
  const crypto::WipedAtEnd end(bytes);
  const core::OutputPath place = core::follow_output_path(path);
  if (replace == Replace::no && place.exists) {
    throw core::SystemError("open", path.string(), EEXIST);
  }
  const core::Descriptor folder = core::open_parent(place.path, path.string());
  core::TemporaryFile file(folder.get(), place.path.filename(), mode, path.string());
  core::write_all(file.fd(), bytes.data(), bytes.size(), path.string());
  file.rename(replace == Replace::yes);
}

team::Bytes read_framed(const std::filesystem::path& path, FileKind kind) {
  const core::Descriptor file = open_to_read(path);
  FileFront front = read_front(file, path.string(), kind);
  if (front.bytes != size_of(file, path.string())) {
    crypto::wipe(front.content);
    throw_cut(path.string());
  }
  return std::move(front.content);
}

}  // namespace tabane::mine
