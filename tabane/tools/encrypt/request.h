// What a job is asked to do, and what it tells while it runs and at its end.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tabane/core/clock.h"
#include "tabane/core/statistics.h"
#include "tabane/crypto/cbc_cipher.h"
#include "tabane/crypto/engine.h"
#include "tabane/crypto/key_derivation.h"
#include "tabane/crypto/keys.h"
#include "tabane/device/module.h"
#include "tabane/tools/encrypt/identity.h"
#include "tabane/tools/encrypt/manifest_format.h"
#include "tabane/tools/encrypt/sealed_format.h"
#include "tabane/tools/encrypt/selection.h"
#include "tabane/tools/encrypt/tree.h"

namespace tabane::encrypt {

enum class Direction { encrypt, decrypt, verify };
enum class Cipher { aes_256_gcm, aes_128_cbc, aes_256_cbc };

// Bytes of a key file for the cipher: 16 or 32.
constexpr std::size_t key_bytes(Cipher cipher) { return cipher == Cipher::aes_128_cbc ? 16 : 32; }

// As IN or OUT: standard input or output. A file of that name is ./-.
inline constexpr const char* kStandardStream = "-";

struct Request {
  Direction direction = Direction::encrypt;
  Cipher cipher = Cipher::aes_256_gcm;
  std::string in, out;  // out: not for verify
  // Files that the caller is going to write. None may be IN or OUT or lie there, nor in a sealed
  // tree that IN is a part of.
  struct Record {
    const char* option;
    std::string path;
  };
  std::vector<Record> records;
  crypto::KeyFiles key_files;  // that the caller reads what follows from; nothing replaces them
  MasterKey key;               // used if there is no passphrase; AES-128 takes the first 16 bytes
  bool has_key = true;         // false: only a passphrase, identities or recipients
  crypto::Passphrase passphrase;      // this and the next two: not for CBC
  std::vector<Identity> identities;   // that open, beside the key or passphrase
  std::vector<Recipient> recipients;  // that may open what is encrypted
  std::optional<crypto::Block>
      fixed_iv;          // CBC: for all files, nothing stored; otherwise stored in front
  Selection selection;   // of the plain tree
  bool dry_run = false;  // plan and check, write nothing
  // What becomes of what is in OUT already. Only one of force and resume; update goes with resume.
  //
  //           OUT may be        current   other   leftovers of  key and       what IN does
  //                             outputs   files   killed jobs   manifest      not have
  //  none     empty             –         fail    stay          new           –
  //  force    anything          replaced  replaced  removed     new           stays
  //  resume   anything          stay      replaced  removed     those of OUT  is named
  //  update   a sealed tree     stay      replaced  removed     those of OUT  is removed
  bool force = false;
  bool resume = false;
  bool update = false;
  // With update: remove what IN lacks even if that is more than half of the files, and more than
  // ten, of which Hooks::may_remove() is asked otherwise.
  bool remove_most = false;
  bool fsync = false;
  bool preserve = false;          // modes as they are, see ModePolicy
  bool xattrs = false;            // extended attributes are kept in the manifest, and given back
  bool hide_names = false;        // encrypt: a directory's names and structure only in the manifest
  bool quick = false;             // verify: only the manifest and what it tells files apart by
  bool without_manifest = false;  // decrypt, verify: take the files as they are
  std::optional<ManifestHash> root;  // decrypt, verify: of the manifest, if it is known
  unsigned threads = 0;              // 0: chosen from the files and the machine
  crypto::Engine engine = crypto::Engine::automatic;
  std::string device;  // of opencl; see device::choose_device()
  // Derives keys from passphrases at any cost that a header asks for; see KeyRing.
  bool allow_costly_passphrase = false;
  int passphrase_log2_n = crypto::kPassphraseLog2N;  // of what is written; less is for tests
  bool measure_copy = true;  // copies some of the input between the work, for JobReport::copy_share

  bool is_sealed() const { return cipher == Cipher::aes_256_gcm; }
  bool encrypts() const { return direction == Direction::encrypt; }
  bool seals() const { return encrypts() && is_sealed(); }
  bool opens_sealed() const { return !encrypts() && is_sealed(); }
  bool replaces() const { return force || resume; }  // what is in OUT
  // Whether `.tabane` at IN's root is tabane's own, or would be where OUT has it.
  bool keeps_own_name() const { return is_sealed() && !hide_names; }
};

// throws: core::UsageError for options that do not go together, before anything is looked at.
void check(const Request& request);

// Where the time of a job goes: its phases, and the units of work of each thread, in this process.
// Thread-safe.
class Trace {
 public:
  using Clock = std::chrono::steady_clock;

  struct Event {
    const char* what = "";  // a literal
    std::string file = {};  // of a unit of work: the first one
    std::uint64_t files = 0, bytes = 0;
    Clock::time_point begin = {}, end = {};
    std::size_t thread = 0;  // counted as they appear; 0 is the one that made the trace
  };

  // Begins now, with the start of the program as its first event: the CPU time that the process has
  // used until now, which is the time on the clock if nothing else had its core.
  Trace() {
    const std::chrono::nanoseconds used(core::clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    add({.what = "start of the program", .begin = Clock::now() - used});
  }

  // Sets the event's thread, and its end to now.
  void add(Event event) {
    event.end = Clock::now();
    const std::lock_guard lock(mutex_);
    event.thread = threads_.try_emplace(std::this_thread::get_id(), threads_.size()).first->second;
    events_.push_back(std::move(event));
  }
  // After the work; in the order in which they ended.
  const std::vector<Event>& events() const { return events_; }

 private:
  std::mutex mutex_;
  std::map<std::thread::id, std::size_t> threads_;
  std::vector<Event> events_;
};

// An event that lasts as long as this lives. trace: null: there is none.
class Traced {
 public:
  Traced(Trace* trace, const char* what) : trace_(trace) {
    if (trace_) event_ = {.what = what, .begin = Trace::Clock::now()};
  }
  ~Traced() {
    if (trace_) trace_->add(std::move(event_));
  }
  Traced(const Traced&) = delete;
  Traced& operator=(const Traced&) = delete;

  // Of a unit of work.
  void set_files(std::string first, std::uint64_t files, std::uint64_t bytes) {
    event_.file = std::move(first);
    event_.files = files;
    event_.bytes = bytes;
  }

 private:
  Trace* const trace_;
  Trace::Event event_;
};

struct Progress {
  std::uint64_t files = 0, bytes = 0;              // done
  std::uint64_t files_total = 0, bytes_total = 0;  // of the input
};

struct Hooks {
  // Called from any thread.
  std::function<bool()> stop_requested = [] { return false; };
  // Once, when neither OUT nor the record lies where the job reads or writes other things.
  std::function<void()> places_are_fit = [] {};
  std::function<void(const Progress&)> progress = [](const Progress&) {};  // ten times a second
  // Asks whether an update may remove so many of the files of OUT, where that needs a yes. May
  // throw Stopped.
  std::function<bool(std::uint64_t files, std::uint64_t of)> may_remove =
      [](std::uint64_t, std::uint64_t) { return false; };
  Trace* trace = nullptr;  // gets what this process does; null: nobody wants it
  // Opens the coprocessor with this index; tests have one that fails.
  std::function<std::unique_ptr<device::Device>(std::size_t)> open_device = device::open_device;
};

// What became of it.
struct JobReport {
  bool complete = false;               // not stopped; there may be failures
  std::uint64_t files = 0, bytes = 0;  // done in this run; of the input, in whole files
  std::uint64_t files_kept = 0;        // complete and current already
  std::uint64_t files_unlisted = 0;    // whole and sealed anew: the manifest in OUT had others
  std::uint64_t removed = 0;           // files and directories that the input no longer has
  std::vector<std::string>
      would_remove;  // those, of a dry run of an update; directories end in '/'
  std::uint64_t files_total = 0, bytes_total = 0, directories = 0;
  std::optional<std::uint64_t> free_bytes;  // of a dry run: that OUT's file system has
  std::uint64_t links = 0;                  // symbolic ones: sealed, restored or looked at
  std::uint64_t symlinks = 0, special = 0, excluded = 0, leftovers_removed = 0;
  // Left out when decrypting or verifying: paths of files with the name of a temporary one that are
  // not whole, are not in the manifest, or are of CBC, which tells nothing of either.
  std::vector<std::string> temporaries;
  // Paths in OUT of files that stay, and may be leftovers: see Leftovers. A sealed tree that is
  // resumed has failures for them.
  std::vector<std::string> doubtful;
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

}  // namespace tabane::encrypt
