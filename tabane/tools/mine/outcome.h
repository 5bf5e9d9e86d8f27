// What mining has found, and how.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tabane/tools/mine/itemset.h"
#include "tabane/tools/mine/rules.h"

namespace tabane::mine {

// What the counting on encrypted data took.
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

// Of mining on encrypted data; nothing here is secret.
struct Encryption {
  std::size_t ring_degree = 0, blocks = 0;
  std::uint64_t plaintext_modulus = 0;
  double log2_modulus = 0;  // of the whole chain of primes
  int security_bits = 0;    // by the table of 2024; 0: below 128, insecure
  bool hide_slots = false;
  std::uint64_t database_bytes = 0;
  Work work;
  double key_seconds = 0, encrypt_seconds = 0, decrypt_seconds = 0;
  int ranks = 1;  // of each, processes and threads are in `work`

  bool insecure() const { return security_bits == 0; }
};

struct Outcome {
  std::string database;  // as it was named
  std::size_t transactions = 0;
  double min_support = 0;
  std::uint64_t least_support = 0;  // in transactions
  std::size_t most_length = 0;
  double min_confidence = 0;
  std::vector<Supported> itemsets;  // items by their numbers in the file
  std::vector<Rule> rules;
  double seconds = 0;  // of counting and all that belongs to it
  std::optional<Encryption> encryption;

  auto fields() {
    return std::tie(database, transactions, min_support, least_support, most_length, min_confidence,
                    itemsets, rules, seconds, encryption);
  }
};

// Replaces places among a database's items by their names, which ascend.
std::vector<Supported> named(std::vector<Supported> itemsets, const std::vector<Item>& names);

// One line of text a row, behind a head; a first line beginning with # where the parameters are not
// secure.
std::string csv_of_itemsets(const Outcome& outcome);
std::string csv_of_rules(const Outcome& outcome);

}  // namespace tabane::mine
