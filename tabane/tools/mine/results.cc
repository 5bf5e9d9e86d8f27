#include "tabane/tools/mine/results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tabane/core/units.h"
#include "tabane/program/layout.h"

namespace tabane::mine {
namespace {

// A field of CSV.
std::string field_of(const std::string& text) {
  if (text.find_first_of(",\"") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string list_of(const MineResult& result, const std::vector<Item>& items,
                    const std::string& between) {
  if (result.names.words.empty()) return fmt::format("{}", fmt::join(items, " "));
  std::string list;
  for (const Item item : items) {
    const std::string& word = result.names.words.at(item);
    const bool may_seem_two =
        between.starts_with(',') && (word.find(',') != word.npos || word.starts_with('"'));
    list += (list.empty() ? "" : between) + (may_seem_two ? field_of(word) : word);
  }
  return list;
}

// The items of one cell are separated as in the file they come from.
std::string cell_of(const MineResult& result, const std::vector<Item>& items) {
  return field_of(list_of(result, items, result.names.between));
}

std::string head_of(const MineResult& result, const char* columns) {
  const bool insecure = result.encryption && result.encryption->insecure();
  return fmt::format("{}{}\n", insecure ? "# insecure parameters\n" : "", columns);
}

using core::counted, core::grouped, program::lossy_utf8, program::printable;

// For people: names may have blanks in them.
std::string shown(const MineResult& result, const std::vector<Item>& items) {
  return printable(list_of(result, items, result.names.between == " " ? " " : ", "));
}

lab::Json json_of(const MineResult& result, const std::vector<Item>& items) {
  if (result.names.words.empty()) return items;
  lab::Json words = lab::Json::array();
  for (const Item item : items) words.push_back(lossy_utf8(result.names.words.at(item)));
  return words;
}

const char* name_of(Kept kept) {
  return kept == Kept::closed ? "closed" : kept == Kept::maximal ? "maximal" : "all";
}

std::string share_text(double share) { return fmt::format("{:.4g} %", 100 * share); }

std::string workers_text(const Encryption& how) {
  std::string text;
  if (how.ranks > 1) text += fmt::format("{} ranks x ", how.ranks);
  if (how.work.processes > 1) text += fmt::format("{} processes x ", how.work.processes);
  return text +
         fmt::format("{} {}", how.work.threads, how.work.threads == 1 ? "thread" : "threads");
}

std::string encryption_text(const Encryption& how) {
  std::string text = fmt::format(
      "encrypted by BGV: ring degree {}, plaintext modulus {}, modulus of {:.0f} bits: {}\n",
      how.ring_degree, how.plaintext_modulus, how.log2_modulus,
      how.insecure() ? "INSECURE PARAMETERS"
                     : fmt::format("{}-bit security; not audited", how.security_bits));
  if (how.hide_slots) text += "only totals were decrypted (--hide-slots)\n";
  text +=
      fmt::format("{} blocks, {} of ciphertexts; {} products, {} key switches on {}\n",
                  grouped(how.blocks), core::format_bytes(how.database_bytes),
                  grouped(how.work.products), grouped(how.work.key_switches), workers_text(how));
  return text + fmt::format("keys {}, encryption {}, counting {}, decryption {}\n",
                            core::format_seconds(how.key_seconds),
                            core::format_seconds(how.encrypt_seconds),
                            core::format_seconds(how.work.seconds),
                            core::format_seconds(how.decrypt_seconds));
}

std::vector<const Supported*> most_frequent_first(const MineResult& result) {
  std::vector<const Supported*> sorted;
  for (const Supported& one : result.itemsets) sorted.push_back(&one);
  std::ranges::stable_sort(sorted, [](const Supported* a, const Supported* b) {
    if (a->items.size() != b->items.size()) return a->items.size() < b->items.size();
    return a->support > b->support;
  });
  return sorted;
}

std::string itemsets_text(const MineResult& result) {
  if (result.itemsets.empty()) return "";
  std::string text = fmt::format("\n{:>10}  {:>9}  items\n", "support", "share");
  for (const Supported* one : most_frequent_first(result)) {
    const double share =
        static_cast<double>(one->support) / static_cast<double>(result.transactions);
    text += fmt::format("{:>10}  {:>9}  {}\n", one->support, share_text(share),
                        shown(result, one->items));
  }
  return text;
}

std::string rules_text(const MineResult& result) {
  if (result.rules.empty()) return "";
  std::string text =
      fmt::format("\n{:>10}  {:>6}  {:>10}  rule\n", "confidence", "lift", "support");
  for (const Rule& rule : result.rules) {
    text +=
        fmt::format("{:>10}  {:>6.3g}  {:>10}  {} => {}\n", share_text(rule.confidence), rule.lift,
                    rule.support, shown(result, rule.if_items), shown(result, rule.then_items));
  }
  return text;
}

lab::Json json_of(const Encryption& how) {
  return {{"scheme", "BGV"},
          {"audited", false},
          {"ring_degree", how.ring_degree},
          {"plaintext_modulus", how.plaintext_modulus},
          {"log2_modulus", how.log2_modulus},
          {"security_bits", how.insecure() ? lab::Json(nullptr) : lab::Json(how.security_bits)},
          {"insecure_parameters", how.insecure()},
          {"hide_slots", how.hide_slots},
          {"blocks", how.blocks},
          {"database_bytes", how.database_bytes},
          {"products", how.work.products},
          {"key_switches", how.work.key_switches},
          {"key_seconds", how.key_seconds},
          {"encrypt_seconds", how.encrypt_seconds},
          {"count_seconds", how.work.seconds},
          {"decrypt_seconds", how.decrypt_seconds},
          {"ranks", how.ranks},
          {"processes", how.work.processes},
          {"threads", how.work.threads}};
}

}  // namespace

std::vector<Supported> named(std::vector<Supported> itemsets, const std::vector<Item>& names) {
  for (Supported& one : itemsets) {
    for (Item& item : one.items) item = names.at(item);
  }
  return itemsets;
}

std::string csv_of_itemsets(const MineResult& result) {
  std::string csv = head_of(result, "items,length,support,share");
  for (const Supported& one : result.itemsets) {
    csv += fmt::format("{},{},{},{}\n", cell_of(result, one.items), one.items.size(), one.support,
                       static_cast<double>(one.support) / static_cast<double>(result.transactions));
  }
  return csv;
}

std::string csv_of_rules(const MineResult& result) {
  std::string csv = head_of(result, "if,then,support,confidence,lift");
  for (const Rule& rule : result.rules) {
    csv += fmt::format("{},{},{},{},{}\n", cell_of(result, rule.if_items),
                       cell_of(result, rule.then_items), rule.support, rule.confidence, rule.lift);
  }
  return csv;
}

std::string mine_text(const MineResult& result) {
  const std::string kept = result.kept == Kept::all ? "" : name_of(result.kept) + std::string(" ");
  std::string text = fmt::format(
      "{}: {}; {} of up to {} in {} or more of them ({}), {} of confidence {} or more; {}\n",
      printable(result.database), counted(result.transactions, "transaction"),
      counted(result.itemsets.size(), kept + "itemset"), counted(result.most_length, "item"),
      grouped(result.least_support), share_text(result.min_support),
      counted(result.rules.size(), "rule"), share_text(result.min_confidence),
      core::format_seconds(result.seconds));
  if (result.encryption) text += encryption_text(*result.encryption);
  return text + itemsets_text(result) + rules_text(result);
}

lab::Json mine_json(const MineResult& result) {
  lab::Json itemsets = lab::Json::array(), rules = lab::Json::array();
  for (const Supported& one : result.itemsets) {
    itemsets.push_back({{"items", json_of(result, one.items)}, {"support", one.support}});
  }
  for (const Rule& rule : result.rules) {
    rules.push_back({{"if", json_of(result, rule.if_items)},
                     {"then", json_of(result, rule.then_items)},
                     {"support", rule.support},
                     {"confidence", rule.confidence},
                     {"lift", rule.lift}});
  }
  return {{"schema_version", 1},
          {"database", lossy_utf8(result.database)},
          {"transactions", result.transactions},
          {"min_support", result.min_support},
          {"least_support", result.least_support},
          {"most_length", result.most_length},
          {"min_confidence", result.min_confidence},
          {"seconds", result.seconds},
          {"encryption", result.encryption ? json_of(*result.encryption) : lab::Json(nullptr)},
          {"itemsets_kept", name_of(result.kept)},
          {"itemsets", std::move(itemsets)},
          {"rules", std::move(rules)}};
}

}  // namespace tabane::mine
