// Encrypts, decrypts or verifies a file or a directory tree with all cores.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tabane/core/statistics.h"
#include "tabane/tools/encrypt/request.h"
#include "tabane/tools/encrypt/tree.h"

namespace tabane::comm {
class Comm;
}

namespace tabane::encrypt {

struct Outcome {
  bool complete = false;               // not stopped; there may be failures
  std::uint64_t files = 0, bytes = 0;  // done in this run; of the input, in whole files
  std::uint64_t files_kept = 0;        // complete and current already
  std::uint64_t files_unlisted = 0;    // whole and sealed anew: the manifest in OUT had others
  std::uint64_t removed = 0;           // files and directories that the input no longer has
  std::vector<std::string>
      would_remove;  // those, of a dry run of an update; directories end in '/'
  std::uint64_t files_total = 0, bytes_total = 0, directories = 0;
  std::uint64_t links = 0;  // symbolic ones: sealed, restored or looked at
  std::uint64_t symlinks = 0, special = 0, excluded = 0, leftovers_removed = 0;
  // Left out when decrypting or verifying: paths of files with the name of a temporary one that are
  // not whole, are not in the manifest, or are of CBC, which tells nothing of either.
  std::vector<std::string> temporaries;
  // Paths in OUT of files that stay, and may be leftovers: see Leftovers. A sealed tree that is
  // resumed has failures for them.
  std::vector<std::string> unmarked;
  std::vector<Failure> failures;  // in the order of the tree
  // Files of version 1 were opened as a tree, which no manifest vouches for.
  bool version_1_tree = false;
  // Paths of files that had changed while they were read, and were done once more.
  std::vector<std::string> changed;
  std::optional<ManifestHash> root;  // of the sealed directory tree that was written or read
  unsigned threads = 0;              // of all ranks
  int ranks = 1;
  bool lost_ranks = false;  // one ended, or says nothing any more: nobody can wait for the others
  // What went wrong with other ranks, whose part rank 0 has done.
  std::vector<std::string> remarks;
  crypto::Engine engine = crypto::Engine::openssl;
  std::vector<std::string>
      device_remarks;  // why the CPU has done some of what the device was to do
  double seconds = 0;  // of the work, without key derivation
  // Speed over that of plain copying by the same threads during the run; nothing if the run did not
  // show it. See share_of_copying().
  std::optional<core::Ratio> copy_share;
};

// Refuses what run_job() would refuse before it needs the key; writes nothing. throws: as
// run_job().
void check_job(const Request& request);

// Does the job; standard input by run_stream(). Files that fail are listed in the outcome and leave
// no output; the others go on.
// throws, before anything is written: core::UsageError for an impossible request (out inside in or
// equal to it, output that exists without resume or force, a cipher that does not go with the key);
// core::SystemError if in or out cannot be opened; core::Error if the key fits no file (for
// CBC: as far as paddings tell), or if a directory that is to be decrypted or verified holds no
// sealed file.
// ranks: this is rank 0 of them, and the others are in serve_rank_0() (worker.h); null: there are
// none. If one is lost, or cannot help, its part is done all the same; then its part of `ranks` is
// of no more use.
Outcome run_job(const Request& request, const Hooks& hooks = {}, comm::Comm* ranks = nullptr);

}  // namespace tabane::encrypt
