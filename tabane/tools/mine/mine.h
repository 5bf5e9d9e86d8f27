// All roles in one go: mines a file of transactions, encrypted or not.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "tabane/comm/comm.h"
#include "tabane/team/team.h"
#include "tabane/tools/mine/encrypted_database.h"
#include "tabane/tools/mine/results.h"
#include "tabane/tools/mine/transactions.h"

namespace tabane::mine {

// For encrypt_database(): itemsets as long as the keys are made for.
inline constexpr std::size_t of_keys = 0;

struct MineRequest {
  std::string database;  // as it is named in the result
  double min_support = 0;
  std::size_t most_length = 3;
  double min_confidence = 0.5;
  // Of the KeySpec, whose other members follow from the database.
  bool hide_slots = false, allow_insecure = false;
  std::size_t degree = 0;
  int processes = team::automatic, threads = team::automatic;

  // Called before each counting with the candidates' length and number; may be empty.
  std::function<void(std::size_t length, std::size_t candidates)> on_counting = {};
};

// Returns the description of an encryption, without what it took.
Encryption encryption_of(const KeySpec& spec, const bgv::Parameters& parameters,
                         DatabaseShape shape);

// Returns a team of one process; threads: automatic: one for each PU, which ranks share.
team::Team threads_only(int threads, const comm::Comm* ranks = nullptr);

// throws: core::UsageError naming the option and the legal values.
void check(const MineRequest& request);

// Counts on the transactions themselves. throws: as read_bitmaps(), Apriori::take(), Team::map().
MineResult mine_plain(const FimiFile& file, const MineRequest& request);

// Encrypts, counts and decrypts in this process and those of a team; or, called by rank 0, on
// ranks, of which each uses request.threads and rank 0 is the client and counts, too. Only items
// that are frequent by themselves are encrypted. throws: as above; as Comm; core::UsageError if
// parameters cannot be chosen or memory does not suffice; core::LostError if a process dies.
MineResult mine_encrypted(const FimiFile& file, const MineRequest& request,
                          comm::Comm* ranks = nullptr);
// Called by the other ranks: counts until rank 0 has its result. threads: as of threads_only().
void help_mining(comm::Comm& comm, int threads);

// Checks before ranks are started. throws: core::UsageError if the parameters cannot be chosen or
// the memory of this machine does not suffice.
void check_encryption(const FimiFile& file, const MineRequest& request);

}  // namespace tabane::mine
