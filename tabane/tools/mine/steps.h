// The roles as separate steps with files between them, in two folders: the client's, which never
// leaves it, and the server's, which holds all that the server may see and can be copied there and
// back. They must differ, and neither may be inside the other: core::UsageError.
//
//   keygen   client/secret.key, server/public.keys
//   encrypt  client/state, server/database, server/query      asks for the first candidates
//   count    server/answer                                    from public.keys, database, query
//   decrypt  client/state, server/query or no query any more  from the answer
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "tabane/comm/comm.h"
#include "tabane/tools/mine/bgv/keys.h"
#include "tabane/tools/mine/encrypted_database.h"
#include "tabane/tools/mine/mine.h"
#include "tabane/tools/mine/results.h"
#include "tabane/tools/mine/transactions.h"

namespace tabane::mine {

using Folder = std::filesystem::path;

// ---- the files' contents ----

// The client's question: which itemsets to count, by the places of their items.
struct Query {
  DatabaseId database{};
  Itemsets candidates;

  auto fields() { return std::tie(database, candidates); }
};
// throws: core::UsageError unless a query has itemsets of one length in lexicographic order.
void check_candidates(const Itemsets& candidates);

// The server's answer to it.
struct QueryAnswer {
  DatabaseId database{};
  std::uint64_t length = 0;
  std::vector<bgv::Ciphertext> sums;  // by candidate
  Work work;
  std::int32_t ranks = 1;

  auto fields() { return std::tie(database, length, sums, work, ranks); }
};

// The memory of the client. It holds results, so only its owner may read it.
struct ClientState {
  DatabaseId database{};
  std::string name;
  std::vector<Item> items;  // their numbers, by place
  ItemNames names;
  std::uint64_t transactions = 0, most_length = 0, blocks = 0;
  double min_support = 0, min_confidence = 0;
  std::vector<std::vector<std::uint64_t>> supports;  // of the candidates of each length so far
  Work work;
  double encrypt_seconds = 0, decrypt_seconds = 0;
  std::int32_t ranks = 1;

  auto fields() {
    return std::tie(database, name, items, names, transactions, most_length, blocks, min_support,
                    min_confidence, supports, work, encrypt_seconds, decrypt_seconds, ranks);
  }
};

// ---- the steps ----

// Makes the folders if they are missing, and new keys. Returns how to describe the parameters.
// throws: core::UsageError, also if there are keys already; core::SystemError.
Encryption make_keys(const Folder& client, const Folder& server, const KeySpec& spec);

// Of a query that was asked, or counted.
struct QueryReport {
  std::size_t length = 0, candidates = 0;  // of the itemsets; 0: nothing is left to ask
  bool insecure = false;                   // the parameters give less than 128-bit security
  Work work = {};                          // of counting; empty where the query was only asked
};

// As keys.most_length of a request: itemsets as long as the keys allow.
inline constexpr std::size_t of_keys = 0;

// Encrypts the items that are frequent by themselves. The keys must suffice for the request's
// most_length; its other key options do not count. Returns the first query. throws: as
// write_database(), mine_encrypted().
QueryReport encrypt_database(const Folder& client, const Folder& server, const FimiFile& file,
                             const MineRequest& request);

// ranks: null, or those that all call it and read the folder; only rank 0 returns what was counted.
// throws: core::UsageError, core::Error or core::SystemError naming a file; core::UsageError before
// it counts if memory does not hold the answer; as Server::count().
QueryReport count_query(const Folder& server, const Workers& workers, comm::Comm* ranks = nullptr);

struct DecryptedAnswer {
  QueryReport next;
  MineResult result;  // so far
};
// throws: as above; core::UsageError if the answer is to another query.
DecryptedAnswer decrypt_answer(const Folder& client, const Folder& server, int threads);

}  // namespace tabane::mine
