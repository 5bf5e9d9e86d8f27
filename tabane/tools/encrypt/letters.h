// What rank 0 of a job and the ranks that work for it send each other, and how: letters, the tree,
// and the keys under a key pair that is used once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tabane/comm/comm.h"
#include "tabane/crypto/key_derivation.h"
#include "tabane/team/serialiser.h"
#include "tabane/tools/encrypt/attributes.h"
#include "tabane/tools/encrypt/key_ring.h"
#include "tabane/tools/encrypt/key_slots.h"
#include "tabane/tools/encrypt/manifest_compare.h"
#include "tabane/tools/encrypt/plan.h"
#include "tabane/tools/encrypt/request.h"
#include "tabane/tools/encrypt/tree.h"

// Leaves out the bytes of a salt that is not there: they are what memory held before.
template <>
struct tabane::team::Serialiser<tabane::encrypt::Misfit> {
  static void put(Bytes& out, const encrypt::Misfit& misfit) {
    put_value(out, misfit.kind);
    put_value(out, misfit.salt.has_value());
    if (misfit.salt) put_value(out, *misfit.salt);
  }
  static encrypt::Misfit get(Reader& in) {
    encrypt::Misfit misfit{.kind = get_value<encrypt::Difference>(in)};
    if (get_value<bool>(in)) misfit.salt = get_value<encrypt::Salt>(in);
    return misfit;
  }
};

namespace tabane::encrypt {

struct Letter {
  int from = 0;
  team::Bytes text;

  // throws: std::out_of_range if the text ends too early.
  template <class What>
  What as() const {
    team::Reader reader(text);
    return team::get_value<What>(reader);
  }
};

// The text of a letter that has this.
team::Bytes encode(const auto& what) {
  team::Bytes text;
  team::put_value(text, what);
  return text;
}

// throw, all: core::LostError if a rank is gone.
class RankMail {
 public:
  explicit RankMail(comm::Comm& ranks) : ranks_(ranks) {}

  void post(int to, int tag, team::Bytes text);
  // Returns a letter that has come, or nothing.
  std::optional<Letter> take(int tag);
  // Waits for one without using a core: it may take as long as a walk through a tree.
  Letter wait(int tag);
  // Waits until the others have taken what was posted.
  void flush();

 private:
  struct Posted {
    team::Bytes text;
    std::optional<comm::Request> request;
  };
  void reap();

  comm::Comm& ranks_;
  std::list<Posted> posted_;  // an element must stay where it is
};

// The secrets of a job, as one piece of memory. On their way from rank 0 to another rank, each 32
// bytes are wrapped as a tree's key is for a recipient, for a key pair that the other rank has
// drawn for this job alone.
class RankSecrets {
 public:
  // The request's key, passphrase and identities, and the tree's key, if there is one.
  RankSecrets(const Request& request, const TreeKey* tree);
  // What wrap() of another rank has returned. throws: core::Error if it is not for this pair.
  RankSecrets(const std::vector<Slot>& blocks, const crypto::X25519Secret& secret,
              const crypto::X25519Public& own);

  std::vector<Slot> wrap(const crypto::X25519Public& recipient) const;

  // Puts them back. Returns the tree's key, or nothing.
  std::optional<TreeKey> unpack(Request& request) const;

 private:
  crypto::LockedMemory memory_;  // head, keys, identities, passphrase; whole blocks
};

inline constexpr int kHelloTag = 1, kStartTag = 2, kWorkTag = 3, kReportTag = 4;

// From a rank that has started.
struct Hello {
  std::string machine;  // the same on all ranks of one machine
  std::vector<unsigned> pus;
  crypto::X25519Public key{};  // of a pair for this job alone

  auto fields() { return std::tie(machine, pus, key); }
};

// For each rank, how many of its PUs are its own if ranks that share some share them fairly; at
// least 1.
std::vector<unsigned> divide_pus(const std::vector<Hello>& ranks);

// From rank 0 when it knows the job. All but `works` counts only if that is true.
struct Start {
  bool works = false;  // false: there is nothing to do for others
  unsigned threads = 1;
  PlanOptions plan;
  std::string in, out;  // directories; out is empty: nothing is written
  std::string sign;     // the name of a file in `out`: it is the same directory for both
  ModePolicy modes;
  bool scan_may_hold_leftovers = false;
  bool has_root = false;
  ManifestHash root{};  // of the manifest of what is read, or of what is gone on with
  bool was_interrupted = false;
  TreeId tree{};
  std::vector<std::byte> slots;  // of the tree that is sealed; empty: none is
  std::vector<Slot> secrets;

  auto fields() {
    return std::tie(works, threads, plan, in, out, sign, modes, scan_may_hold_leftovers, has_root,
                    root, was_interrupted, tree, slots, secrets);
  }
};

// From rank 0: units to do.
struct Work {
  std::vector<Share> units;
  bool end = false;   // there is nothing more
  bool stop = false;  // leave what was begun

  auto fields() { return std::tie(units, end, stop); }
};

// From a rank that helps.
struct Report {
  std::vector<Share> done;
  std::vector<std::pair<std::uint32_t, std::string>> failures;
  std::vector<std::pair<std::uint32_t, Misfit>> differences;
  std::uint64_t bytes_done = 0;      // in all, begun or done
  std::uint64_t files_unlisted = 0;  // in all
  std::uint32_t wants = 0;           // units
  bool stop = false;                 // the job is to be stopped
  bool leaves = false;               // the last report of the rank
  std::string complaint;             // why it could not do what it was given

  auto fields() {
    return std::tie(done, failures, differences, bytes_done, files_unlisted, wants, stop, leaves,
                    complaint);
  }
};

// Copies rank 0's trees to the other ranks, whose `trees` are empty. Called by all ranks at once.
// throws: core::LostError.
void share(Trees& trees, comm::Comm& ranks);

}  // namespace tabane::encrypt
