// For tests: runs one probe of a family with a small budget and returns what it reported.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "tabane/core/memory.h"
#include "tabane/core/topology.h"
#include "tabane/lab/probe.h"

namespace tabane::lab {

inline const core::Topology& this_machine() {
  static const core::Topology topology = core::Topology::detect();
  return topology;
}

inline bool memory_can_be_placed() {
  return this_machine().numa_nodes().size() == 1 || core::numa_calls_available();
}

struct ProbeRun {
  Record record;
  std::vector<double> fractions;  // that the probe told as its progress

  const Result& result(const std::string& name) const {
    const Result* found = record.find(name);
    if (found == nullptr) throw std::runtime_error("no result " + name);
    return *found;
  }
  const View& table(const std::string& name) const {
    const View* found = record.find_view(name);
    if (found == nullptr) throw std::runtime_error("no table " + name);
    return *found;
  }
};

using ProbeFamily = std::vector<Probe> (*)(const core::Topology&);

// stop_after: calls of progress() after which the user asks to stop, but not at the very end, which
// visit() reports itself. passes: of the survey. before: what the survey measured before.
inline ProbeRun run_probe(ProbeFamily family, const std::string& name, bool quick,
                          double budget_seconds, const core::Topology& topology = this_machine(),
                          std::size_t stop_after = static_cast<std::size_t>(-1),
                          std::size_t passes = 1, Record before = {}) {
  ProbeRun run;
  run.record = std::move(before);
  ProbeContext::Hooks hooks;
  hooks.progress = [&](double fraction) {
    run.fractions.push_back(fraction);
    if (run.fractions.size() >= stop_after && fraction < 1) throw Stopped();
  };
  const std::vector<Probe> probes = family(topology);
  const auto probe = std::find_if(probes.begin(), probes.end(),
                                  [&](const Probe& one) { return one.name == name; });
  if (probe == probes.end()) throw std::runtime_error("no probe " + name);
  ProbeMemory memory;
  for (std::size_t pass = 0; pass < passes; ++pass) {
    ProbeContext context(topology, quick, budget_seconds, {pass, passes}, memory, run.record,
                         hooks);
    visit({&*probe, 1}, context);
  }
  return run;
}

// Progress runs from 0 to 1 and never back.
inline bool is_steady_progress(const std::vector<double>& fractions) {
  double last = 0;
  for (const double fraction : fractions) {
    if (fraction < last || fraction > 1) return false;
    last = fraction;
  }
  return last == 1;
}

}  // namespace tabane::lab
