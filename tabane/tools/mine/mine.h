// All roles in one go: mines a file of transactions, encrypted or not.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "tabane/comm/comm.h"
#include "tabane/team/team.h"
#include "tabane/tools/mine/encrypted_database.h"
#include "tabane/tools/mine/fimi.h"
#include "tabane/tools/mine/outcome.h"
#include "tabane/tools/mine/scheme.h"

namespace tabane::mine {

// For encrypt_database(): itemsets as long as the keys are made for.
inline constexpr std::size_t of_keys = 0;

struct MineRequest {
  std::string database;  // as it is named in the outcome
  double min_support = 0;
  std::size_t most_length = 3;
  double min_confidence = 0.5;
  // For encryption; its other members follow from these and from the database.
  bool hide_slots = false, allow_insecure = false;
  std::size_t degree = 0;
  int processes = team::automatic, threads = team::automatic;

  // Called before each counting with the candidates' length and number; may be empty.
  std::function<void(std::size_t length, std::size_t candidates)> told = {};
};

// What an outcome says of the encryption, but for what it took.
Encryption encryption_of(const Scheme& scheme, const bgv::Parameters& parameters,
                         DatabaseShape shape);

// throws: core::UsageError naming the option and the legal values.
void check(const MineRequest& request);

// Counts on the transactions themselves. throws: as read_bitmaps(), Apriori::take(), Team::map().
Outcome mine_plain(const FimiFile& file, const MineRequest& request);

// Encrypts, counts and decrypts in this process and those of a team. Only items that are frequent
// by themselves are encrypted. throws: as above; core::UsageError if parameters cannot be chosen or
// memory does not suffice; core::LostError if a process dies.
Outcome mine_encrypted(const FimiFile& file, const MineRequest& request);

// The same on ranks: rank 0 is the client and counts, too; threads: of each rank. Returns on rank 0
// only what was found. throws: as above; as Comm.
Outcome mine_on_ranks(comm::Comm& comm, const FimiFile& file, const MineRequest& request);
// On the other ranks. threads: 0: as many as the PUs are for each rank.
void help_mining(comm::Comm& comm, int threads);

// throws: core::UsageError if the parameters cannot be chosen or the memory of this machine does
// not suffice: for those who start ranks on it.
void check_encryption(const FimiFile& file, const MineRequest& request);

}  // namespace tabane::mine
