#include "tabane/tools/epub/xml.h"

#include <fmt/format.h>

#include "tabane/core/error.h"

namespace tabane::epub {
namespace {

constexpr std::uint64_t kMostXmlBytes = std::uint64_t{64} << 20;

// pugixml removes a node by a recursion into its children.
struct Shallow : pugi::xml_tree_walker {
  static constexpr int kMostDepth = 1000;
  bool for_each(pugi::xml_node&) override { return depth() < kMostDepth; }
};

}  // namespace

void load_xml(const Archive& book, const Entry& entry, pugi::xml_document& document) {
  const std::string text = book.text_of(entry, kMostXmlBytes);
  const pugi::xml_parse_result result =
      document.load_buffer(text.data(), text.size(), pugi::parse_default | pugi::parse_declaration);
  if (!result) {
    throw core::Error(fmt::format("{}: {} is no good XML: {} at byte {}", book.path(), entry.name,
                                  result.description(), result.offset));
  }
  Shallow shallow;
  if (document.traverse(shallow)) return;
  throw core::Error(fmt::format("{}: {} is nested more than {} deep", book.path(), entry.name,
                                Shallow::kMostDepth));
}

}  // namespace tabane::epub
