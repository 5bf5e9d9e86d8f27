// A study: one of the reports run again on this machine, its tables with the report's figures
// beside.
#pragma once

#include <string>
#include <vector>

#include "tabane/core/topology.h"
#include "tabane/lab/record.h"
#include "tabane/lab/survey.h"

namespace tabane::lab {

// One demonstration of the report as text, ready to be laid out.
struct StudyTable {
  std::string title;
  std::string remark;                          // what the figures show, in one or two sentences
  std::vector<std::vector<std::string>> rows;  // the first is the head
};

struct Study {
  std::string name;
  std::string title;
  std::string source;  // the report
  std::vector<StudyTable> tables;
  SurveyRecord record;  // the figures measured, with raw samples
};

Json to_json(const Study& study);

// The four demonstrations of the HA8000 guide: clock-level timing, running on a chosen CPU, memory
// in a chosen place, SIMD. throws: as run_survey().
Study run_ha8000(const core::Topology& topology, bool quick, const SurveyHooks& hooks = {});

}  // namespace tabane::lab
