// The server: counts candidates on the encrypted database. It knows public material only: neither
// this header nor anything that it includes for its members holds a secret key.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "tabane/team/team.h"
#include "tabane/tools/mine/bgv/ciphertext.h"
#include "tabane/tools/mine/bgv/context.h"
#include "tabane/tools/mine/bgv/evaluator.h"
#include "tabane/tools/mine/encrypted_database.h"
#include "tabane/tools/mine/itemset.h"
#include "tabane/tools/mine/outcome.h"
#include "tabane/tools/mine/scheme.h"

namespace tabane::mine {

// What the client gives to the server beside the database.
struct PublicKeys {
  bgv::KeyId id{};
  Scheme scheme;
  bgv::SharedContext context;
  std::optional<bgv::EvaluationKeys> evaluation;  // nothing: no itemset needs them
};

class Server {
 public:
  // keys, database: must live as long as this. throws: core::UsageError if the database was
  // encrypted with other keys.
  Server(const PublicKeys& keys, const EncryptedDatabase& database);

  // Returns a ciphertext for each candidate that decrypts to its support: finished sums, of two
  // components or three. work: what is done is added to it. throws: core::UsageError if the
  // candidates are not such as the keys are made for, or memory does not suffice; as
  // Team::map_reduce(), core::LostError among it.
  std::vector<bgv::Ciphertext> count(const Itemsets& candidates, team::Team& team,
                                     Work& work) const;

  // The two halves of count(), between which ranks add up their sums: the sum over the blocks of
  // the database of the product of the items' vectors; and what the client gets in place of sums of
  // all blocks. There, if slots are hidden, every slot holds the sum of all, and as few primes are
  // left as the noise allows, because the client needs no more.
  std::vector<bgv::Ciphertext> sums(const Itemsets& candidates, team::Team& team, Work& work) const;
  void finish(std::vector<bgv::Ciphertext>& sums, team::Team& team, Work& work) const;

 private:
  void check(const Itemsets& candidates) const;
  std::vector<bgv::Ciphertext> sums_of_batch(const Itemsets& candidates, team::Team& team,
                                             Work& work) const;
  bgv::Ciphertext finished(const bgv::Ciphertext& sum) const;
  std::size_t most_candidates(std::size_t length) const;

  const PublicKeys& keys_;
  const EncryptedDatabase& database_;
  bgv::Evaluator evaluator_;
};

// How many candidates are counted at a time: many for each block that is read, few for the memory
// that their sums take.
inline constexpr std::size_t kMostCandidates = 256;

// Bytes that each worker takes for the sums of one candidate, with all primes.
double sum_bytes(const bgv::Parameters& parameters);

}  // namespace tabane::mine
