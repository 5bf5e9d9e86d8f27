// Records as files that users name.
#pragma once

#include <string>

#include "tabane/lab/record/record.h"

namespace tabane::program {

// Reads a survey, study, bench or comparison of any schema version that this program knows.
// throws: core::UsageError naming the file and what is wrong with it; core::SystemError.
lab::Record read_record(const std::string& file);

}  // namespace tabane::program
