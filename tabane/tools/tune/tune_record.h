// A tuning as a record: what was found, tables and charts of it, and all runs, so that the tuning
// can be gone on with.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tabane/core/topology.h"
#include "tabane/lab/record/record.h"
#include "tabane/tools/tune/tuning.h"

namespace tabane::lab::tune {

// What the record shows that the tuning does not know.
struct TuningHeader {
  std::string command;           // as the user starts it now
  std::string command_line;      // of the tuning
  std::string goal;              // "wall time"
  std::string unit;              // of the values
  bool inverted = false;         // the values are 1 / what is shown
  std::string line, other_line;  // how to start the chosen candidate, and another way; empty: none
  Json kept = Json::object();    // what applying it needs
  std::vector<std::pair<std::string, std::string>> left_out;  // factors, and why
  std::vector<std::string> warnings;
};

Record tune_record(const core::Topology& topology, const Space& space, const Tuning& tuning,
                   const TuningHeader& header);

// What TuningHeader::kept was. throws: core::UsageError if the record is of no tuning.
const Json& kept_of(const Record& record);

// The runs of a record over the same space.
// throws: core::UsageError if it is of no tuning or of another space, and says what differs.
std::vector<TunedRun> runs_of(const Record& record, const Space& space);

// Why what was found on the record's machine is not to be used on this one; empty: it is the same.
std::string machine_differs(const Record& record, const core::Topology& topology);

// A tuning as its views see it.
struct TuneData {
  const Space& space;
  const Tuning& tuning;
  const TuningHeader& header;
  std::vector<std::vector<double>> values = {};  // of complete runs, of each candidate, as shown

  double shown(double value) const { return header.inverted ? 1 / value : value; }
  const Candidate& candidate(std::size_t i) const { return space.candidates()[i]; }
  bool was_run(std::size_t i) const { return !values[i].empty(); }
  std::string text(std::size_t i) const { return space.text(candidate(i)); }
};

// Adds the heat map of processes and threads, the laws, the effects of the factors and the runs in
// their order.
void add_tune_charts(Record& record, const TuneData& data);

}  // namespace tabane::lab::tune
