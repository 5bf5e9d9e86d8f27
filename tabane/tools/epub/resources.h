// The resources of a book: encrypted with a content key, and decrypted again. Small ones are pieces
// in memory, large ones streams.
#pragma once

#include <memory>

#include "tabane/tools/epub/package.h"
#include "tabane/tools/epub/pipeline.h"

namespace tabane::epub {

// Which bytes of a resource are encrypted. Deflated ones are not deflated again: a ZIP file holds
// just the raw stream that XML Encryption wants.
enum class EncryptedForm { as_stored, deflated_now, inflated };

EncryptedForm form_of(const Package& package, const Entry& entry);

// Whether the encrypted bytes are deflated ones.
bool is_deflated(const Entry& entry, EncryptedForm form);

class Encrypt : public Transform {
 public:
  Encrypt(std::uint64_t book, std::string path, const Key& key)
      : book_(book), path_(std::move(path)), key_(key) {}
  // The `how` of a piece is its EncryptedForm.
  void run(std::span<Piece* const> pieces, WorkerTools& tools) const override;

 private:
  void prepare(Piece& piece, WorkerTools& tools) const;

  const std::uint64_t book_;
  const std::string path_;
  const Key& key_;
};

// Returns the content of a resource that is too large for memory. form: not deflated_now.
std::unique_ptr<Content> encrypted_stream(BooksJob& job, const Archive& book, const Entry& entry,
                                          EncryptedForm form, const Key& key);

class Decrypt : public Transform {
 public:
  Decrypt(std::uint64_t book, std::string path, const EncryptionXml& encryption, const Key& key)
      : book_(book), path_(std::move(path)), encryption_(encryption), key_(key) {}
  void run(std::span<Piece* const> pieces, WorkerTools& tools) const override;

 private:
  void decrypt(Piece& piece, WorkerTools& tools) const;
  void check_decrypted(Piece& piece, WorkerTools& tools) const;

  const std::uint64_t book_;
  const std::string path_;
  const EncryptionXml& encryption_;
  const Key& key_;
};

// Returns the content of a resource that is too large for memory.
std::unique_ptr<Content> decrypted_stream(BooksJob& job, const Archive& book, const Entry& entry,
                                          const EncryptedResource& how, const Key& key);

}  // namespace tabane::epub
