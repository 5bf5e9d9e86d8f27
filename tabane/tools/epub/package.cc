#include "tabane/tools/epub/package.h"

#include <fmt/format.h>

#include <array>
#include <sstream>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/tools/epub/xml.h"

namespace tabane::epub {
namespace {

const Entry& require_entry(const Archive& book, const std::string& name, const char* what) {
  if (const Entry* const entry = book.find(name)) return *entry;
  throw core::Error(
      fmt::format("{}: has no {}, {}, so it is no EPUB book", book.path(), name, what));
}

// The entry that a reference in the package document `base` names; empty: none of this book.
std::string resolved(std::string_view base, std::string_view reference) {
  reference = reference.substr(0, reference.find_first_of("#?"));
  if (reference.empty() || reference.find("://") != reference.npos) return {};
  std::vector<std::string> parts;
  const auto walk = [&](std::string_view path) {
    for (std::size_t begin = 0; begin <= path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      const std::string_view part = path.substr(begin, end - begin);
      if (part == ".." && !parts.empty()) parts.pop_back();
      if (!part.empty() && part != "." && part != "..") parts.emplace_back(part);
      begin = end + 1;
    }
  };
  if (const std::size_t folder = base.rfind('/'); folder != base.npos) walk(base.substr(0, folder));
  walk(percent_decoded(reference));
  return fmt::format("{}", fmt::join(parts, "/"));
}

bool has_word(const std::string& words, std::string_view word) {
  std::istringstream stream(words);
  for (std::string each; stream >> each;) {
    if (each == word) return true;
  }
  return false;
}

// EPUB 2 names the cover by its id.
std::string cover_id(const pugi::xml_node& metadata) {
  for (const pugi::xml_node& meta : children(metadata, "meta")) {
    if (attribute(meta, "name") == "cover") return attribute(meta, "content");
  }
  return "cover-image";
}

void add_package_document(const Archive& book, const std::string& name, Package& package) {
  pugi::xml_document document;
  load_xml(book, require_entry(book, name, "the package document"), document);
  const pugi::xml_node root = child(document, "package"), metadata = child(root, "metadata");
  const pugi::xml_node manifest = child(root, "manifest");
  if (!manifest) {
    throw core::Error(
        fmt::format("{}: {} has no manifest, so it is no package document", book.path(), name));
  }
  if (package.title.empty()) package.title = child(metadata, "title").child_value();
  if (package.version.empty()) package.version = attribute(root, "version");
  package.clear.insert(name);
  const std::string cover = cover_id(metadata);
  for (const pugi::xml_node& item : children(manifest, "item")) {
    const std::string path = resolved(name, attribute(item, "href"));
    if (path.empty()) continue;
    const std::string type = attribute(item, "media-type");
    const std::string properties = attribute(item, "properties");
    package.media_types[path] = type;
    if (type == "application/x-dtbncx+xml" || type == "application/oebps-page-map+xml" ||
        has_word(properties, "nav") || has_word(properties, "cover-image") ||
        attribute(item, "id") == cover) {
      package.clear.insert(path);
    }
  }
}

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? digit_value(text[i + 1]) : -1;
    const int low = high >= 0 ? digit_value(text[i + 2]) : -1;
    if (low < 0) {
      decoded += text[i];
    } else {
      decoded += static_cast<char>(high << 4 | low);
      i += 2;
    }
  }
  return decoded;
}

std::string percent_encoded_path(std::string_view path) {
  constexpr std::string_view kPlain = "-._~/";
  std::string encoded;
  for (const char c : path) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       kPlain.find(c) != kPlain.npos;
    encoded += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

Package read_package(const Archive& book) {
  pugi::xml_document container;
  load_xml(book, require_entry(book, kContainerName, "which names its package documents"),
           container);
  Package package;
  const pugi::xml_node files = child(child(container, "container"), "rootfiles");
  for (const pugi::xml_node& file : children(files, "rootfile")) {
    const std::string path = attribute(file, "full-path");
    if (!path.empty() && !package.clear.contains(path)) {
      add_package_document(book, path, package);
    }
  }
  if (package.clear.empty()) {
    throw core::Error(fmt::format("{}: {} names no package document, so it is no EPUB book",
                                  book.path(), kContainerName));
  }
  return package;
}

bool stays_clear(const Package& package, std::string_view name) {
  return name == kMimetypeName || name.starts_with("META-INF/") || package.clear.contains(name);
}

bool is_compressed_media(const Package& package, const std::string& name) {
  const auto found = package.media_types.find(name);
  if (found == package.media_types.end()) return false;
  const std::string& type = found->second;
  if (type.starts_with("image/svg")) return false;  // text
  return type.starts_with("image/") || type.starts_with("audio/") || type.starts_with("video/") ||
         type == "application/pdf";
}

}  // namespace tabane::epub
