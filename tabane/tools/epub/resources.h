// The resources of a book in both directions: encrypted with a content key, and decrypted again.
// Small ones are pieces in memory, large ones streams.
#pragma once

#include <memory>

#include "tabane/tools/epub/package.h"
#include "tabane/tools/epub/pipeline.h"

namespace tabane::epub {

// Returns how a resource is to be encrypted. Deflated ones are not deflated again: a ZIP file holds
// just the raw stream that XML Encryption wants.
EncryptedResource encryption_for(const Package& package, const Entry& entry);

void encrypt_pieces(const KeyedBook& book, std::span<Piece* const> pieces, WorkerTools& tools);
void decrypt_pieces(const KeyedBook& book, std::span<Piece* const> pieces, WorkerTools& tools);

// Return the content of a resource that is too large for memory; one that is encrypted is deflated
// already, or is not to be.
std::unique_ptr<Content> encrypted_stream(BooksJob& job, const KeyedBook& book, const Entry& entry,
                                          const EncryptedResource& how);
std::unique_ptr<Content> decrypted_stream(BooksJob& job, const KeyedBook& book, const Entry& entry,
                                          const EncryptedResource& how);

struct Conversion {
  Transform transform = nullptr;
  decltype(&encrypted_stream) stream = nullptr;
  bool restores = false;  // the resources, deflated as they were
};
inline constexpr Conversion kEncrypting{encrypt_pieces, encrypted_stream, false};
inline constexpr Conversion kDecrypting{decrypt_pieces, decrypted_stream, true};

}  // namespace tabane::epub
