// The survey: runs probes on this machine and collects everything that the report shows.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tabane/lab/probe.h"

namespace tabane::lab {

struct SurveyOptions {
  std::vector<std::string> only;  // patterns; empty: all probes
  bool quick = false;
  std::string command_line;
};

// Checks that a survey of these patterns can run on this machine.
// throws: core::UsageError for unknown patterns, and if the topology is that of another machine.
void check_survey(const core::Topology& topology, std::span<const std::string> only);

// Runs these probes for a study: adds what they find to its record, with views and advice.
// throws: as check_survey(), before anything runs.
void add_probes(Record& record, const core::Topology& topology, std::span<const std::string> only,
                const Hooks& hooks = {});

// Runs the survey. The record is complete unless stop_requested became true.
// throws: as check_survey(), before anything runs.
Record run_survey(const core::Topology& topology, const SurveyOptions& options,
                  const Hooks& hooks = {});

}  // namespace tabane::lab
