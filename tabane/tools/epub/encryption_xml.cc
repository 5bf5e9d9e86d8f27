#include "tabane/tools/epub/encryption_xml.h"

#include <fmt/format.h>

#include <sstream>

#include "tabane/core/error.h"
#include "tabane/tools/epub/package.h"
#include "tabane/tools/epub/xml.h"
#include "tabane/tools/epub/xml_encryption.h"

namespace tabane::epub {
namespace {

constexpr const char* kKeyType = "http://readium.org/2014/01/lcp#EncryptedContentKey";
constexpr const char* kKeyUri = "license.lcpl#/encryption/content_key";

bool is_obfuscation(const std::string& algorithm) {
  return algorithm == "http://www.idpf.org/2008/embedding" ||
         algorithm == "http://ns.adobe.com/pdf/enc#RC";
}

bool is_by_licence(const pugi::xml_node& data) {
  return attribute(child(child(data, "KeyInfo"), "RetrievalMethod"), "Type") == kKeyType;
}

Encrypted how_of(const pugi::xml_node& data) {
  Encrypted how;
  for (const pugi::xml_node& property :
       children(child(data, "EncryptionProperties"), "EncryptionProperty")) {
    const pugi::xml_node compression = child(property, "Compression");
    if (!compression) continue;
    how.deflated = attribute(compression, "Method") == "8";
    const std::string length = attribute(compression, "OriginalLength");
    how.bytes = compression.attribute("OriginalLength").as_ullong();
    how.bytes_are_told = !length.empty();
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

struct EncryptionXml::Document {
  pugi::xml_document xml;
  pugi::xml_node root;
};

EncryptionXml::EncryptionXml() : document_(std::make_unique<Document>()) {
  pugi::xml_node declaration = document_->xml.append_child(pugi::node_declaration);
  declaration.append_attribute("version").set_value("1.0");
  declaration.append_attribute("encoding").set_value("UTF-8");
  document_->root = add_with(document_->xml, "encryption", "xmlns",
                             "urn:oasis:names:tc:opendocument:xmlns:container");
}

EncryptionXml::EncryptionXml(const Archive& book) : EncryptionXml() {
  const Entry* const entry = book.find(kEncryptionName);
  if (entry == nullptr) return;
  load_xml(book, *entry, document_->xml);
  document_->root = child(document_->xml, "encryption");
  if (!document_->root) {
    throw core::Error(
        fmt::format("{}: {} is no list of encrypted resources", book.path(), kEncryptionName));
  }
  // text() is UTF-8 whatever the book's list is written in.
  const pugi::xml_node first = document_->xml.first_child();
  if (first.type() == pugi::node_declaration) first.attribute("encoding").set_value("UTF-8");
  read();
}

EncryptionXml::~EncryptionXml() = default;

void EncryptionXml::read() {
  for (const pugi::xml_node& data : children(document_->root, "EncryptedData")) {
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

void EncryptionXml::add(const std::string& name, const Encrypted& how) {
  by_licence_[name] = how;
  pugi::xml_node data = add_with(document_->root, "enc:EncryptedData", "xmlns:enc",
                                 "http://www.w3.org/2001/04/xmlenc#");
  add_with(data, "enc:EncryptionMethod", "Algorithm", kAes256Cbc);
  pugi::xml_node key =
      add_with(data, "ds:KeyInfo", "xmlns:ds", "http://www.w3.org/2000/09/xmldsig#");
  add_with(key, "ds:RetrievalMethod", "URI", kKeyUri).append_attribute("Type").set_value(kKeyType);
  add_with(data.append_child("enc:CipherData"), "enc:CipherReference", "URI",
           percent_encoded_path(name).c_str());
  pugi::xml_node compression =
      add_with(data.append_child("enc:EncryptionProperties").append_child("enc:EncryptionProperty"),
               "ns:Compression", "xmlns:ns", "http://www.idpf.org/2016/encryption#compression");
  compression.append_attribute("Method").set_value(how.deflated ? 8 : 0);
  compression.append_attribute("OriginalLength")
      .set_value(static_cast<unsigned long long>(how.bytes));
}

void EncryptionXml::remove_by_licence() {
  for (const pugi::xml_node& data : children(document_->root, "EncryptedData")) {
    if (is_by_licence(data)) document_->root.remove_child(data);
  }
  by_licence_.clear();
}

std::string EncryptionXml::text() const {
  std::ostringstream stream;
  document_->xml.save(stream, "  ");
  return stream.str();
}

}  // namespace tabane::epub
