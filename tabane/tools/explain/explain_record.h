// The record of an explanation: the answer, shares and slow-downs as tables and charts, every run.
#pragma once

#include <string>

#include "tabane/core/topology.h"
#include "tabane/lab/record/record.h"
#include "tabane/tools/explain/conclude.h"

namespace tabane::lab::explain {

// A record of kind study. Its sentences are the answer. command_line: of tabane.
Record explain_record(const core::Topology& topology, const Evidence& evidence,
                      const Explanation& explanation, const std::string& command_line);

}  // namespace tabane::lab::explain
