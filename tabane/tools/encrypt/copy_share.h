// What share of the speed of plain copying a job reaches: said only if the run showed it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tabane/core/statistics.h"

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
  void worked(double seconds, double amount);
  void copied(double seconds, double amount);

 private:
  double worked_seconds_ = 0, worked_amount_ = 0, copied_seconds_ = 0, copied_amount_ = 0;
};

}  // namespace tabane::encrypt
