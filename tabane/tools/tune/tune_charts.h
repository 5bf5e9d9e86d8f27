// The charts of a tuning.
#pragma once

#include <string>
#include <vector>

#include "tabane/tools/tune/tune_record.h"

namespace tabane::lab::tune {

// A tuning as its views see it.
struct TuneData {
  const Space& space;
  const Tuning& tuning;
  const Told& told;
  std::vector<std::vector<double>> values = {};  // of complete runs, of each candidate, as shown

  double shown(double value) const { return told.inverted ? 1 / value : value; }
  double shown_log(double log) const { return shown(std::exp(log)); }
  const Candidate& candidate(std::size_t i) const { return space.candidates()[i]; }
  bool was_run(std::size_t i) const { return !values[i].empty(); }
  std::string text(std::size_t i) const { return space.text(candidate(i)); }
};

// Adds the heat map of processes and threads, the laws, the effects of the factors and the runs in
// their order.
void add_tune_charts(Record& record, const TuneData& data);

}  // namespace tabane::lab::tune
