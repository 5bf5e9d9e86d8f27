// Records with invented numbers, for the tests of the report.
#pragma once

#include <cstddef>

#include "tabane/lab/record/record.h"

namespace tabane::lab::testing {

// A complete survey of an invented machine with `pus` PUs (even, >= 2) and two NUMA nodes: all
// results, tables, warnings and surroundings that the report knows.
Record full_record(std::size_t pus = 16);

// One PU, no NUMA, no core-to-core: what is left on the smallest machine.
Record one_cpu_record();

// A study with a table, a chart, a matrix too small for one, published figures.
Record study_record();

// A comparison with peers: faster, undecided, slower, skipped, and a figure beside its limit.
Record bench_record();

// Results and surroundings without any table.
Record record_without_tables();

// Markup, quotes, script ends, gnuplot commands and invalid UTF-8 in every text.
Record hostile_record();

}  // namespace tabane::lab::testing
