// Resources of a protected book on their way back.
#pragma once

#include <memory>

#include "tabane/tools/epub/encryption_xml.h"
#include "tabane/tools/epub/pipeline.h"

namespace tabane::epub {

// Pieces are deflated again as they were: their `how` is 1 if they were, else 0.
class Decrypt : public Transform {
 public:
  Decrypt(std::uint64_t book, std::string path, const EncryptionXml& encryption, const Key& key)
      : book_(book), path_(std::move(path)), encryption_(encryption), key_(key) {}
  void run(std::span<Piece* const> pieces, Tools& tools) const override;

 private:
  void decrypt(Piece& piece, Tools& tools) const;
  void check_decrypted(Piece& piece, Tools& tools) const;

  const std::uint64_t book_;
  const std::string path_;
  const EncryptionXml& encryption_;
  const Key& key_;
};

// A resource that is too large for memory.
std::unique_ptr<Content> decrypted_stream(Job& job, const Archive& book, const Entry& entry,
                                          const Encrypted& how, const Key& key);

}  // namespace tabane::epub
