#include "tabane/tools/mine/outcome.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tabane::mine {
namespace {

// The items of one cell are separated by blanks, as in the file they come from.
std::string head_of(const Outcome& outcome, const char* columns) {
  const bool insecure = outcome.encryption && outcome.encryption->insecure();
  return fmt::format("{}{}\n", insecure ? "# insecure parameters\n" : "", columns);
}

}  // namespace

std::vector<Supported> named(std::vector<Supported> itemsets, const std::vector<Item>& names) {
  for (Supported& one : itemsets) {
    for (Item& item : one.items) item = names.at(item);
  }
  return itemsets;
}

std::string csv_of_itemsets(const Outcome& outcome) {
  std::string csv = head_of(outcome, "items,length,support,share");
  for (const Supported& one : outcome.itemsets) {
    csv +=
        fmt::format("{},{},{},{}\n", fmt::join(one.items, " "), one.items.size(), one.support,
                    static_cast<double>(one.support) / static_cast<double>(outcome.transactions));
  }
  return csv;
}

std::string csv_of_rules(const Outcome& outcome) {
  std::string csv = head_of(outcome, "if,then,support,confidence,lift");
  for (const Rule& rule : outcome.rules) {
    csv += fmt::format("{},{},{},{},{}\n", fmt::join(rule.if_items, " "),
                       fmt::join(rule.then_items, " "), rule.support, rule.confidence, rule.lift);
  }
  return csv;
}

}  // namespace tabane::mine
