// Resources of a book on their way under a content key.
#pragma once

#include <memory>

#include "tabane/tools/epub/package.h"
#include "tabane/tools/epub/pipeline.h"

namespace tabane::epub {

// How a resource is encrypted. What is deflated already is not deflated again: a ZIP file holds
// just the raw stream that XML Encryption wants.
enum class Encrypting { as_stored, deflated_now, inflated };

Encrypting way_of(const Package& package, const Entry& entry);

// Whether the encrypted bytes are deflated ones.
bool is_deflated(const Entry& entry, Encrypting way);

class Encrypt : public Transform {
 public:
  Encrypt(std::uint64_t book, std::string path, const Key& key)
      : book_(book), path_(std::move(path)), key_(key) {}
  // A piece's `how` is its Encrypting.
  void run(std::span<Piece* const> pieces, Tools& tools) const override;

 private:
  void prepare(Piece& piece, Tools& tools) const;

  const std::uint64_t book_;
  const std::string path_;
  const Key& key_;
};

// A resource that is too large for memory. It is never deflated_now.
std::unique_ptr<Content> encrypted_stream(Job& job, const Archive& book, const Entry& entry,
                                          Encrypting way, const Key& key);

}  // namespace tabane::epub
