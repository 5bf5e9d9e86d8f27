#include "tabane/lab/commands/child_streams.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tabane/core/error.h"

namespace tabane::lab {

struct KeptText::Hash {
  XXH3_state_t state;
};

KeptText::KeptText(std::size_t most_bytes, bool hashed)
    : most_(most_bytes), hash_(hashed ? new Hash : nullptr, [](Hash* hash) { delete hash; }) {
  if (hashed) XXH3_128bits_reset(&hash_->state);
}

void KeptText::add(std::string_view bytes) {
  if (hash_) XXH3_128bits_update(&hash_->state, bytes.data(), bytes.size());
  text_ += bytes;
  if (text_.size() > 2 * most_) text_.erase(0, text_.size() - most_);
}

std::string KeptText::text() const {
  return text_.size() > most_ ? text_.substr(text_.size() - most_) : text_;
}

std::string KeptText::hash() const {
  if (!hash_) return "";
  const XXH128_hash_t hash = XXH3_128bits_digest(&hash_->state);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

PipeReader::PipeReader(std::size_t most_bytes, bool hashed) : kept_(most_bytes, hashed) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw core::SystemError("pipe2", "output of a command", errno);
  reading_.reset(ends[0]);
  writing_.reset(ends[1]);
  fcntl(reading_.get(), F_SETFL, O_NONBLOCK);
  if (most_bytes == 0 && !hashed) nothing_.reset(open("/dev/null", O_WRONLY | O_CLOEXEC));
}

// Returns the number of bytes taken; 0 at the end; -1 with errno.
ssize_t PipeReader::take() {
  constexpr std::size_t kMostMoved = std::size_t{1} << 20;
  if (nothing_.valid())
    return splice(reading_.get(), nullptr, nothing_.get(), nullptr, kMostMoved, SPLICE_F_NONBLOCK);
  std::array<char, 65536> bytes;
  const ssize_t n = read(reading_.get(), bytes.data(), bytes.size());
  if (n > 0) kept_.add({bytes.data(), static_cast<std::size_t>(n)});
  return n;
}

void PipeReader::read_some() {
  // Who writes without end is not read without end.
  constexpr int kMostReads = 64;
  for (int i = 0; i < kMostReads; ++i) {
    const ssize_t n = take();
    if (n == 0 || (n < 0 && errno != EINTR)) return;
  }
}

}  // namespace tabane::lab
