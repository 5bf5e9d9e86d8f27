#include "tabane/tools/epub/archive.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <ranges>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/units.h"

namespace tabane::epub {
namespace {

[[noreturn]] void refuse(const std::string& book, const std::string& why) {
  throw core::Error("{}: {}", book, why);
}

std::uint64_t size_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw core::SystemError("open", path, errno);
  if (!S_ISREG(status.st_mode)) refuse(path, "is not a regular file, where a book is wanted");
  if (status.st_size == 0) refuse(path, "is empty, where a book is wanted");
  return static_cast<std::uint64_t>(status.st_size);
}

// Recognises a download that ended early: the list of a ZIP file's entries is at its end.
bool begins_like_zip(const std::string& path) {
  constexpr std::string_view kFirstEntry("PK\3\4");
  std::string begin(kFirstEntry.size(), '\0');
  const core::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file.valid() &&
         core::read_all_at(file.get(), begin.data(), begin.size(), 0, path) == begin.size() &&
         begin == kFirstEntry;
}

zip* open_zip(const std::string& path) {
  int code = 0;
  if (zip* const opened = zip_open(path.c_str(), ZIP_RDONLY, &code)) return opened;
  if (code == ZIP_ER_OPEN || code == ZIP_ER_READ) throw core::SystemError("open", path, errno);
  if (code == ZIP_ER_NOZIP && begins_like_zip(path)) {
    refuse(path, "is cut off: it begins as a ZIP file, but its end is missing");
  }
  if (code == ZIP_ER_NOZIP) refuse(path, "is not a ZIP file, so it is no EPUB book");
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  refuse(path, fmt::format("is a damaged ZIP file: {}", text));
}

// If another program unpacked the book, such a name would write outside its folder.
bool leads_out(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.find('\\') != name.npos) return true;
  if (name.size() > 1 && name[1] == ':') return true;
  for (const auto& part : std::views::split(name, '/')) {
    if (std::string_view(part.begin(), part.end()) == "..") return true;
  }
  return std::ranges::any_of(name, [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

constexpr int kLevel = 6;
constexpr int kRawWindow = -15;  // zlib: no header around the stream

}  // namespace

Archive::Archive(const std::string& path) : path_(path) {
  file_bytes_ = size_of(path);
  zip_.reset(open_zip(path));
  const auto count = static_cast<std::uint64_t>(zip_get_num_entries(zip_.get(), 0));
  entries_.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) add(i);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (places_.emplace(entries_[i].name, i).second) continue;
    refuse(path_, fmt::format("has two entries named {}", entries_[i].name));
  }
  check_sizes();
}

void Archive::add(std::uint64_t index) {
  zip_stat_t status;
  if (zip_stat_index(zip_.get(), index, 0, &status) != 0) {
    refuse(path_, fmt::format("entry {} cannot be read: {}", index, zip_strerror(zip_.get())));
  }
  Entry entry{.name = status.name,
              .index = index,
              .bytes = status.size,
              .stored = status.comp_size,
              .crc = status.crc,
              .deflated = status.comp_method == ZIP_CM_DEFLATE,
              .time = status.mtime};
  if (leads_out(entry.name)) {
    refuse(path_, fmt::format("has an entry named \"{}\", which leads out of a book", entry.name));
  }
  if (status.encryption_method != ZIP_EM_NONE) {
    refuse(path_, fmt::format("{} is encrypted by ZIP, which no EPUB book is", entry.name));
  }
  if (status.comp_method != ZIP_CM_STORE && status.comp_method != ZIP_CM_DEFLATE) {
    refuse(path_, fmt::format("{} is compressed by method {}; EPUB knows stored and deflated",
                              entry.name, status.comp_method));
  }
  entries_.push_back(std::move(entry));
}

void Archive::check_sizes() const {
  std::uint64_t bytes = 0, stored = 0;
  for (const Entry& entry : entries_) {
    if (entry.bytes >= kSmallBytes && entry.bytes / kMostExpansion > entry.stored) {
      refuse(path_, fmt::format("{} would grow from {} to {}, more than {} times: a bomb",
                                entry.name, core::format_bytes(entry.stored),
                                core::format_bytes(entry.bytes), kMostExpansion));
    }
    bytes += std::min(entry.bytes, kMostBookBytes);
    stored += std::min(entry.stored, kMostBookBytes);
    if (bytes > kMostBookBytes) {
      refuse(path_, fmt::format("holds more than {}", core::format_bytes(kMostBookBytes)));
    }
  }
  if (stored > file_bytes_) {
    refuse(path_, "its entries overlap: a bomb, or a damaged file");
  }
}

const Entry* Archive::find(std::string_view name) const {
  const auto place = places_.find(name);
  return place == places_.end() ? nullptr : &entries_[place->second];
}

std::string Archive::text_of(const Entry& entry, std::uint64_t most) const {
  if (entry.bytes > most) {
    refuse(path_, fmt::format("{} has {}; at most {} are read", entry.name,
                              core::format_bytes(entry.bytes), core::format_bytes(most)));
  }
  std::string text(entry.bytes, '\0');
  EntryStream stream(*this, entry, EntryForm::plain);
  const auto bytes = std::as_writable_bytes(std::span(text));
  std::byte behind;
  if (stream.fill(bytes) != bytes.size() || stream.read({&behind, 1}) != 0) {
    refuse(path_, fmt::format("{} has not the length that it says", entry.name));
  }
  return text;
}

void Archive::read_stored(const Entry& entry, std::byte* out) const {
  EntryStream stream(*this, entry, EntryForm::stored);
  if (stream.fill({out, entry.stored}) != entry.stored) {
    refuse(path_, fmt::format("{} is cut", entry.name));
  }
}

EntryStream::EntryStream(const Archive& archive, const Entry& entry, EntryForm form)
    : what_(fmt::format("{}: {}", archive.path(), entry.name)),
      file_(zip_fopen_index(archive.handle(), entry.index,
                            form == EntryForm::stored ? ZIP_FL_COMPRESSED : 0)) {
  if (!file_) {
    throw core::Error("{} cannot be read: {}", what_, zip_strerror(archive.handle()));
  }
}

std::size_t EntryStream::read(std::span<std::byte> bytes) {
  const zip_int64_t got = zip_fread(file_.get(), bytes.data(), bytes.size());
  if (got >= 0) return static_cast<std::size_t>(got);
  throw core::Error("{} is damaged: {}", what_, zip_file_strerror(file_.get()));
}

std::size_t EntryStream::fill(std::span<std::byte> bytes) {
  std::size_t have = 0, got = 0;
  while (have < bytes.size() && (got = read(bytes.subspan(have))) > 0) have += got;
  return have;
}

std::uint32_t crc32(std::span<const std::byte> bytes) {
  return libdeflate_crc32(0, bytes.data(), bytes.size());
}

Deflater::Deflater()
    : compressor_(libdeflate_alloc_compressor(kLevel)),
      decompressor_(libdeflate_alloc_decompressor()) {
  if (!compressor_ || !decompressor_) throw std::bad_alloc();
}

std::size_t Deflater::most(std::size_t bytes) {
  return libdeflate_deflate_compress_bound(nullptr, bytes);
}

std::size_t Deflater::deflate(std::span<const std::byte> in, std::span<std::byte> out) {
  return libdeflate_deflate_compress(compressor_.get(), in.data(), in.size(), out.data(),
                                     out.size());
}

bool Deflater::inflate(std::span<const std::byte> in, std::span<std::byte> out) {
  std::size_t read = 0, written = 0;
  // The library wants a place to write to even for no bytes.
  std::byte none;
  const libdeflate_result result = libdeflate_deflate_decompress_ex(
      decompressor_.get(), in.data(), in.size(), out.empty() ? &none : out.data(), out.size(),
      &read, &written);
  return result == LIBDEFLATE_SUCCESS && read == in.size() && written == out.size();
}

InflatedSum::InflatedSum(std::uint64_t most) : most_(most), out_(std::size_t{1} << 16) {
  if (inflateInit2(&stream_, kRawWindow) != Z_OK) throw std::bad_alloc();
}

InflatedSum::~InflatedSum() { inflateEnd(&stream_); }

// piece: at most 4 GiB.
bool InflatedSum::put(std::span<const std::byte> piece) {
  stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(piece.data()));
  stream_.avail_in = static_cast<uInt>(piece.size());
  do {
    if (ended_) return stream_.avail_in == 0;
    stream_.next_out = out_.data();
    stream_.avail_out = static_cast<uInt>(out_.size());
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) return false;
    ended_ = result == Z_STREAM_END;
    const std::size_t made = out_.size() - stream_.avail_out;
    crc_ = libdeflate_crc32(crc_, out_.data(), made);
    bytes_ += made;
    if (bytes_ > most_) return false;
  } while (stream_.avail_in > 0 || stream_.avail_out == 0);
  return true;
}

}  // namespace tabane::epub
