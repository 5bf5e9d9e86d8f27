// The descriptions inside a book: META-INF/container.xml, the package documents (OPF) that it
// names, and META-INF/encryption.xml.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <pugixml.hpp>
#include <set>
#include <string>
#include <string_view>

#include "tabane/tools/epub/archive.h"

namespace tabane::epub {

inline constexpr const char* kMimetypeName = "mimetype";
inline constexpr std::string_view kMimetype = "application/epub+zip";
inline constexpr const char* kContainerName = "META-INF/container.xml";
inline constexpr const char* kEncryptionName = "META-INF/encryption.xml";
inline constexpr const char* kLicenceName = "META-INF/license.lcpl";

struct Package {
  std::string title;
  std::string version;                             // of EPUB: "3.0"
  std::map<std::string, std::string> media_types;  // of the resources that it names
  // What a reader needs before it has a key: package documents, navigation, cover.
  std::set<std::string, std::less<>> clear;
};

// throws: core::Error naming the book and what is missing or cannot be read.
Package read_package(const Archive& book);

// Whether an entry stays unencrypted, as do all below META-INF/.
bool stays_clear(const Package& package, std::string_view name);

// Whether the media type has a compression of its own: deflating it again would gain nothing and
// keep readers from jumping inside it.
bool is_compressed_media(const Package& package, const std::string& name);

// Decodes "a%20b" to "a b"; leaves what is no escape.
std::string percent_decoded(std::string_view text);

// How a resource is encrypted.
struct EncryptedResource {
  bool deflated = false;     // before it was encrypted
  std::uint64_t bytes = 0;   // of the resource itself
  bool bytes_known = false;  // some programs do not write them
};

// META-INF/encryption.xml: which resources are encrypted, and how.
class EncryptionXml {
 public:
  EncryptionXml();  // lists nothing
  // Reads that of a book; lists nothing if it has none. throws: core::Error naming the book.
  explicit EncryptionXml(const Archive& book);

  // Resources that the licence's content key has encrypted, by name.
  const std::map<std::string, EncryptedResource, std::less<>>& by_licence() const {
    return by_licence_;
  }
  // Resources that are only obfuscated, as fonts are: by name, with the algorithm.
  const std::map<std::string, std::string, std::less<>>& obfuscated() const { return obfuscated_; }
  // A resource that something else has encrypted, and the algorithm; null: there is none.
  const std::optional<std::pair<std::string, std::string>>& foreign() const { return foreign_; }

  void add(const std::string& name, const EncryptedResource& how);
  // Leaves only the obfuscated ones.
  void remove_by_licence();
  bool empty() const { return by_licence_.empty() && obfuscated_.empty() && !foreign_; }
  std::string text() const;

 private:
  void read();

  pugi::xml_document document_;
  pugi::xml_node root_;
  std::map<std::string, EncryptedResource, std::less<>> by_licence_;
  std::map<std::string, std::string, std::less<>> obfuscated_;
  std::optional<std::pair<std::string, std::string>> foreign_;
};

}  // namespace tabane::epub
