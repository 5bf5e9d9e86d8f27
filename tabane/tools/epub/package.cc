#include "tabane/tools/epub/package.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <ranges>
#include <sstream>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/program/layout.h"
#include "tabane/tools/epub/cryptography.h"

namespace tabane::epub {
namespace {

constexpr std::uint64_t kMostXmlBytes = std::uint64_t{64} << 20;

// pugixml removes a node by a recursion into its children.
struct Shallow : pugi::xml_tree_walker {
  static constexpr int kMostDepth = 1000;
  bool for_each(pugi::xml_node&) override { return depth() < kMostDepth; }
};

// ---- XML by names without their prefixes, in which books differ ----

// Reads an entry into a document. throws: core::Error naming book and entry if it is no good XML,
// or nested deeper than the stack may be.
void load_xml(const Archive& book, const Entry& entry, pugi::xml_document& document) {
  const std::string text = book.text_of(entry, kMostXmlBytes);
  const pugi::xml_parse_result result =
      document.load_buffer(text.data(), text.size(), pugi::parse_default | pugi::parse_declaration);
  if (!result) {
    throw core::Error("{}: {} is no good XML: {} at byte {}", book.path(), entry.name,
                      result.description(), result.offset);
  }
  Shallow shallow;
  if (document.traverse(shallow)) return;
  throw core::Error("{}: {} is nested more than {} deep", book.path(), entry.name,
                    Shallow::kMostDepth);
}

std::string_view local_name(std::string_view name) {
  return name.substr(name.find(':') + 1);  // npos + 1 is 0
}

bool is_named(const pugi::xml_node& node, std::string_view name) {
  return local_name(node.name()) == name;
}

// Returns the children of a node that have a name.
std::vector<pugi::xml_node> children(const pugi::xml_node& node, std::string_view name) {
  std::vector<pugi::xml_node> found;
  for (const pugi::xml_node& child : node.children()) {
    if (is_named(child, name)) found.push_back(child);
  }
  return found;
}

// Returns the first such child, or a null node, which has no children and no text.
pugi::xml_node child(const pugi::xml_node& node, std::string_view name) {
  const auto all = children(node, name);
  return all.empty() ? pugi::xml_node() : all.front();
}

// Returns the text of an attribute without a namespace.
std::string attribute(const pugi::xml_node& node, const char* name) {
  return node.attribute(name).value();
}

// ---- package documents ----

const Entry& require_entry(const Archive& book, const std::string& name, const char* what) {
  if (const Entry* const entry = book.find(name)) return *entry;
  throw core::Error("{}: has no {}, {}, so it is no EPUB book", book.path(), name, what);
}

// Returns the entry that a reference in the package document `base` names; empty: none of this
// book.
std::string resolved(std::string_view base, std::string_view reference) {
  reference = reference.substr(0, reference.find_first_of("#?"));
  if (reference.empty() || reference.find("://") != reference.npos) return {};
  std::vector<std::string> parts;
  const auto walk = [&](std::string_view path) {
    for (const auto& each : std::views::split(path, '/')) {
      const std::string_view part(each.begin(), each.end());
      if (part == ".." && !parts.empty()) parts.pop_back();
      if (!part.empty() && part != "." && part != "..") parts.emplace_back(part);
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

// Returns the id of the cover, as EPUB 2 names it.
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
    throw core::Error("{}: {} has no manifest, so it is no package document", book.path(), name);
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

constexpr const char* kKeyType = "http://readium.org/2014/01/lcp#EncryptedContentKey";
constexpr const char* kKeyUri = "license.lcpl#/encryption/content_key";

bool is_obfuscation(const std::string& algorithm) {
  return algorithm == "http://www.idpf.org/2008/embedding" ||
         algorithm == "http://ns.adobe.com/pdf/enc#RC";
}

bool is_by_licence(const pugi::xml_node& data) {
  return attribute(child(child(data, "KeyInfo"), "RetrievalMethod"), "Type") == kKeyType;
}

EncryptedResource how_of(const pugi::xml_node& data) {
  EncryptedResource how;
  for (const pugi::xml_node& property :
       children(child(data, "EncryptionProperties"), "EncryptionProperty")) {
    const pugi::xml_node compression = child(property, "Compression");
    if (!compression) continue;
    how.deflated = attribute(compression, "Method") == "8";
    const std::string length = attribute(compression, "OriginalLength");
    how.bytes = compression.attribute("OriginalLength").as_ullong();
    how.bytes_known = !length.empty();
  }
  return how;
}

pugi::xml_node add_with(pugi::xml_node parent, const char* name, const char* attribute_name,
                        const char* value) {
  pugi::xml_node node = parent.append_child(name);
  node.append_attribute(attribute_name).set_value(value);
  return node;
}

}  // namespace

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  while (!text.empty()) {
    const std::string_view digits = text.substr(1, 2);
    const char* const end = digits.data() + digits.size();
    unsigned char byte = 0;
    const bool is_escape = text[0] == '%' && digits.size() == 2 &&
                           std::from_chars(digits.data(), end, byte, 16).ptr == end;
    decoded += is_escape ? static_cast<char>(byte) : text[0];
    text.remove_prefix(is_escape ? 3 : 1);
  }
  return decoded;
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
    throw core::Error("{}: {} names no package document, so it is no EPUB book", book.path(),
                      kContainerName);
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

EncryptionXml::EncryptionXml() {
  pugi::xml_node declaration = document_.append_child(pugi::node_declaration);
  declaration.append_attribute("version").set_value("1.0");
  declaration.append_attribute("encoding").set_value("UTF-8");
  root_ =
      add_with(document_, "encryption", "xmlns", "urn:oasis:names:tc:opendocument:xmlns:container");
}

EncryptionXml::EncryptionXml(const Archive& book) : EncryptionXml() {
  const Entry* const entry = book.find(kEncryptionName);
  if (entry == nullptr) return;
  load_xml(book, *entry, document_);
  root_ = child(document_, "encryption");
  if (!root_) {
    throw core::Error("{}: {} is no list of encrypted resources", book.path(), kEncryptionName);
  }
  // text() is UTF-8 whatever the encoding of the book's list.
  const pugi::xml_node first = document_.first_child();
  if (first.type() == pugi::node_declaration) first.attribute("encoding").set_value("UTF-8");
  read();
}

void EncryptionXml::read() {
  for (const pugi::xml_node& data : children(root_, "EncryptedData")) {
    const std::string name =
        percent_decoded(attribute(child(child(data, "CipherData"), "CipherReference"), "URI"));
    const std::string algorithm = attribute(child(data, "EncryptionMethod"), "Algorithm");
    const bool by_licence = is_by_licence(data);
    if (by_licence && algorithm == kAes256Cbc) {
      by_licence_[name] = how_of(data);
    } else if (!by_licence && is_obfuscation(algorithm)) {
      obfuscated_[name] = algorithm;
    } else if (!foreign_) {
      foreign_ = {name, algorithm.empty() ? "an algorithm without a name" : algorithm};
    }
  }
}

void EncryptionXml::add(const std::string& name, const EncryptedResource& how) {
  by_licence_[name] = how;
  pugi::xml_node data =
      add_with(root_, "enc:EncryptedData", "xmlns:enc", "http://www.w3.org/2001/04/xmlenc#");
  add_with(data, "enc:EncryptionMethod", "Algorithm", kAes256Cbc);
  pugi::xml_node key =
      add_with(data, "ds:KeyInfo", "xmlns:ds", "http://www.w3.org/2000/09/xmldsig#");
  add_with(key, "ds:RetrievalMethod", "URI", kKeyUri).append_attribute("Type").set_value(kKeyType);
  add_with(data.append_child("enc:CipherData"), "enc:CipherReference", "URI",
           program::percent_encoded(name).c_str());
  pugi::xml_node compression =
      add_with(data.append_child("enc:EncryptionProperties").append_child("enc:EncryptionProperty"),
               "ns:Compression", "xmlns:ns", "http://www.idpf.org/2016/encryption#compression");
  compression.append_attribute("Method").set_value(how.deflated ? 8 : 0);
  compression.append_attribute("OriginalLength")
      .set_value(static_cast<unsigned long long>(how.bytes));
}

void EncryptionXml::remove_by_licence() {
  for (const pugi::xml_node& data : children(root_, "EncryptedData")) {
    if (is_by_licence(data)) root_.remove_child(data);
  }
  by_licence_.clear();
}

std::string EncryptionXml::text() const {
  std::ostringstream stream;
  document_.save(stream, "  ");
  return stream.str();
}

}  // namespace tabane::epub
