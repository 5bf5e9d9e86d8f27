// Mining of a file of transactions, encrypted or not: what is asked for, and all roles in one go.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tabane/comm/comm.h"
#include "tabane/team/team.h"
#include "tabane/tools/mine/apriori.h"
#include "tabane/tools/mine/encrypted_database.h"
#include "tabane/tools/mine/results.h"
#include "tabane/tools/mine/transactions.h"

namespace tabane::mine {

// The workers that count; on ranks only `threads` counts, as they take the place of processes.
struct Workers {
  int processes = team::automatic, threads = team::automatic;
};

struct MineRequest {
  std::string database = {};  // as it is named in the result
  char between_words = 0;     // as of FimiFile
  std::optional<double> min_support = {};
  double min_confidence = 0.5;
  KeySpec keys = {};  // the transactions are those of the file
  Workers workers = {};

  // Called before each counting with the candidates' length and number; may be empty.
  std::function<void(std::size_t length, std::size_t candidates)> on_counting = {};
};

// throws: core::UsageError naming the option and the legal values.
void check(const MineRequest& request);

// Returns a team of one process; threads: automatic: one for each PU, which ranks share.
team::Team threads_only(int threads, const comm::Comm* ranks = nullptr);
// Returns the team that counts.
team::Team counting_team(const Workers& workers, const comm::Comm* ranks);

// Returns the description of an encryption, without what it took.
Encryption encryption_of(const KeySpec& spec, const bgv::Parameters& parameters,
                         DatabaseShape shape);

// Returns the itemsets that were found so far and their rules. items: the names of the database's.
MineResult result_of(const MineRequest& request, std::size_t transactions,
                     const std::vector<Item>& items, const Apriori& apriori);

// Counts on the transactions themselves. throws: as read_bitmaps(), Apriori::take(), Team::map().
MineResult mine_plain(const FimiFile& file, const MineRequest& request);

// Encrypts, counts and decrypts in this process and those of a team; or, called by rank 0, on
// ranks, where rank 0 is the client and counts, too. Only items that are frequent by themselves are
// encrypted. throws: as above; as Comm; core::UsageError if parameters cannot be chosen or memory
// does not suffice; core::LostError if a process dies.
MineResult mine_encrypted(const FimiFile& file, const MineRequest& request,
                          comm::Comm* ranks = nullptr);
// Called by the other ranks: counts until rank 0 has its result. threads: as of threads_only().
void help_mining(comm::Comm& comm, int threads);

// Checks before ranks are started. throws: core::UsageError if the parameters cannot be chosen or
// the memory of this machine does not suffice.
void check_encryption(const FimiFile& file, const MineRequest& request);

}  // namespace tabane::mine
