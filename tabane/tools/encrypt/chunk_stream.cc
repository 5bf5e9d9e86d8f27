#include "tabane/tools/encrypt/chunk_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tabane::encrypt {
namespace {

constexpr std::uint64_t kLimitOfChunks = std::uint64_t{1} << 32;

}  // namespace

ChunkWriter::ChunkWriter(const FileKeys& keys, std::size_t chunk_bytes, Sink sink,
                         crypto::Engine engine)
    : cipher_(engine), sink_(std::move(sink)), chunk_bytes_(chunk_bytes) {
  cipher_.set_key(keys.key.bytes());
  buffer_.reserve(chunk_bytes + crypto::kTagBytes);
}

void ChunkWriter::seal(bool last) {
  if (index_ == kLimitOfChunks) throw core::Error("has more than 2^32 chunks");
  const std::span<std::byte> sealed(buffer_.data(), filled_ + crypto::kTagBytes);
  cipher_.seal(static_cast<std::uint32_t>(index_++), last, sealed.first(filled_), sealed);
  filled_ = 0;
  sink_(sealed);
}

// A full chunk waits until it is known that it is not the last.
void ChunkWriter::put(std::span<const std::byte> plain) {
  while (!plain.empty()) {
    if (filled_ == chunk_bytes_) seal(false);
    const std::size_t here = std::min(plain.size(), chunk_bytes_ - filled_);
    std::memcpy(buffer_.data() + filled_, plain.data(), here);
    filled_ += here;
    plain = plain.subspan(here);
  }
}

void ChunkWriter::finish() { seal(true); }

ChunkReader::ChunkReader(const FileKeys& keys, std::size_t chunk_bytes, std::uint64_t first_offset,
                         Source source, crypto::Engine engine)
    : cipher_(engine),
      source_(std::move(source)),
      chunk_bytes_(chunk_bytes),
      offset_(first_offset) {
  cipher_.set_key(keys.key.bytes());
  buffer_.reserve(2 * (chunk_bytes + crypto::kTagBytes));
  ahead_ = source_(
      {buffer_.data() + chunk_bytes_ + crypto::kTagBytes, chunk_bytes_ + crypto::kTagBytes});
}

bool ChunkReader::open_next() {
  if (ended_) return false;
  const std::size_t whole = chunk_bytes_ + crypto::kTagBytes, here = ahead_;
  std::memcpy(buffer_.data(), buffer_.data() + whole, here);
  ahead_ = here < whole ? 0 : source_({buffer_.data() + whole, whole});
  ended_ = ahead_ == 0;
  if (here < crypto::kTagBytes) throw DamageError("the file ends inside a chunk", offset_ + here);
  if (index_ == kLimitOfChunks) throw DamageError("the file has more than 2^32 chunks", offset_);
  plain_ = here - crypto::kTagBytes;
  at_ = 0;
  const std::span<std::byte> chunk(buffer_.data(), here);
  if (!cipher_.open(static_cast<std::uint32_t>(index_), ended_, chunk, chunk.first(plain_))) {
    plain_ = 0;
    ended_ = true;
    throw DamageError(fmt::format("chunk {} was changed, or is not in its place", index_), offset_);
  }
  if (plain_ == 0 && index_ > 0) throw DamageError("an empty chunk", offset_);
  ++index_;
  offset_ += here;
  return true;
}

std::size_t ChunkReader::get(std::span<std::byte> plain) {
  std::size_t given = 0;
  while (given < plain.size()) {
    if (at_ == plain_ && !open_next()) break;
    const std::size_t here = std::min(plain.size() - given, plain_ - at_);
    std::memcpy(plain.data() + given, buffer_.data() + at_, here);
    given += here;
    at_ += here;
  }
  return given;
}

}  // namespace tabane::encrypt
