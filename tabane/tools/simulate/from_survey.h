// The machine that a survey has measured, as one to simulate.
#pragma once

#include <string>

#include "tabane/lab/record/record.h"
#include "tabane/tools/simulate/rates.h"

namespace tabane::simulate {

// Returns the text of a machine file, with comments that say where each law comes from. rates:
// those that were measured on the same machine, or none. throws: core::UsageError naming the
// figures that are missing, or if the record is no survey.
std::string machine_from(const lab::Record& survey, const Rates& rates);

bool is_of_this_machine(const lab::Record& survey);

}  // namespace tabane::simulate
