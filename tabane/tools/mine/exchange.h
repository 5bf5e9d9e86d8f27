// What the steps leave for each other beside keys and database.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "tabane/tools/mine/bgv/ciphertext.h"
#include "tabane/tools/mine/encrypted_database.h"
#include "tabane/tools/mine/itemset.h"
#include "tabane/tools/mine/outcome.h"

namespace tabane::mine {

// Client to server: which itemsets to count, by the places of their items.
struct Query {
  DatabaseId database{};
  std::uint64_t length = 0;
  std::vector<Item> items;  // of all candidates

  auto fields() { return std::tie(database, length, items); }

  static Query of(const DatabaseId& database, const Itemsets& candidates);
  // throws: core::UsageError if these are not itemsets of one length in lexicographic order.
  Itemsets candidates() const;
};

// Server to client.
struct Answer {
  DatabaseId database{};
  std::uint64_t length = 0;
  std::vector<std::string> sums;  // records (bgv/serialise.h), by candidate
  Work work;
  std::int32_t ranks = 1;

  auto fields() { return std::tie(database, length, sums, work, ranks); }
};

// What the client remembers. It holds what was found, so only its owner may read it.
struct ClientState {
  DatabaseId database{};
  std::string name;
  std::vector<Item> items;  // their names, by place
  std::uint64_t transactions = 0, most_length = 0, blocks = 0;
  double min_support = 0, min_confidence = 0;
  std::vector<std::vector<std::uint64_t>> supports;  // of the candidates of each length so far
  Work work;
  double encrypt_seconds = 0, decrypt_seconds = 0;
  std::int32_t ranks = 1;

  auto fields() {
    return std::tie(database, name, items, transactions, most_length, blocks, min_support,
                    min_confidence, supports, work, encrypt_seconds, decrypt_seconds, ranks);
  }
};

}  // namespace tabane::mine
