// Files to encrypt and decrypt, and the commands that compete for them; and AES of tabane and of
// OpenSSL on memory, without files: what limits whole commands, and several streams on one core.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/bench.h"
#include "bench/command.h"
#include "bench/scratch.h"
#include "tabane/core/temporary_file.h"
#include "tabane/core/threads.h"
#include "tabane/tools/encrypt/job.h"

namespace tabane::bench {

using encrypt::Direction;

struct CipherKind {
  encrypt::Cipher cipher;
  std::string name;     // also after --cipher
  std::string openssl;  // the option of `openssl enc`; it has no GCM and gets CBC of the same key
  std::size_t key_bytes = 0;

  bool chained() const { return cipher != encrypt::Cipher::aes_256_gcm; }
};

std::vector<CipherKind> all_ciphers();
CipherKind gcm();

// AES of `bytes` in the pool's caches; the peer of target 0 that tells what AES alone costs.
// The pool outlives the contender.
Contender aes_alone(const CipherKind& kind, Direction direction, std::uint64_t bytes,
                    core::PinnedPool& pool);

// CBC encryption of 16 streams on the PU `pu` against one stream of OpenSSL.
void ask_streams(Panel& panel, unsigned pu);

std::string verb(Direction direction);

// What the program says of its version.
std::string version_of(const std::string& program);

// Who asks: the panel, one worker a PU, and what all runs of tabane have used.
struct Asking {
  Panel& panel;
  core::PinnedPool& pool;
  Usage total;

  bool wants_any(const std::vector<std::string>& questions) const;
  // Says of each of the questions why it is not measured.
  void skip(const std::vector<std::string>& questions, const std::string& reason) const;
};

// Plain files, what they were sealed to, and one place for all outputs, which is cleared before
// each command, outside its time.
class Workplace {
 public:
  // Commands that work in parallel are given as many processes as there are workers. Both outlive
  // the place.
  Workplace(const Settings& settings, Asking& asking);

  // Why `bytes` of plain files cannot be worked on here; empty: they can.
  std::string missing(std::uint64_t bytes) const;

  // `folders` folders of `files` files; folders 0: one flat folder.
  void fill(std::size_t folders, std::size_t files, std::uint64_t bytes_each);
  // The plain "folder" is one file.
  void fill_one_file(std::uint64_t bytes);
  // Encrypts the plain files for the decrypting that follows, by tabane and by openssl enc, and
  // checks tabane: decrypting gives the plain files, and chained files are those of openssl enc.
  // throws: core::Error if not.
  void seal(const CipherKind& kind);

  // Encrypts the plain files by tabane alone, for commands on what is sealed.
  void seal_once(const CipherKind& kind);

  // tabane as a user calls it. own: gets what its runs use, if not null.
  Contender tabane(const CipherKind& kind, Direction direction,
                   const std::vector<std::string>& more, Usage* own = nullptr) const;
  // One cp of everything, as a user calls it.
  Contender cp(Direction direction, double target, Usage* own = nullptr) const;
  // One cp for each PU, each with its share of the files or folders.
  Contender parallel_cp(Direction direction, double target) const;
  // One openssl enc for each file, as many at once as PUs. Flat folders only. Decrypting, its files
  // are its own where it cannot read ours (GCM).
  Contender openssl_enc(const CipherKind& kind, Direction direction, double target) const;
  // copy_file_range of flat files in this process.
  Contender copy_alone(Direction direction) const;

  // tabane encrypts the first file alone.
  Contender tabane_one_file(const CipherKind& kind) const;
  // tabane brings the sealed files up to date, and looks at them without opening them.
  Contender update(const CipherKind& kind) const;
  Contender quick_verify(const CipherKind& kind) const;
  // Any program, its output folder made empty before. own: gets what its runs use, if not null.
  Contender contender(std::string name, Command command, double target, Usage* own = nullptr) const;

  // Of rates of bytes, or of files if that is the unit.
  Question question(const std::string& name, const char* unit, Contender ours,
                    std::vector<Contender> peers = {}) const;

  std::uint64_t bytes() const { return bytes_; }
  std::size_t files() const { return names_.size(); }
  // Below plain().
  const std::vector<std::string>& names() const { return names_; }
  const fs::path& plain() const { return plain_; }
  const fs::path& sealed() const { return sealed_; }
  const fs::path& out() const { return out_; }
  // For what belongs to a program.
  const fs::path& folder() const { return scratch_.path(); }
  // As many at once as PUs.
  std::string processes() const { return std::to_string(pool_.size()); }
  // A file of names for xargs, each ended by a zero.
  fs::path list(const std::string& name, const std::vector<std::string>& entries) const;

 private:
  const fs::path& input(Direction direction) const {
    return direction == Direction::encrypt ? plain_ : sealed_;
  }
  Command tabane_command(const CipherKind& kind, Direction direction, const fs::path& in,
                         const fs::path& out) const;
  fs::path key_path(std::size_t bytes) const;

  const Settings& settings_;
  core::PinnedPool& pool_;
  Usage& total_;
  core::ScratchFolder scratch_;
  fs::path plain_, sealed_, sealed_by_openssl_, out_;
  std::string hex_key_;
  std::vector<std::string> tops_;   // entries of the plain folder
  std::vector<std::string> names_;  // files below it
  std::uint64_t bytes_ = 0;
};

// If one of the questions is wanted, calls `ask` with a place that has room for `bytes` of plain
// files; skips them where there is none.
void at_workplace(Asking& asking, const std::vector<std::string>& questions, std::uint64_t bytes,
                  const std::function<void(Workplace&)>& ask);

// Sealed trees against other programs that encrypt files, and against programs that compare or list
// trees.
void ask_trees(Asking& asking);

// Files on ext4, mounted from a file, against copying them, with and without waiting for the disk.
void ask_disk(Asking& asking);

}  // namespace tabane::bench
