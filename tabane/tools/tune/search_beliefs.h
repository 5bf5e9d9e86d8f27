// What a search believes: of every candidate after some were run, and of the noise of runs. All
// values are logarithms of what is made best.
#pragma once

#include <span>
#include <vector>

#include "tabane/tools/tune/space.h"

namespace tabane::lab::tune {

// Of the standard normal distribution.
double normal_density(double x);
double normal_share_below(double x);

struct Belief {
  double mean = 0, variance = 0;  // of a logarithm

  double deviation() const;
};

// Standard deviations of logarithms that are expected before anything is known.
struct Prior {
  double offset = 2;           // of all candidates together
  double workers = 0.5;        // of a number of processes or threads, beyond the law
  double shape = 0.4;          // of processes × threads beyond both
  double total = 0.4;          // of the number of workers, whatever their shape
  double amount = 0.3;         // of another number
  double choice = 0.12;        // of a word
  double choice_shape = 0.2;   // of a word, different from shape to shape
  double choice_total = 0.15;  // of a word, different with the number of workers
  double pair = 0.05;          // of two words together
  double own = 0.02;           // of a candidate alone
  double total_octaves = 1;    // where cores are full, behaviour changes quickly
  double octaves = 2;          // of a number, over which its effect changes
};

// The covariance of two candidates of a space.
class Covariance {
 public:
  Covariance(const Space& space, const Prior& prior);
  double operator()(const Candidate& a, const Candidate& b) const;

 private:
  double correlation(std::size_t dimension, int a, int b) const {
    return tables_[dimension]
                  [static_cast<std::size_t>(a) * sizes_[dimension] + static_cast<std::size_t>(b)];
  }
  Prior prior_;
  std::vector<Scale> scales_;
  std::vector<std::size_t> sizes_;
  double log_workers(const Candidate& candidate) const;

  std::vector<std::vector<double>> logs_;    // of the amounts of what counts workers; else empty
  std::vector<std::vector<double>> tables_;  // correlations of the levels of each dimension
};

// A Gaussian process over the values of all candidates, kept up to date run by run.
// source: Rasmussen and Williams, Gaussian Processes for Machine Learning, chapter 2.
class Surrogate {
 public:
  // means: expected of each candidate beforehand.
  Surrogate(const std::vector<Candidate>& candidates, const Covariance& covariance,
            std::vector<double> means);

  // variance: of the noise of this value. cost: runs so far × candidates.
  void observe(std::size_t candidate, double value, double variance);
  const Belief& operator[](std::size_t candidate) const { return beliefs_[candidate]; }
  // Of what was observed, each value given those before it: which of two priors fits better.
  double log_likelihood() const { return log_likelihood_; }

 private:
  const std::vector<Candidate>& candidates_;
  const Covariance& covariance_;
  std::vector<Belief> beliefs_;
  std::vector<std::vector<float>> rows_;  // of the Cholesky factor, over all candidates
  double log_likelihood_ = 0;
};

// Noise of runs: small on both sides, and now and then a disturbance, which only makes a run worse.
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
