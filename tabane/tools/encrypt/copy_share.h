// What share of the speed of plain copying a job reaches: said only if the run showed it.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "tabane/core/output_file.h"
#include "tabane/core/statistics.h"
#include "tabane/crypto/secret.h"
#include "tabane/tools/encrypt/plan.h"
#include "tabane/tools/encrypt/tree.h"

namespace tabane::encrypt {

// A part of the input that was copied, and the work of the same thread on the files around it right
// after. An amount is bytes, and for whole files what opening and making them is worth in bytes.
struct CopyPair {
  double at = 0;  // seconds since the run began
  double copy_seconds = 0, copy_amount = 0;
  double work_seconds = 0, work_amount = 0;
};

// A file's share of an amount: about what opening and making one takes.
inline constexpr double kBytesOfFile = 16384;

// Speed of the work over the speed of copying: the median of the pairs with its 95 % interval.
// Nothing if the pairs do not cover the run (each quarter has some), or if the ends of the interval
// are more than a factor of 1.2 apart. seconds: of the run.
std::optional<core::Ratio> share_of_copying(const std::vector<CopyPair>& pairs, double seconds);

// When a thread may copy: 1 % of what it has worked on, while that has taken at most 2 % of the
// time of the work. So the copies are spread evenly over its run, and one that was held up, as by
// another process, does not use up what the next ones need.
class CopyBudget {
 public:
  bool allows(double amount) const;
  void worked(double seconds, double amount) {
    worked_seconds_ += seconds;
    worked_amount_ += amount;
  }
  void copied(double seconds, double amount) {
    copied_seconds_ += seconds;
    copied_amount_ += amount;
  }

 private:
  double worked_seconds_ = 0, worked_amount_ = 0, copied_seconds_ = 0, copied_amount_ = 0;
};

// The pairs of all threads of a run, which begins now. Thread-safe.
class CopyPairs {
 public:
  void add(const CopyPair& pair) {
    const std::lock_guard lock(mutex_);
    pairs_.push_back(pair);
  }
  const std::vector<CopyPair>& all() const { return pairs_; }  // after the threads have ended
  double now() const {                                         // seconds since the run began
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

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
  struct CopiedPart {
    std::uint32_t file;
    std::uint64_t offset, bytes;
  };
  // The parts to copy before the unit, and what they amount to.
  std::vector<CopiedPart> parts_of(const Unit& unit) const;
  double amount_of(const Unit& unit, const std::vector<CopiedPart>& parts) const;
  double amount_of(const Unit& unit) const;
  // Returns the seconds that copying took. throws: core::SystemError.
  double copy(const Unit& unit, const std::vector<CopiedPart>& parts);
  void copy_part(int in, int out, CopiedPart part);

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
