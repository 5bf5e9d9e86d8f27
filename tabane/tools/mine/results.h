// The results of mining, as data, CSV, text and JSON.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tabane/lab/record/json.h"
#include "tabane/tools/mine/apriori.h"
#include "tabane/tools/mine/transactions.h"

namespace tabane::mine {

class Stopwatch {
 public:
  // Returns the seconds since its construction or the last call.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(begin_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// The work of counting on encrypted data.
struct Work {
  std::uint64_t products = 0;      // of two ciphertexts, added to a sum
  std::uint64_t key_switches = 0;  // relinearisations and rotations
  double seconds = 0;
  int processes = 0, threads = 0;  // the most that took part, threads in each process

  Work& operator+=(const Work& other) {
    products += other.products;
    key_switches += other.key_switches;
    seconds += other.seconds;
    processes = std::max(processes, other.processes);
    threads = std::max(threads, other.threads);
    return *this;
  }
};

// How the data were encrypted; nothing here is secret.
struct Encryption {
  std::size_t ring_degree = 0, blocks = 0;
  std::uint64_t plaintext_modulus = 0;
  double log2_modulus = 0;  // of the whole chain of primes
  int security_bits = 0;    // by the table of 2024; 0: below 128, insecure
  bool hide_slots = false;
  std::uint64_t database_bytes = 0;
  Work work;
  double key_seconds = 0, encrypt_seconds = 0, decrypt_seconds = 0;
  int ranks = 1;  // each with the processes and threads in `work`

  bool insecure() const { return security_bits == 0; }
};

struct MineResult {
  std::string database;  // as it was named
  std::size_t transactions = 0;
  double min_support = 0;
  std::uint64_t least_support = 0;  // in transactions
  std::size_t most_length = 0;
  double min_confidence = 0;
  ItemNames names;
  Kept kept = Kept::all;            // of the itemsets
  std::vector<Supported> itemsets;  // items by their numbers in the file
  std::vector<Rule> rules;
  double seconds = 0;  // everything included
  std::optional<Encryption> encryption;

  auto fields() {
    return std::tie(database, transactions, min_support, least_support, most_length, min_confidence,
                    names, itemsets, rules, seconds, encryption);
  }
};

// Replaces places among a database's items by their names, which ascend.
std::vector<Supported> named(std::vector<Supported> itemsets, const std::vector<Item>& names);

// Return one line for each row, after a head; a first line that begins with # says where the
// parameters are not secure.
std::string csv_of_itemsets(const MineResult& result);
std::string csv_of_rules(const MineResult& result);

// Returns the database and the way it was mined, the itemsets by length, the most frequent first,
// and the rules.
std::string mine_text(const MineResult& result);

// Returns the itemsets by length, then in the order of their items.
lab::Json mine_json(const MineResult& result);

}  // namespace tabane::mine
