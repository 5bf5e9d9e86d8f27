// Records with invented numbers, for the tests of the report.
#pragma once

#include <cstddef>

#include "tabane/lab/record.h"

namespace tabane::lab::testing {

// A complete survey of an invented machine with `pus` PUs (even, >= 2) and two NUMA nodes: all
// results, tables, warnings and surroundings that the report knows.
SurveyRecord full_record(std::size_t pus = 16);

// One PU, no NUMA, no core-to-core: what is left on the smallest machine.
SurveyRecord one_cpu_record();

// Results and surroundings without any table.
SurveyRecord record_without_tables();

// Markup, quotes, script ends, gnuplot commands and invalid UTF-8 in every text.
SurveyRecord hostile_record();

}  // namespace tabane::lab::testing
