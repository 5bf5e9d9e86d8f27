// The ZIP file that a book is, read with suspicion, since books come from strangers; and deflate.
#pragma once

#include <libdeflate.h>
#include <zip.h>
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/crypto/openssl.h"

namespace tabane::epub {

using crypto::FreedBy;

// Beyond these limits a book is taken for a bomb. Text rarely shrinks to less than a twentieth.
inline constexpr std::uint64_t kMostExpansion = 200;  // of an entry of kSmallBytes or more
inline constexpr std::uint64_t kSmallBytes = std::uint64_t{16} << 20;
inline constexpr std::uint64_t kMostBookBytes = std::uint64_t{64} << 30;

struct Entry {
  std::string name;  // UTF-8
  std::uint64_t index = 0;
  std::uint64_t bytes = 0;   // as its header promises
  std::uint64_t stored = 0;  // bytes in the archive
  std::uint32_t crc = 0;
  bool deflated = false;
  std::time_t time = 0;

  bool is_folder() const { return name.ends_with('/'); }
};

// Is closed without writing.
using Zip = std::unique_ptr<zip, FreedBy<zip_discard>>;

// One thread at a time, with all its streams.
class Archive {
 public:
  // Refuses other files than ZIP, names that lead out of a book or occur twice, entries that ZIP
  // itself has encrypted or compressed otherwise than by deflate, and bombs. throws:
  // core::SystemError, core::Error; both name the file.
  explicit Archive(const std::string& path);
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  const std::string& path() const { return path_; }
  std::span<const Entry> entries() const { return entries_; }
  const Entry* find(std::string_view name) const;  // null: there is none

  // Reads an entry that is small by nature, such as a manifest. throws: core::Error naming it, also
  // if it has more than `most` bytes or the wrong checksum.
  std::string text_of(const Entry& entry, std::uint64_t most) const;
  // Reads an entry's bytes as they are stored. out: entry.stored bytes.
  void read_stored(const Entry& entry, std::byte* out) const;

  zip* handle() const { return zip_.get(); }

 private:
  void add(std::uint64_t index);
  void check_sizes() const;

  std::string path_;
  Zip zip_;
  std::uint64_t file_bytes_ = 0;
  std::vector<Entry> entries_;
  std::map<std::string_view, std::size_t> places_;
};

enum class EntryForm { plain, stored };

// Reads the bytes of an entry in their order. Plain ones are inflated, and compared with the
// entry's checksum and length at the end.
class EntryStream {
 public:
  EntryStream(const Archive& archive, const Entry& entry, EntryForm form);

  // Returns how many bytes were read, 0 at the end. throws: core::Error naming book and entry.
  std::size_t read(std::span<std::byte> bytes);
  // Reads on until the bytes are filled or the entry ends. Returns and throws as read().
  std::size_t fill(std::span<std::byte> bytes);

 private:
  std::string what_;
  std::unique_ptr<zip_file, FreedBy<zip_fclose>> file_;
};

// ---- raw deflate: whole in memory by libdeflate, or as a stream by zlib ----

std::uint32_t crc32(std::span<const std::byte> bytes);

// One thread at a time.
class Deflater {
 public:
  Deflater();

  static std::size_t most(std::size_t bytes);  // bytes that deflate() may write
  // Returns the bytes written. out: most(in.size()).
  std::size_t deflate(std::span<const std::byte> in, std::span<std::byte> out);
  // Returns false unless `in` is one deflate stream, followed by nothing, that gives exactly `out`.
  bool inflate(std::span<const std::byte> in, std::span<std::byte> out);

 private:
  std::unique_ptr<libdeflate_compressor, FreedBy<libdeflate_free_compressor>> compressor_;
  std::unique_ptr<libdeflate_decompressor, FreedBy<libdeflate_free_decompressor>> decompressor_;
};

// Length and checksum of the content of a deflate stream that comes piece by piece.
class InflatedSum {
 public:
  explicit InflatedSum(std::uint64_t most);  // bytes; more are refused
  ~InflatedSum();
  InflatedSum(const InflatedSum&) = delete;
  InflatedSum& operator=(const InflatedSum&) = delete;

  // Returns false if the stream is damaged, has ended before, or gives more than `most`.
  bool put(std::span<const std::byte> piece);
  bool ended() const { return ended_; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint32_t crc() const { return crc_; }

 private:
  z_stream stream_{};
  std::uint64_t most_, bytes_ = 0;
  std::uint32_t crc_ = 0;
  bool ended_ = false;
  std::vector<unsigned char> out_;
};

}  // namespace tabane::epub
