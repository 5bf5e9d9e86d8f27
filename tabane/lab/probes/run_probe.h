// For tests: runs one probe of a family with a small budget and returns what it reported.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tabane/core/topology.h"
#include "tabane/lab/probe.h"

namespace tabane::lab {

inline const core::Topology& this_machine() {
  static const core::Topology topology = core::Topology::detect();
  return topology;
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

// stop_after: calls of progress() after which the user asks to stop.
inline ProbeRun run_probe(ProbeFamily family, const std::string& name, bool quick,
                          double budget_seconds, const core::Topology& topology = this_machine(),
                          std::size_t stop_after = static_cast<std::size_t>(-1)) {
  ProbeRun run;
  ProbeContext::Hooks hooks;
  hooks.progress = [&](double fraction) {
    run.fractions.push_back(fraction);
    if (run.fractions.size() >= stop_after) throw Stopped();
  };
  ProbeContext context(topology, quick, budget_seconds, run.record, hooks);
  for (const Probe& probe : family(topology)) {
    if (probe.name != name) continue;
    probe.run(probe, context);
    return run;
  }
  throw std::runtime_error("no probe " + name);
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
