#include "tabane/tools/epub/decrypting.h"

#include <fmt/format.h>

#include <algorithm>

#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/tools/epub/sliced_content.h"

namespace tabane::epub {
namespace {

using crypto::kBlockBytes;

[[noreturn]] void refuse(const std::string& book, const Entry& entry, const char* why) {
  throw core::Error(fmt::format("{}: {} is damaged: {}", book, entry.name, why));
}

constexpr const char* kNotEncrypted = "it is not whole blocks of AES, or their padding is wrong";
constexpr const char* kNotDeflated =
    "it does not inflate to the length that META-INF/encryption.xml says";
constexpr const char* kOtherLength = "it has not the length that META-INF/encryption.xml says";

// What a resource whose length is not told may inflate to.
std::uint64_t most_bytes(const Encrypted& how, std::uint64_t deflated) {
  return how.bytes_are_told ? how.bytes : std::max(kSmallBytes, deflated * kMostExpansion);
}

}  // namespace

// The bytes in the archive are checked by its own checksum, what is in them by inflating.
void Decrypt::decrypt(Piece& piece, Tools& tools) const {
  const Entry& entry = *piece.entry;
  if (entry.deflated) {
    const auto plain = tools.scratch(entry.bytes);
    if (!tools.deflater.inflate(piece.content(), plain)) {
      refuse(path_, entry, "it cannot be inflated");
    }
    std::ranges::copy(plain, piece.renew(plain.size()).begin());
  }
  auto content = piece.content();
  if (crc32(content) != entry.crc) refuse(path_, entry, "its checksum is wrong");
  if (content.size() < 2 * kBlockBytes || content.size() % kBlockBytes != 0) {
    refuse(path_, entry, kNotEncrypted);
  }
  crypto::Block iv;
  std::copy_n(content.begin(), kBlockBytes, iv.begin());
  content = content.subspan(kBlockBytes);
  tools.cipher(book_, key_).decrypt({content.data(), content.data(), content.size(), &iv});
  const auto length = without_padding(content);
  if (!length) refuse(path_, entry, kNotEncrypted);
  piece.begin += kBlockBytes;
  piece.end = piece.begin + *length;
  piece.shape.stored = *length;
  check_decrypted(piece, tools);
}

// Compares a decrypted piece with what the list says of it.
void Decrypt::check_decrypted(Piece& piece, Tools& tools) const {
  const Entry& entry = *piece.entry;
  const Encrypted& how = encryption_.by_licence().at(entry.name);
  const auto content = piece.content();
  if (!how.deflated) {
    if (how.bytes_are_told && how.bytes != content.size()) refuse(path_, entry, kOtherLength);
    return;
  }
  if (how.bytes_are_told && how.bytes <= kWholeBytes) {
    const auto plain = tools.scratch(how.bytes);
    if (!tools.deflater.inflate(content, plain)) refuse(path_, entry, kNotDeflated);
    piece.shape.deflated = {.bytes = how.bytes, .crc = crc32(plain)};
    return;
  }
  InflatedSum sum(most_bytes(how, content.size()));
  if (!sum.put(content) || !sum.ended() || (how.bytes_are_told && sum.bytes() != how.bytes)) {
    refuse(path_, entry, kNotDeflated);
  }
  piece.shape.deflated = {.bytes = sum.bytes(), .crc = sum.crc()};
}

void Decrypt::run(std::span<Piece* const> pieces, Tools& tools) const {
  for (Piece* const piece : pieces) {
    try {
      decrypt(*piece, tools);
    } catch (...) {
      piece->problem = std::current_exception();
    }
  }
}

namespace {

class DecryptedStream : public SlicedContent {
 public:
  DecryptedStream(Job& job, const Archive& book, const Entry& entry, const Encrypted& how,
                  const Key& key)
      : SlicedContent(kSlice),
        job_(job),
        book_(book),
        entry_(entry),
        how_(how),
        cipher_(key.bytes()) {
    if (entry.bytes < 2 * kBlockBytes || entry.bytes % kBlockBytes != 0) {
      refuse(book.path(), entry, kNotEncrypted);
    }
  }

  // Reads all once: the archive wants to know what it gets.
  Shape shape() override {
    if (shape_) return *shape_;
    Shape shape{.stored = 0, .deflated = {}};
    InflatedSum sum(most_bytes(how_, entry_.bytes));
    begin();
    for (std::size_t got = 0; (got = fill()) > 0; *shape.stored += got) {
      if (how_.deflated && !sum.put({slice(), got})) {
        refuse(book_.path(), entry_, kNotDeflated);
      }
    }
    if (how_.deflated) {
      if (!sum.ended() || (how_.bytes_are_told && sum.bytes() != how_.bytes)) {
        refuse(book_.path(), entry_, kNotDeflated);
      }
      shape.deflated = {.bytes = sum.bytes(), .crc = sum.crc()};
    } else if (how_.bytes_are_told && how_.bytes != *shape.stored) {
      refuse(book_.path(), entry_, kOtherLength);
    }
    shape_ = shape;
    begin();
    return shape;
  }

 private:
  void begin() {
    stream_.emplace(book_, entry_, Form::plain);
    left_ = entry_.bytes - kBlockBytes;
    if (read_some({iv_.data(), iv_.size()}) != iv_.size())
      refuse(book_.path(), entry_, "it is cut");
  }

  std::size_t read_some(std::span<std::byte> bytes) {
    std::size_t size = 0, got = 0;
    while (size < bytes.size() && (got = stream_->read(bytes.subspan(size))) > 0) size += got;
    return size;
  }

  std::size_t fill() override {
    job_.go_on();
    if (left_ == 0) return 0;
    const auto text =
        std::span(slice(), static_cast<std::size_t>(std::min<std::uint64_t>(kSlice, left_)));
    if (read_some(text) != text.size()) refuse(book_.path(), entry_, "it is cut");
    cipher_.decrypt({text.data(), text.data(), text.size(), &iv_});
    left_ -= text.size();
    job_.bytes_done += text.size() / 2;  // all is read twice
    if (left_ > 0) return text.size();
    const auto length = without_padding(text);
    if (!length) refuse(book_.path(), entry_, kNotEncrypted);
    return *length;
  }

  Job& job_;
  const Archive& book_;
  const Entry& entry_;
  const Encrypted how_;
  crypto::CbcCipher cipher_;
  std::optional<EntryStream> stream_;
  std::optional<Shape> shape_;
  crypto::Block iv_{};
  std::uint64_t left_ = 0;
};

}  // namespace

std::unique_ptr<Content> decrypted_stream(Job& job, const Archive& book, const Entry& entry,
                                          const Encrypted& how, const Key& key) {
  return std::make_unique<DecryptedStream>(job, book, entry, how, key);
}

}  // namespace tabane::epub
