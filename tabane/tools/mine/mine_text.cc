#include "tabane/tools/mine/mine_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "tabane/core/units.h"
#include "tabane/program/printable.h"

namespace tabane::program {
namespace {

using namespace mine;

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

std::vector<const Supported*> most_frequent_first(const Outcome& outcome) {
  std::vector<const Supported*> sorted;
  for (const Supported& one : outcome.itemsets) sorted.push_back(&one);
  std::ranges::stable_sort(sorted, [](const Supported* a, const Supported* b) {
    if (a->items.size() != b->items.size()) return a->items.size() < b->items.size();
    return a->support > b->support;
  });
  return sorted;
}

std::string itemsets_text(const Outcome& outcome) {
  if (outcome.itemsets.empty()) return "";
  std::string text = fmt::format("\n{:>10}  {:>9}  items\n", "support", "share");
  for (const Supported* one : most_frequent_first(outcome)) {
    const double share =
        static_cast<double>(one->support) / static_cast<double>(outcome.transactions);
    text += fmt::format("{:>10}  {:>9}  {}\n", one->support, share_text(share),
                        fmt::join(one->items, " "));
  }
  return text;
}

std::string rules_text(const Outcome& outcome) {
  if (outcome.rules.empty()) return "";
  std::string text =
      fmt::format("\n{:>10}  {:>6}  {:>10}  rule\n", "confidence", "lift", "support");
  for (const Rule& rule : outcome.rules) {
    text +=
        fmt::format("{:>10}  {:>6.3g}  {:>10}  {} => {}\n", share_text(rule.confidence), rule.lift,
                    rule.support, fmt::join(rule.if_items, " "), fmt::join(rule.then_items, " "));
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

std::string mine_text(const Outcome& outcome) {
  std::string text = fmt::format(
      "{}: {} transactions; {} itemsets of up to {} items in {} or more of them ({}), {} rules of "
      "confidence {} or more; {}\n",
      printable(outcome.database), grouped(outcome.transactions), grouped(outcome.itemsets.size()),
      outcome.most_length, grouped(outcome.least_support), share_text(outcome.min_support),
      grouped(outcome.rules.size()), share_text(outcome.min_confidence),
      core::format_seconds(outcome.seconds));
  if (outcome.encryption) text += encryption_text(*outcome.encryption);
  return text + itemsets_text(outcome) + rules_text(outcome);
}

lab::Json mine_json(const Outcome& outcome) {
  lab::Json itemsets = lab::Json::array(), rules = lab::Json::array();
  for (const Supported& one : outcome.itemsets) {
    itemsets.push_back({{"items", one.items}, {"support", one.support}});
  }
  for (const Rule& rule : outcome.rules) {
    rules.push_back({{"if", rule.if_items},
                     {"then", rule.then_items},
                     {"support", rule.support},
                     {"confidence", rule.confidence},
                     {"lift", rule.lift}});
  }
  return {{"schema_version", 1},
          {"database", lossy_utf8(outcome.database)},
          {"transactions", outcome.transactions},
          {"min_support", outcome.min_support},
          {"least_support", outcome.least_support},
          {"most_length", outcome.most_length},
          {"min_confidence", outcome.min_confidence},
          {"seconds", outcome.seconds},
          {"encryption", outcome.encryption ? json_of(*outcome.encryption) : lab::Json(nullptr)},
          {"itemsets", std::move(itemsets)},
          {"rules", std::move(rules)}};
}

}  // namespace tabane::program
