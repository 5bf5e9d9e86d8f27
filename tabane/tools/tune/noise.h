// Noise of runs: small on both sides, and now and then a disturbance, which only makes a run worse.
// All values are logarithms of what is made best.
#pragma once

#include <span>
#include <vector>

#include "tabane/tools/tune/surrogate.h"

namespace tabane::lab::tune {

class Noise {
 public:
  // Learns from the runs of each candidate. cost: their number.
  void learn(const std::vector<std::vector<double>>& runs_of);

  double deviation() const { return deviation_; }  // of equal runs that were not disturbed
  double disturbed_share() const { return disturbed_share_; }

  // Runs of one candidate above this were disturbed. Of two runs that differ much the better one
  // counts, of more their median.
  double limit(std::span<const double> runs) const;
  // The median of the runs of one candidate that were not disturbed. runs: not empty.
  double middle(std::span<const double> runs) const;
  // How probable it is that the only run of a candidate was disturbed. expected: of the candidate,
  // from all but this run.
  double chance_disturbed(const Belief& expected, double value) const;

 private:
  static constexpr double kUsual = 0.03;  // until runs have shown it
  static constexpr double kUsuallyDisturbed = 0.05;

  double deviation_ = kUsual, disturbed_share_ = kUsuallyDisturbed;
};

// Whether neighbours among these values are more alike than chance makes them (once in 20). Too few
// values never are. source: Bartels, The rank version of von Neumann's ratio test for randomness,
// 1982. cost: O(n log n).
bool drifts(std::span<const double> in_order);

// By how much a disturbance makes a run worse, at most.
extern const double kWorstDisturbance;

}  // namespace tabane::lab::tune
