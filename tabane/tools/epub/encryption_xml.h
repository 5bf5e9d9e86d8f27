// META-INF/encryption.xml: which resources are encrypted, and how.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tabane/tools/epub/archive.h"

namespace tabane::epub {

struct Encrypted {
  bool deflated = false;        // before it was encrypted
  std::uint64_t bytes = 0;      // of the resource itself
  bool bytes_are_told = false;  // some programs do not say it
};

class EncryptionXml {
 public:
  EncryptionXml();  // of nothing
  // Of a book; of nothing if it has none. throws: core::Error naming the book.
  explicit EncryptionXml(const Archive& book);
  ~EncryptionXml();
  EncryptionXml(const EncryptionXml&) = delete;
  EncryptionXml& operator=(const EncryptionXml&) = delete;

  // What the licence's content key has encrypted, by name.
  const std::map<std::string, Encrypted, std::less<>>& by_licence() const { return by_licence_; }
  // What is only obfuscated, as fonts are: by name, with the algorithm.
  const std::map<std::string, std::string, std::less<>>& obfuscated() const { return obfuscated_; }
  // A resource that something else has encrypted, and the algorithm; null: there is none.
  const std::optional<std::pair<std::string, std::string>>& foreign() const { return foreign_; }

  void add(const std::string& name, const Encrypted& how);
  // Leaves only what is obfuscated.
  void remove_by_licence();
  bool empty() const { return by_licence_.empty() && obfuscated_.empty() && !foreign_; }
  std::string text() const;

 private:
  struct Document;
  void read();

  std::unique_ptr<Document> document_;
  std::map<std::string, Encrypted, std::less<>> by_licence_;
  std::map<std::string, std::string, std::less<>> obfuscated_;
  std::optional<std::pair<std::string, std::string>> foreign_;
};

}  // namespace tabane::epub
