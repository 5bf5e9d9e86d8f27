// The roles as separate steps with files between them, in two folders: the client's, which never
// leaves it, and the server's, which holds all that the server may see and can be copied there and
// back. Neither may be the other or lie in it: core::UsageError.
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

#include "tabane/comm/comm.h"
#include "tabane/tools/mine/fimi.h"
#include "tabane/tools/mine/mine.h"
#include "tabane/tools/mine/outcome.h"
#include "tabane/tools/mine/scheme.h"

namespace tabane::mine {

using Folder = std::filesystem::path;

// Makes the folders if they are missing, and keys of which none may be there. Returns how the
// parameters are to be described. throws: core::UsageError, core::SystemError.
Encryption make_keys(const Folder& client, const Folder& server, const Scheme& scheme);

// Encrypts the items that are frequent by themselves. request: with its database, shares and
// most_length, of which the keys must be capable; of_keys: as much as they are. Returns what is
// asked first.
struct Asked {
  std::size_t length = 0, candidates = 0;  // 0: nothing is left to ask
  bool insecure = false;                   // parameters
};
// throws: as write_database(), mine_encrypted().
Asked encrypt_database(const Folder& client, const Folder& server, const FimiFile& file,
                       const MineRequest& request);

struct Counted {
  std::size_t length = 0, candidates = 0;
  bool insecure = false;
  Work work;
};
// throws: core::UsageError, core::Error or core::SystemError naming a file; core::UsageError before
// it counts if memory does not hold the answer; as Server::count().
Counted count_query(const Folder& server, int processes, int threads);
// The same on ranks that all read the folder. Returns on rank 0 what was done.
Counted count_query_on_ranks(comm::Comm& comm, const Folder& server, int threads);

struct Decrypted {
  Asked asked;      // next
  Outcome outcome;  // so far
};
// throws: as above; core::UsageError if the answer is to another query.
Decrypted decrypt_answer(const Folder& client, const Folder& server, int threads);

}  // namespace tabane::mine
