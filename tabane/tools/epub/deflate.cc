#include "tabane/tools/epub/deflate.h"

#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>

namespace tabane::epub {
namespace {

constexpr int kLevel = 6;
constexpr int kRawWindow = -15;  // zlib: no header around the stream

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes) {
  return libdeflate_crc32(0, bytes.data(), bytes.size());
}

void Deflater::FreeCompressor::operator()(libdeflate_compressor* one) const {
  libdeflate_free_compressor(one);
}
void Deflater::FreeDecompressor::operator()(libdeflate_decompressor* one) const {
  libdeflate_free_decompressor(one);
}

Deflater::Deflater()
    : compressor_(libdeflate_alloc_compressor(kLevel)),
      decompressor_(libdeflate_alloc_decompressor()) {
  if (!compressor_ || !decompressor_) throw std::bad_alloc();
}

Deflater::~Deflater() = default;

std::size_t Deflater::most(std::size_t bytes) {
  return libdeflate_deflate_compress_bound(nullptr, bytes);
}

std::size_t Deflater::deflate(std::span<const std::byte> in, std::span<std::byte> out) {
  return libdeflate_deflate_compress(compressor_.get(), in.data(), in.size(), out.data(),
                                     out.size());
}

bool Deflater::inflate(std::span<const std::byte> in, std::span<std::byte> out) {
  std::size_t read = 0, written = 0;
  // A place to write to is wanted even for no bytes.
  std::byte none;
  const libdeflate_result result = libdeflate_deflate_decompress_ex(
      decompressor_.get(), in.data(), in.size(), out.empty() ? &none : out.data(), out.size(),
      &read, &written);
  return result == LIBDEFLATE_SUCCESS && read == in.size() && written == out.size();
}

struct InflatedSum::State {
  z_stream stream{};
  std::uint64_t most, bytes = 0;
  std::uint32_t crc = 0;
  bool ended = false;
  std::array<Bytef, std::size_t{1} << 16> out;
};

InflatedSum::InflatedSum(std::uint64_t most) : state_(std::make_unique<State>()) {
  state_->most = most;
  if (inflateInit2(&state_->stream, kRawWindow) != Z_OK) throw std::bad_alloc();
}

InflatedSum::~InflatedSum() { inflateEnd(&state_->stream); }

// piece: at most 4 GiB.
bool InflatedSum::put(std::span<const std::byte> piece) {
  State& s = *state_;
  s.stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(piece.data()));
  s.stream.avail_in = static_cast<uInt>(piece.size());
  do {
    if (s.ended) return s.stream.avail_in == 0;
    s.stream.next_out = s.out.data();
    s.stream.avail_out = static_cast<uInt>(s.out.size());
    const int result = ::inflate(&s.stream, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) return false;
    s.ended = result == Z_STREAM_END;
    const std::size_t made = s.out.size() - s.stream.avail_out;
    s.crc = libdeflate_crc32(s.crc, s.out.data(), made);
    s.bytes += made;
    if (s.bytes > s.most) return false;
  } while (s.stream.avail_in > 0 || s.stream.avail_out == 0);
  return true;
}

bool InflatedSum::ended() const { return state_->ended; }
std::uint64_t InflatedSum::bytes() const { return state_->bytes; }
std::uint32_t InflatedSum::crc() const { return state_->crc; }

}  // namespace tabane::epub
