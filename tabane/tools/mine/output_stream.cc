#include "tabane/tools/mine/output_stream.h"

#include <cerrno>

#include "tabane/core/error.h"
#include "tabane/core/output_path.h"
#include "tabane/crypto/wipe.h"

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

}  // namespace tabane::mine
