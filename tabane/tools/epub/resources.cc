#include <algorithm>
#include <cstring>

#include "tabane/core/error.h"
#include "tabane/crypto/secret.h"
#include "tabane/tools/epub/pipeline.h"

namespace tabane::epub {
namespace {

using crypto::kBlockBytes;

[[noreturn]] void refuse(const Archive& book, const Entry& entry, const char* why) {
  throw core::Error("{}: {} is damaged: {}", book.path(), entry.name, why);
}

void require_good(bool good, const Archive& book, const Entry& entry) {
  if (!good) refuse(book, entry, "it has not the length and the checksum that it says");
}

// Checks the stored bytes, and makes them what is to be encrypted.
void prepare(const Archive& book, Piece& piece, WorkerTools& tools) {
  const Entry& entry = *piece.entry;
  const auto stored = piece.content();
  if (entry.deflated) {
    const auto plain = tools.scratch(entry.bytes);
    require_good(tools.deflater.inflate(stored, plain) && crc32(plain) == entry.crc, book, entry);
    if (!piece.how->deflated) std::ranges::copy(plain, piece.renew(plain.size()).begin());
    return;
  }
  require_good(stored.size() == entry.bytes && crc32(stored) == entry.crc, book, entry);
  if (!piece.how->deflated) return;
  const auto room = tools.scratch(Deflater::most(stored.size()));
  const std::size_t size = tools.deflater.deflate(stored, room);
  std::ranges::copy(room.first(size), piece.renew(size).begin());
}

// Calls work(piece) for each. Returns whether it has thrown nothing, else the piece has a problem.
template <class Work>
bool succeeds(Piece& piece, const Work& work) {
  try {
    work(piece);
    return true;
  } catch (...) {
    piece.problem = std::current_exception();
    return false;
  }
}

// Content that is made slice by slice, because the resource is too large for memory.
class ResourceStream : public Content {
 public:
  std::size_t read(std::span<std::byte> bytes) final {
    if (at_ == filled_) {
      at_ = filled_ = 0;  // also where fill() throws
      filled_ = fill();
    }
    const std::size_t count = std::min(bytes.size(), filled_ - at_);
    std::memcpy(bytes.data(), slice() + at_, count);
    at_ += count;
    return count;
  }

 protected:
  static constexpr std::size_t kSlice = std::size_t{1} << 20;

  ResourceStream(BooksJob& job, const KeyedBook& book, const Entry& entry)
      : job_(job), book_(book.archive), entry_(entry), cipher_(book.key.bytes()) {
    slice_.reserve(kSlice + 2 * kBlockBytes);
  }

  // Puts the next bytes at the beginning of slice(); returns how many, 0 at the end.
  virtual std::size_t fill() = 0;
  std::byte* slice() { return slice_.data(); }

  BooksJob& job_;
  const Archive& book_;
  const Entry& entry_;
  crypto::CbcCipher cipher_;
  std::optional<EntryStream> stream_;
  crypto::Block iv_{};

 private:
  crypto::PageBuffer slice_;
  std::size_t at_ = 0, filled_ = 0;
};

class EncryptedStream : public ResourceStream {
 public:
  EncryptedStream(BooksJob& job, const KeyedBook& book, const Entry& entry, EntryForm form)
      : ResourceStream(job, book, entry), form_(form) {}

  Shape shape() override {
    check();
    return {.stored = encrypted_bytes(form_ == EntryForm::plain ? entry_.bytes : entry_.stored),
            .deflated = {}};
  }

 private:
  // Stored bytes are encrypted as they are, so they are inflated first to check them: half of the
  // work.
  void check() {
    if (checked_ || form_ == EntryForm::plain) return;
    EntryStream stored(book_, entry_, form_);
    InflatedSum sum(entry_.bytes);
    bool good = true;
    for (std::size_t got = 0; good && (got = stored.read({slice(), kSlice})) > 0;) {
      job_.go_on();
      good = sum.put({slice(), got});
      job_.bytes_done += got / 2;
    }
    good = good && sum.ended() && sum.bytes() == entry_.bytes && sum.crc() == entry_.crc;
    require_good(good, book_, entry_);
    checked_ = true;
  }

  std::size_t fill() override {
    if (ended_) return 0;
    job_.go_on();
    std::byte* text = slice();
    if (!stream_) {
      stream_.emplace(book_, entry_, form_);
      crypto::fill_random(iv_);
      text = std::ranges::copy(iv_, text).out;
    }
    std::size_t size = stream_->fill({text, kSlice});
    ended_ = size < kSlice;
    job_.bytes_done += form_ == EntryForm::plain ? size : size / 2;
    if (ended_) size = crypto::pad_pkcs7(text, size);
    const crypto::ChainPiece piece{text, text, size, &iv_};
    cipher_.encrypt({&piece, 1});
    return static_cast<std::size_t>(text - slice()) + size;
  }

  const EntryForm form_;
  bool checked_ = false, ended_ = false;
};

constexpr const char* kNotEncrypted = "it is not whole blocks of AES, or their padding is wrong";
constexpr const char* kNotDeflated =
    "it does not inflate to the length that META-INF/encryption.xml says";
constexpr const char* kOtherLength = "it has not the length that META-INF/encryption.xml says";

// Returns how much a resource may inflate to, also if its length is not known.
std::uint64_t most_bytes(const EncryptedResource& how, std::uint64_t deflated) {
  return how.bytes_known ? how.bytes : std::max(kSmallBytes, deflated * kMostExpansion);
}

// Return the shape of decrypted content that is not deflated, or inflates to `sum`.
Content::Shape plain_shape(const Archive& book, const Entry& entry, const EncryptedResource& how,
                           std::uint64_t stored) {
  if (how.bytes_known && how.bytes != stored) refuse(book, entry, kOtherLength);
  return {.stored = stored, .deflated = {}};
}
Content::Shape deflated_shape(const Archive& book, const Entry& entry, const EncryptedResource& how,
                              std::uint64_t stored, const InflatedSum& sum) {
  if (!sum.ended() || (how.bytes_known && sum.bytes() != how.bytes)) {
    refuse(book, entry, kNotDeflated);
  }
  return {.stored = stored, .deflated = {{.bytes = sum.bytes(), .crc = sum.crc()}}};
}

// Compares a decrypted piece with its description in the list.
Content::Shape checked_shape(const Archive& book, Piece& piece, WorkerTools& tools) {
  const Entry& entry = *piece.entry;
  const EncryptedResource& how = *piece.how;
  const auto content = piece.content();
  if (!how.deflated) return plain_shape(book, entry, how, content.size());
  if (how.bytes_known && how.bytes <= kWholeBytes) {
    const auto plain = tools.scratch(how.bytes);
    if (!tools.deflater.inflate(content, plain)) refuse(book, entry, kNotDeflated);
    return {.stored = content.size(), .deflated = {{.bytes = how.bytes, .crc = crc32(plain)}}};
  }
  InflatedSum sum(most_bytes(how, content.size()));
  if (!sum.put(content)) refuse(book, entry, kNotDeflated);
  return deflated_shape(book, entry, how, content.size(), sum);
}

// Checks the bytes in the archive by its checksum, and their content by inflating.
void decrypt(const KeyedBook& book, Piece& piece, WorkerTools& tools) {
  const Entry& entry = *piece.entry;
  if (entry.deflated) {
    const auto plain = tools.scratch(entry.bytes);
    if (!tools.deflater.inflate(piece.content(), plain)) {
      refuse(book.archive, entry, "it cannot be inflated");
    }
    std::ranges::copy(plain, piece.renew(plain.size()).begin());
  }
  auto content = piece.content();
  if (crc32(content) != entry.crc) refuse(book.archive, entry, "its checksum is wrong");
  if (content.size() < 2 * kBlockBytes || content.size() % kBlockBytes != 0) {
    refuse(book.archive, entry, kNotEncrypted);
  }
  crypto::Block iv;
  std::copy_n(content.begin(), kBlockBytes, iv.begin());
  content = content.subspan(kBlockBytes);
  tools.cipher(book.number, book.key)
      .decrypt({content.data(), content.data(), content.size(), &iv});
  const auto length = without_padding(content);
  if (!length) refuse(book.archive, entry, kNotEncrypted);
  piece.begin += kBlockBytes;
  piece.end = piece.begin + *length;
  piece.shape = checked_shape(book.archive, piece, tools);
}

class DecryptedStream : public ResourceStream {
 public:
  DecryptedStream(BooksJob& job, const KeyedBook& book, const Entry& entry,
                  const EncryptedResource& how)
      : ResourceStream(job, book, entry), how_(how) {
    if (entry.bytes < 2 * kBlockBytes || entry.bytes % kBlockBytes != 0) {
      refuse(book_, entry, kNotEncrypted);
    }
  }

  // Reads everything once, since the archive needs sizes and checksum in advance.
  Shape shape() override {
    if (shape_) return *shape_;
    std::uint64_t stored = 0;
    InflatedSum sum(most_bytes(how_, entry_.bytes));
    begin();
    for (std::size_t got = 0; (got = fill()) > 0; stored += got) {
      if (how_.deflated && !sum.put({slice(), got})) refuse(book_, entry_, kNotDeflated);
    }
    shape_ = how_.deflated ? deflated_shape(book_, entry_, how_, stored, sum)
                           : plain_shape(book_, entry_, how_, stored);
    begin();
    return *shape_;
  }

 private:
  void begin() {
    stream_.emplace(book_, entry_, EntryForm::plain);
    left_ = entry_.bytes - kBlockBytes;
    if (stream_->fill(iv_) != iv_.size()) refuse(book_, entry_, "it is cut");
  }

  std::size_t fill() override {
    job_.go_on();
    if (left_ == 0) return 0;
    const auto text =
        std::span(slice(), static_cast<std::size_t>(std::min<std::uint64_t>(kSlice, left_)));
    if (stream_->fill(text) != text.size()) refuse(book_, entry_, "it is cut");
    cipher_.decrypt({text.data(), text.data(), text.size(), &iv_});
    left_ -= text.size();
    job_.bytes_done += text.size() / 2;  // all is read twice
    if (left_ > 0) return text.size();
    const auto length = without_padding(text);
    if (!length) refuse(book_, entry_, kNotEncrypted);
    return *length;
  }

  const EncryptedResource how_;
  std::optional<Shape> shape_;
  std::uint64_t left_ = 0;
};

}  // namespace

// A stream of unknown length costs the archive more than deflating gains in the rare case.
EncryptedResource encryption_for(const Package& package, const Entry& entry) {
  return {.deflated = !is_compressed_media(package, entry.name) &&
                      (entry.deflated || entry.bytes <= kWholeBytes),
          .bytes = entry.bytes,
          .bytes_known = true};
}

// The chains of all pieces run side by side.
void encrypt_pieces(const KeyedBook& book, std::span<Piece* const> pieces, WorkerTools& tools) {
  std::vector<crypto::ChainPiece> chains;
  std::vector<crypto::Block> ivs(pieces.size());
  crypto::fill_random(std::as_writable_bytes(std::span(ivs)));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Piece& piece = *pieces[i];
    if (!succeeds(piece, [&](Piece& one) { prepare(book.archive, one, tools); })) continue;
    std::byte* const text = piece.content().data();
    const std::size_t padded = crypto::pad_pkcs7(text, piece.end - piece.begin);
    chains.push_back({text, text, padded, &ivs[i]});
    piece.begin -= kBlockBytes;
    piece.end = piece.begin + kBlockBytes + padded;
    std::ranges::copy(ivs[i], piece.content().begin());
    piece.shape.stored = piece.content().size();
  }
  tools.cipher(book.number, book.key).encrypt(chains);
}

// libzip checks an entry that is not deflated while it is read as a plain one.
std::unique_ptr<Content> encrypted_stream(BooksJob& job, const KeyedBook& book, const Entry& entry,
                                          const EncryptedResource& how) {
  return std::make_unique<EncryptedStream>(job, book, entry,
                                           how.deflated ? EntryForm::stored : EntryForm::plain);
}

void decrypt_pieces(const KeyedBook& book, std::span<Piece* const> pieces, WorkerTools& tools) {
  for (Piece* const piece : pieces) {
    succeeds(*piece, [&](Piece& one) { decrypt(book, one, tools); });
  }
}

std::unique_ptr<Content> decrypted_stream(BooksJob& job, const KeyedBook& book, const Entry& entry,
                                          const EncryptedResource& how) {
  return std::make_unique<DecryptedStream>(job, book, entry, how);
}

}  // namespace tabane::epub
