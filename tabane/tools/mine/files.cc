#include "tabane/tools/mine/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/core/output_file.h"
#include "tabane/crypto/secret.h"
#include "tabane/tools/mine/bgv/frame.h"

namespace tabane::mine {
namespace {

constexpr std::size_t kOutputBuffer = std::size_t{1} << 20;

}  // namespace

OutputStream::OutputStream(const std::filesystem::path& path, mode_t mode, Replace replace)
    : shown_(path == "-" ? "standard output" : path.string()), replace_(replace) {
  const core::OutputPath place =
      path == "-" ? core::standard_output() : core::follow_output_path(path);
  if (place.stream) {
    stream_ = core::open_stream(place);
    return;
  }
  if (replace == Replace::no && place.exists) throw core::SystemError("open", shown_, EEXIST);
  folder_ = core::open_parent(place.path, shown_);
  buffer_.reserve(kOutputBuffer);  // it never moves, so nothing of it is left behind
  file_.emplace(folder_.get(), place.path.filename(), mode, shown_);
}

OutputStream::~OutputStream() { crypto::wipe(std::as_writable_bytes(std::span(buffer_))); }

void OutputStream::write(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > kOutputBuffer) flush();
  if (bytes.size() > kOutputBuffer) {
    const int file = file_ ? file_->fd() : stream_.get();
    return core::write_all(file, bytes.data(), bytes.size(), shown_);
  }
  buffer_.append(bytes);
}

void OutputStream::flush() {
  const int file = file_ ? file_->fd() : stream_.get();
  core::write_all(file, buffer_.data(), buffer_.size(), shown_);
  crypto::wipe(std::as_writable_bytes(std::span(buffer_)));
  buffer_.clear();
}

void OutputStream::finish() {
  flush();
  if (file_) {
    file_->rename(replace_ == Replace::yes);
  } else {
    stream_.close(shown_);
  }
}

namespace {

constexpr std::string_view kMagic = "tabanemn";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeadBytes = 24;

const char* name_of(FileKind kind) {
  switch (kind) {
    case FileKind::secret_key:
      return "a secret key";
    case FileKind::public_keys:
      return "public keys";
    case FileKind::database:
      return "an encrypted database";
    case FileKind::state:
      return "the client's state";
    case FileKind::query:
      return "a query";
    case FileKind::answer:
      return "an answer";
  }
  return "something unknown";
}

// Returns the bytes of the content.
std::uint64_t check_head(std::string_view head, FileKind kind, const std::string& path) {
  if (head.size() < kHeadBytes || !head.starts_with(kMagic)) {
    throw core::UsageError(
        fmt::format("{}: is not a file of tabane mine, where {} is wanted", path, name_of(kind)));
  }
  const auto found = bgv::value_at<FileKind>(head, 8);
  if (found != kind) {
    throw core::UsageError(
        fmt::format("{}: holds {}, where {} is wanted", path, name_of(found), name_of(kind)));
  }
  const auto version = bgv::value_at<std::uint32_t>(head, 12);
  if (version != kVersion) {
    throw core::UsageError(fmt::format("{}: is of version {}; this program knows version {}", path,
                                       version, kVersion));
  }
  return bgv::value_at<std::uint64_t>(head, 16);
}

}  // namespace

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

std::string framed(FileKind kind, std::span<const std::byte> content) {
  bgv::FrameWriter writer(kMagic, kHeadBytes + content.size() + bgv::kDigestBytes);
  writer.put(kind);
  writer.put(kVersion);
  writer.put(std::uint64_t{content.size()});
  writer.put_all(content);
  return writer.finish();
}

FileFront read_front(const core::Descriptor& file, const std::string& path, FileKind kind) {
  const std::uint64_t size = size_of(file, path);
  std::string head(std::min<std::uint64_t>(size, kHeadBytes), '\0');
  core::read_all_at(file.get(), head.data(), head.size(), 0, path);
  const std::uint64_t content = check_head(head, kind, path);
  // Before memory is taken for what the head promises.
  constexpr std::size_t kFrameBytes = kHeadBytes + bgv::kDigestBytes;
  if (size < kFrameBytes || content > size - kFrameBytes) throw_cut(path);
  std::string whole(kFrameBytes + content, '\0');
  const crypto::WipedAtEnd end(whole);  // a secret key's, perhaps
  if (core::read_all_at(file.get(), whole.data(), whole.size(), 0, path) != whole.size()) {
    throw_cut(path);
  }
  if (!bgv::has_right_digest(whole)) throw_damaged(path);
  const auto bytes = std::as_bytes(std::span(whole)).subspan(kHeadBytes, content);
  return {.content = {bytes.begin(), bytes.end()}, .bytes = whole.size()};
}

void write_framed(const std::filesystem::path& path, FileKind kind,
                  std::span<const std::byte> content, mode_t mode, Replace replace) {
  std::string bytes = framed(kind, content);
  const crypto::WipedAtEnd end(bytes);
  OutputStream out(path, mode, replace);
  out.write(bytes);
  out.finish();
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
