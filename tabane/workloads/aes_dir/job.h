// Encrypts, decrypts or verifies a file or a directory tree with all cores.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tabane/workloads/aes_dir/cbc_cipher.h"
#include "tabane/workloads/aes_dir/engine.h"
#include "tabane/workloads/aes_dir/keys.h"
#include "tabane/workloads/aes_dir/tree.h"

namespace tabane::workloads::aes_dir {

enum class Direction { encrypt, decrypt, verify };
enum class Cipher { aes_256_gcm, aes_128_cbc, aes_256_cbc };

// Bytes of a key file for the cipher: 16 or 32.
std::size_t key_bytes(Cipher cipher);

struct Request {
  Direction direction = Direction::encrypt;
  Cipher cipher = Cipher::aes_256_gcm;
  std::string in, out;    // out: not for verify
  MasterKey key;          // used if there is no passphrase; AES-128 takes the first 16 bytes
  Passphrase passphrase;  // not for CBC
  std::optional<Block> fixed_iv;  // CBC: for all files, nothing stored; otherwise stored in front
  std::vector<std::string> excludes;
  bool dry_run = false;  // plan and check, write nothing
  bool resume = false;   // keep what is complete and current
  bool force = false;    // replace what is there
  bool fsync = false;
  unsigned threads = 0;  // 0: chosen from the files and the machine
  Engine engine = Engine::automatic;
  bool measure_copy =
      true;  // copies about 1 % of the files first, for Outcome::copy_bytes_per_second
};

struct Progress {
  std::uint64_t files = 0, bytes = 0;              // done
  std::uint64_t files_total = 0, bytes_total = 0;  // of the input
};

struct Hooks {
  std::function<bool()> stop_requested = [] { return false; };
  std::function<void(const Progress&)> progress = [](const Progress&) {};  // ten times a second
};

struct Outcome {
  bool complete = false;               // not stopped; there may be failures
  std::uint64_t files = 0, bytes = 0;  // done in this run; of the input, in whole files
  std::uint64_t files_kept = 0;        // complete and current already
  std::uint64_t files_total = 0, bytes_total = 0, directories = 0;
  std::uint64_t symlinks = 0, special = 0, excluded = 0, leftovers_removed = 0;
  std::vector<Failure> failures;  // in the order of the tree
  unsigned threads = 0;
  Engine engine = Engine::openssl;
  double seconds = 0;  // of the work, without key derivation and copy measurement
  std::optional<double> copy_bytes_per_second;  // plain copying, the same threads; if measured
  std::optional<double> copy_files_per_second;
};

// Refuses what run_job() would refuse before it needs the key; writes nothing. throws: as
// run_job().
void check_job(const Request& request);

// Does the job. Files that fail are listed in the outcome and leave no output; the others go on.
// throws, before anything is written: core::UsageError for an impossible request (out inside in or
// equal to it, output that exists without resume or force, a cipher that does not go with the key);
// core::SystemError if in or out cannot be opened; core::Error if the key fits no file, or
// if a directory that is to be decrypted or verified holds no sealed file.
Outcome run_job(const Request& request, const Hooks& hooks = {});

}  // namespace tabane::workloads::aes_dir
