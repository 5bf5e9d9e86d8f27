// XML of a book, by names without their prefixes: books differ in them. Not installed.
#pragma once

#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/tools/epub/archive.h"

namespace tabane::epub {

// Reads an entry into a document. throws: core::Error naming book and entry if it is no good XML,
// or nested deeper than the stack may be.
void load_xml(const Archive& book, const Entry& entry, pugi::xml_document& document);

inline std::string_view local_name(std::string_view name) {
  return name.substr(name.find(':') + 1);  // npos + 1 is 0
}

inline bool is_named(const pugi::xml_node& node, std::string_view name) {
  return local_name(node.name()) == name;
}

// The children of a node with a name.
inline std::vector<pugi::xml_node> children(const pugi::xml_node& node, std::string_view name) {
  std::vector<pugi::xml_node> found;
  for (const pugi::xml_node& child : node.children()) {
    if (is_named(child, name)) found.push_back(child);
  }
  return found;
}

// The first such child; a null node if there is none, whose children are none and whose texts are
// empty.
inline pugi::xml_node child(const pugi::xml_node& node, std::string_view name) {
  const auto all = children(node, name);
  return all.empty() ? pugi::xml_node() : all.front();
}

// The text of an attribute without a namespace.
inline std::string attribute(const pugi::xml_node& node, const char* name) {
  return node.attribute(name).value();
}

}  // namespace tabane::epub
