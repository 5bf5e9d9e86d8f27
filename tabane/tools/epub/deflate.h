// Raw deflate, whole in memory by libdeflate, or as a stream by zlib.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct libdeflate_compressor;
struct libdeflate_decompressor;

namespace tabane::epub {

std::uint32_t crc32(std::span<const std::byte> bytes);

// One thread at a time.
class Deflater {
 public:
  Deflater();
  ~Deflater();
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  static std::size_t most(std::size_t bytes);  // that deflate() writes
  // Returns the bytes written. out: most(in.size()).
  std::size_t deflate(std::span<const std::byte> in, std::span<std::byte> out);
  // Returns false unless `in` is one deflate stream, followed by nothing, that gives exactly `out`.
  bool inflate(std::span<const std::byte> in, std::span<std::byte> out);

 private:
  struct FreeCompressor {
    void operator()(libdeflate_compressor* one) const;
  };
  struct FreeDecompressor {
    void operator()(libdeflate_decompressor* one) const;
  };
  std::unique_ptr<libdeflate_compressor, FreeCompressor> compressor_;
  std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor_;
};

// What a deflate stream that comes piece by piece inflates to; the bytes themselves are not kept.
class InflatedSum {
 public:
  explicit InflatedSum(std::uint64_t most);  // bytes; more are refused
  ~InflatedSum();
  InflatedSum(const InflatedSum&) = delete;
  InflatedSum& operator=(const InflatedSum&) = delete;

  // Returns false if the stream is damaged, has ended before, or gives more than `most`.
  bool put(std::span<const std::byte> piece);
  bool ended() const;
  std::uint64_t bytes() const;
  std::uint32_t crc() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tabane::epub
