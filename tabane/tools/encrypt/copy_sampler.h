// Copies small parts of the input between units of a job, to hold the job's speed against.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "tabane/core/output_file.h"
#include "tabane/crypto/secret.h"
#include "tabane/tools/encrypt/copy_share.h"
#include "tabane/tools/encrypt/plan.h"
#include "tabane/tools/encrypt/tree.h"

namespace tabane::encrypt {

// The pairs of all threads of a run, which begins now. Thread-safe.
class CopyPairs {
 public:
  void add(const CopyPair& pair);
  const std::vector<CopyPair>& all() const { return pairs_; }  // after the threads have ended
  double now() const;                                          // seconds since the run began

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::vector<CopyPair> pairs_;
};

// Of one thread. Before a unit it may copy a small part of it: some whole files, or a part of
// a large one, into temporary files of the open directory `to` that hold random bytes and are
// removed at once. Reads what has not been read yet, so that both find the same caches.
class CopySampler {
 public:
  // All live as long as this.
  CopySampler(const Tree& tree, const Plan& plan, int in_root, int to, CopyPairs& pairs);

  // Called around a unit's work. A file that cannot be copied is no sample, and no failure.
  void before(const Unit& unit);
  // whole: all of the unit was worked on; otherwise there is no pair.
  void after(const Unit& unit, bool whole);

 private:
  struct Part {
    std::uint32_t file;
    std::uint64_t offset, bytes;
  };
  // The parts to copy before the unit, and what they amount to.
  std::vector<Part> parts_of(const Unit& unit) const;
  double amount_of(const Unit& unit, const std::vector<Part>& parts) const;
  double amount_of(const Unit& unit) const;
  // Returns the seconds that copying took. throws: core::SystemError.
  double copy(const Unit& unit, const std::vector<Part>& parts);
  void copy_part(int in, int out, Part part);

  const Tree& tree_;
  const Plan& plan_;
  CopyPairs& pairs_;
  DirectoryOpener directories_;
  core::SharedDescriptor to_;
  CopyBudget budget_;
  crypto::PageBuffer in_, random_;
  bool failed_ = false;
  CopyPair pair_;  // of the unit at work; without copy_amount: nothing was copied
  double unit_begin_ = 0;
};

}  // namespace tabane::encrypt
