#include "tabane/tools/epub/encrypting.h"

#include <fmt/format.h>

#include <algorithm>

#include "tabane/core/error.h"
#include "tabane/crypto/random.h"
#include "tabane/tools/epub/sliced_content.h"

namespace tabane::epub {
namespace {

void require_good(bool good, const std::string& book, const Entry& entry) {
  if (good) return;
  throw core::Error(fmt::format(
      "{}: {} is damaged: it has not the length and the checksum that it says", book, entry.name));
}

}  // namespace

Encrypting way_of(const Package& package, const Entry& entry) {
  const bool media = is_compressed_media(package, entry.name);
  if (entry.deflated) return media ? Encrypting::inflated : Encrypting::as_stored;
  // A stream of unknown length costs the archive more than deflating gains in the rare case.
  const bool deflates = !media && entry.bytes <= kWholeBytes;
  return deflates ? Encrypting::deflated_now : Encrypting::as_stored;
}

bool is_deflated(const Entry& entry, Encrypting way) {
  return way == Encrypting::deflated_now || (way == Encrypting::as_stored && entry.deflated);
}

void Encrypt::prepare(Piece& piece, Tools& tools) const {
  const Entry& entry = *piece.entry;
  const auto stored = piece.content();
  if (entry.deflated) {
    const auto plain = tools.scratch(entry.bytes);
    require_good(tools.deflater.inflate(stored, plain) && crc32(plain) == entry.crc, path_, entry);
    if (static_cast<Encrypting>(piece.how) == Encrypting::inflated) {
      std::ranges::copy(plain, piece.renew(plain.size()).begin());
    }
    return;
  }
  require_good(stored.size() == entry.bytes && crc32(stored) == entry.crc, path_, entry);
  if (static_cast<Encrypting>(piece.how) != Encrypting::deflated_now) return;
  const auto room = tools.scratch(Deflater::most(stored.size()));
  const std::size_t size = tools.deflater.deflate(stored, room);
  std::ranges::copy(room.first(size), piece.renew(size).begin());
}

// The chains of all pieces run side by side.
void Encrypt::run(std::span<Piece* const> pieces, Tools& tools) const {
  std::vector<crypto::ChainPiece> chains;
  std::vector<crypto::Block> ivs(pieces.size());
  crypto::fill_random(std::as_writable_bytes(std::span(ivs)));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Piece& piece = *pieces[i];
    try {
      prepare(piece, tools);
    } catch (...) {
      piece.problem = std::current_exception();
      continue;
    }
    std::byte* const text = piece.content().data();
    const std::size_t padded = crypto::pad_pkcs7(text, piece.end - piece.begin);
    chains.push_back({text, text, padded, &ivs[i]});
    piece.begin -= crypto::kBlockBytes;
    piece.end = piece.begin + crypto::kBlockBytes + padded;
    std::ranges::copy(ivs[i], piece.content().begin());
    piece.shape.stored = piece.content().size();
  }
  tools.cipher(book_, key_).encrypt(chains);
}

namespace {

class EncryptedStream : public SlicedContent {
 public:
  EncryptedStream(Job& job, const Archive& book, const Entry& entry, Form form, const Key& key)
      : SlicedContent(kSlice + 2 * crypto::kBlockBytes),
        job_(job),
        book_(book),
        entry_(entry),
        form_(form),
        cipher_(key.bytes()) {}

  Shape shape() override {
    check();
    return {.stored = encrypted_bytes(form_ == Form::plain ? entry_.bytes : entry_.stored),
            .deflated = {}};
  }

 private:
  // Stored bytes are encrypted as they are: what they inflate to is read through first. That is
  // half of the work on them.
  void check() {
    if (checked_ || form_ == Form::plain) return;
    EntryStream stored(book_, entry_, form_);
    InflatedSum sum(entry_.bytes);
    bool good = true;
    for (std::size_t got = 0; good && (got = stored.read({slice(), kSlice})) > 0;) {
      job_.go_on();
      good = sum.put({slice(), got});
      job_.bytes_done += got / 2;
    }
    good = good && sum.ended() && sum.bytes() == entry_.bytes && sum.crc() == entry_.crc;
    require_good(good, book_.path(), entry_);
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
    std::size_t size = 0, got = 0;
    while (size < kSlice && (got = stream_->read({text + size, kSlice - size})) > 0) size += got;
    ended_ = size < kSlice;
    job_.bytes_done += form_ == Form::plain ? size : size / 2;
    if (ended_) size = crypto::pad_pkcs7(text, size);
    const crypto::ChainPiece piece{text, text, size, &iv_};
    cipher_.encrypt({&piece, 1});
    return static_cast<std::size_t>(text - slice()) + size;
  }

  Job& job_;
  const Archive& book_;
  const Entry& entry_;
  const Form form_;
  crypto::CbcCipher cipher_;
  std::optional<EntryStream> stream_;
  crypto::Block iv_{};
  bool checked_ = false, ended_ = false;
};

}  // namespace

std::unique_ptr<Content> encrypted_stream(Job& job, const Archive& book, const Entry& entry,
                                          Encrypting way, const Key& key) {
  // What is stored as it is, libzip checks while it is read as a plain one.
  const bool raw = way == Encrypting::as_stored && entry.deflated;
  return std::make_unique<EncryptedStream>(job, book, entry, raw ? Form::stored : Form::plain, key);
}

}  // namespace tabane::epub
