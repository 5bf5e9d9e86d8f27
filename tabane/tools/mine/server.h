// The server: counts candidates on the encrypted database, in a team of processes and threads or on
// ranks. It knows public material only: nothing here holds a secret key.
#pragma once

#include <cstddef>
#include <optional>
#include <tuple>
#include <vector>

#include "tabane/comm/comm.h"
#include "tabane/team/team.h"
#include "tabane/tools/mine/bgv/evaluator.h"
#include "tabane/tools/mine/encrypted_database.h"
#include "tabane/tools/mine/results.h"
#include "tabane/tools/mine/transactions.h"

namespace tabane::mine {

// The client's gift to the server in addition to the database.
struct PublicKeys {
  KeySpec spec;
  bgv::KeyId id{};
  bgv::ParameterValues parameters;
  std::optional<bgv::EvaluationKeys> evaluation;  // null: no itemset needs them
  bgv::SharedContext context;                     // of the parameters

  auto fields() { return std::tie(spec, id, parameters, evaluation); }
};

struct BlockRange {
  std::size_t begin = 0, end = 0;

  std::size_t size() const { return end - begin; }
};
// Returns the blocks of one of `ranks`; rank 0 has one whenever there is one, and none has more.
BlockRange blocks_of_rank(std::size_t blocks, int rank, int ranks);

class Server {
 public:
  // keys, database, ranks: must live as long as this. ranks: null, or those of which each makes
  // one with the same keys and its own blocks. throws: core::UsageError if the database was
  // encrypted with other keys.
  Server(const PublicKeys& keys, const EncryptedDatabase& database, comm::Comm* ranks = nullptr);

  // Returns for each candidate a ciphertext of two or three components that decrypts to its
  // support, in the blocks of all ranks. To be called on rank 0. work: is increased. throws:
  // core::UsageError if the keys are not made for such candidates, or memory does not suffice; as
  // Team::map_reduce(), for example core::LostError; as Comm.
  std::vector<bgv::Ciphertext> count(const Itemsets& candidates, team::Team& team,
                                     Work& work) const;

  // On the other ranks: counts what rank 0 asks for until it calls end(). throws: as count().
  void serve(team::Team& team) const;
  // On rank 0: the others return from serve(). No work without ranks.
  void end() const;

  // The two halves of count(), between which ranks add up their sums. sums() sums the product of
  // the items' vectors over the blocks of the database. finish() turns sums of all blocks into what
  // the client gets: if slots are hidden, every slot holds the sum of all; and as few primes are
  // left as the noise allows, because the client needs no more. The seconds of `work` do not
  // change.
  std::vector<bgv::Ciphertext> sums(const Itemsets& candidates, team::Team& team, Work& work) const;
  void finish(std::vector<bgv::Ciphertext>& sums, team::Team& team, Work& work) const;

 private:
  void check(const Itemsets& candidates) const;
  std::vector<bgv::Ciphertext> sums_of_batch(const Itemsets& candidates, team::Team& team,
                                             Work& work) const;
  // Returns on rank 0 the sums and the work of all ranks.
  std::vector<bgv::Ciphertext> sums_of_all(const Itemsets& candidates, team::Team& team,
                                           Work& work) const;
  void add_all(std::vector<bgv::Ciphertext>& sums) const;
  std::size_t most_candidates(std::size_t length) const;

  const PublicKeys& keys_;
  const EncryptedDatabase& database_;
  comm::Comm* ranks_;
  bgv::Evaluator evaluator_;
};

// How many candidates are counted at a time: many for each block that is read, few for the memory
// that their sums take.
inline constexpr std::size_t kMostCandidates = 256;

// Broadcasts bytes of any number from rank 0.
team::Bytes broadcast_bytes(comm::Comm& comm, team::Bytes bytes);

// Called by all ranks with the database's shape. throws: core::UsageError on rank 0, which has at
// least as many blocks as any other, if they do not fit into a rank's share of its machine's
// memory.
void check_memory_of_ranks(comm::Comm& comm, const bgv::Parameters& parameters,
                           DatabaseShape shape);

}  // namespace tabane::mine
