// What a book says of itself: META-INF/container.xml and the package documents (OPF) that it names.
#pragma once

#include <functional>
#include <map>
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

// Whether an entry stays as it is: also all below META-INF/.
bool stays_clear(const Package& package, std::string_view name);

// Whether its media type has a compression of its own, so that deflating it is in vain and would
// keep readers from jumping inside it.
bool is_compressed_media(const Package& package, const std::string& name);

// "a%20b" is "a b"; what is no escape stays.
std::string percent_decoded(std::string_view text);
// Of a path in a book: what is not a letter, a digit or one of -._~/ becomes %HH (RFC 3986).
std::string percent_encoded_path(std::string_view path);

}  // namespace tabane::epub
