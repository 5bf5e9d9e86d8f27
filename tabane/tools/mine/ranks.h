// Counting on ranks: each has some of the blocks, and the sums of all are added on rank 0. Rank 0
// may be the client, too; the others get public material only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tabane/comm/comm.h"
#include "tabane/team/team.h"
#include "tabane/tools/mine/client.h"
#include "tabane/tools/mine/encrypted_database.h"
#include "tabane/tools/mine/server.h"

namespace tabane::mine {

struct BlockRange {
  std::size_t begin = 0, end = 0;
};
// Of `blocks` on one of `ranks`; rank 0 has one whenever there is one, and none has more.
BlockRange blocks_of_rank(std::size_t blocks, int rank, int ranks);

// All ranks make one, with the same keys; each with its own blocks. threads: of this rank, one
// process.
class RankCounting {
 public:
  // All must live as long as this. throws: as Server().
  RankCounting(comm::Comm& comm, const PublicKeys& keys, const EncryptedDatabase& own,
               team::Team& threads);

  // On rank 0: returns the sums of all ranks, finished. throws: as Server::count();
  // as Comm.
  std::vector<bgv::Ciphertext> count(const Itemsets& candidates, Work& work);
  // On rank 0: the others return from serve().
  void end();
  // On the other ranks: counts what rank 0 asks for until it calls end(). throws: as count().
  void serve();

 private:
  std::vector<bgv::Ciphertext> count_some(const Itemsets& candidates, Work& work);
  std::vector<bgv::Ciphertext> own_sums(const Itemsets& candidates, Work& work);
  void add_all(std::vector<bgv::Ciphertext>& sums);
  void take_reduced(bgv::Ciphertext& sum, std::span<const std::uint64_t> words) const;

  comm::Comm& comm_;
  const PublicKeys& keys_;
  const EncryptedDatabase& own_;
  team::Team& threads_;
  Server server_;
};

// All ranks call it, with the database's shape. throws: core::UsageError on rank 0, which has at
// least as many blocks as any other, if they do not fit into what a rank may take of its machine's
// memory.
void check_memory_of_ranks(comm::Comm& comm, const bgv::Parameters& parameters,
                           DatabaseShape shape);

// What rank 0 sends before anything is counted, and the others receive: keys, and for each rank its
// blocks, encrypted as they are sent.
EncryptedDatabase deal_database(comm::Comm& comm, const Client& client, const PublicKeys& keys,
                                const Bitmaps& bitmaps, team::Team& threads);
PublicKeys receive_keys(comm::Comm& comm);
EncryptedDatabase receive_database(comm::Comm& comm, const PublicKeys& keys);

// Broadcasts a string of bytes of any size from rank 0.
team::Bytes broadcast_bytes(comm::Comm& comm, team::Bytes bytes);

}  // namespace tabane::mine
