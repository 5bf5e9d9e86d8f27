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

struct SurveyHooks {
  std::function<bool()> stop_requested = [] { return false; };
  // Before and during each probe: its name, the share of the whole survey done, the seconds left.
  std::function<void(const std::string& probe, double done, double seconds_left)> progress =
      [](const std::string&, double, double) {};
  std::function<void(const Result&)> on_result = [](const Result&) {};
  // After every probe, so that a lost session loses little.
  std::function<void(const SurveyRecord&)> on_probe_done = [](const SurveyRecord&) {};
};

// Checks that a survey of these patterns can run on this machine.
// throws: core::UsageError for unknown patterns, and if the topology is that of another machine.
void check_survey(const core::Topology& topology, std::span<const std::string> only);

// Runs the survey. The record is complete unless stop_requested became true.
// throws: as check_survey(), before anything runs.
SurveyRecord run_survey(const core::Topology& topology, const SurveyOptions& options,
                        const SurveyHooks& hooks = {});

}  // namespace tabane::lab
