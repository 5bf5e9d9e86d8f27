// What a tuning varies: factors with their levels, and the candidates that they span.
//
// Level 0 of every factor is the command as it was started, so candidate 0 of a space changes
// nothing.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "tabane/lab/record/points.h"

namespace tabane::lab::tune {

enum class Scale {
  processes,  // numbers whose product with the threads is the number of workers
  threads,
  amount,  // other numbers: neighbours behave alike
  choice,  // words: nothing is known of one from another
};

struct Dimension {
  std::string name;  // "threads"
  Scale scale = Scale::choice;
  std::vector<Level> levels = {};  // the first: as started
  // What the levels amount to; only of numbers. That of level 0 is the best that is known.
  std::vector<double> amounts = {};

  bool counts_workers() const { return scale == Scale::processes || scale == Scale::threads; }
  // The levels by amount, as indices; of words as they are.
  std::vector<std::size_t> by_amount() const;
};

using Candidate = std::vector<int>;  // the index of a level of each dimension

// What "as started" is called where a level is shown.
inline constexpr const char* kAsStarted = "as started";

class Space {
 public:
  using Legal = std::function<bool(const Candidate&)>;

  static constexpr std::size_t kMostCandidates = 200'000;

  // legal: which combinations may be run; candidate 0 always may. Null: all.
  // throws: core::UsageError for more than kMostCandidates.
  explicit Space(std::vector<Dimension> dimensions, const Legal& legal = {});

  const std::vector<Dimension>& dimensions() const { return dimensions_; }
  const std::vector<Candidate>& candidates() const { return candidates_; }
  // candidates().size(): it is not among them.
  std::size_t index_of(const Candidate& candidate) const;

  // The number of processes or of threads of each; 1 where it is not varied.
  double amount(Scale scale, const Candidate& candidate) const;
  double processes(const Candidate& candidate) const { return amount(Scale::processes, candidate); }
  double threads(const Candidate& candidate) const { return amount(Scale::threads, candidate); }
  double workers(const Candidate& candidate) const {
    return processes(candidate) * threads(candidate);
  }

  // Whether it is the command as started but for the number of these workers; of others it has one.
  bool differs_only_in(Scale scale, const Candidate& candidate) const;
  // Factors that differ from the command as started.
  int changes(const Candidate& candidate) const;

  Factors factors(const Candidate& candidate) const;
  // "threads 8, placement scatter"; only what differs from the command as started, which itself is
  // "as started".
  std::string text(const Candidate& candidate) const;

 private:
  std::vector<Dimension> dimensions_;
  std::vector<Candidate> candidates_;  // in lexicographic order
};

// 1, 2, 4 … most, and those of `marks` that are at most `most`: ascending, each once.
std::vector<int> ladder(int most, const std::vector<int>& marks);

}  // namespace tabane::lab::tune
