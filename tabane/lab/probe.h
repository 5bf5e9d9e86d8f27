// A probe: one thing that tabane can measure of a machine, with a stable name and a version.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tabane/core/measurement.h"
#include "tabane/core/topology.h"
#include "tabane/lab/campaign/progress.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

// Thrown by a probe that cannot run on this machine; the survey records the reason and goes on.
class NotHere : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ProbeContext {
 public:
  struct Hooks {
    std::function<void(double share)> progress = [](double) {};  // throws Stopped
    std::function<void(const Result&)> on_result = [](const Result&) {};
  };
  ProbeContext(const core::Topology& topology, bool quick, double budget_seconds, Record& record,
               Hooks hooks)
      : topology_(topology),
        quick_(quick),
        budget_seconds_(budget_seconds),
        record_(record),
        hooks_(std::move(hooks)) {}

  const core::Topology& topology() const { return topology_; }
  bool quick() const { return quick_; }
  // The time that the running probe should take, all its points together.
  double budget_seconds() const { return budget_seconds_; }

  // The median of a result measured earlier in this survey; null if there is none.
  std::optional<double> earlier(std::string_view name) const;
  const Result* earlier_result(std::string_view name) const;  // until the next report(); or null

  void report(Result result);
  void report(View view);

  // Marks how much of the probe is done, 0…1. throws: Stopped if the user asked to stop.
  void progress(double share) { hooks_.progress(share); }

 private:
  const core::Topology& topology_;
  bool quick_;
  double budget_seconds_;
  Record& record_;
  Hooks hooks_;
};

struct Probe {
  std::string name;  // stable; results and tables of the probe are named by it or below it
  std::string what;  // what it measures
  std::string unit;
  Better better = Better::neither;
  std::string limit_how;  // how the limit is known; empty: there is none
  int version = 1;
  double seconds = 1;          // about what it takes by default
  double quick_seconds = 0.3;  // and with --quick
  std::function<void(const Probe&, ProbeContext&)> run;

  // A result with name, what, unit, better and version of the probe.
  Result result() const;
};

// All probes in the order in which a survey runs them (limits first).
std::vector<Probe> all_probes(const core::Topology& topology);

// The probe families, one file each under probes/; topology tells which caches, nodes and PUs there
// are.
std::vector<Probe> clock_probes(const core::Topology& topology);      // clock.*
std::vector<Probe> compute_probes(const core::Topology& topology);    // latency.*, peak.*
std::vector<Probe> simd_probes(const core::Topology& topology);       // simd.*, ladder
std::vector<Probe> bandwidth_probes(const core::Topology& topology);  // memory.bandwidth.*, memcpy
std::vector<Probe> latency_probes(const core::Topology& topology);    // memory.latency.*
std::vector<Probe> numa_probes(const core::Topology& topology);       // numa.*
std::vector<Probe> core_to_core_probes(const core::Topology& topology);
std::vector<Probe> process_probes(
    const core::Topology& topology);  // fork.cost, thread.create, page_fault.rate
std::vector<Probe> team_probes(const core::Topology& topology);  // fork.tree
std::vector<Probe> comm_probes(const core::Topology& topology);  // comm.*

// Probes whose name matches any of the glob patterns ("simd.*.l1", "memory.*"); a pattern without a
// wildcard also takes everything below it ("clock"), and the probe that it is a result of. throws:
// core::UsageError naming a pattern that matches nothing, with the closest names.
std::vector<Probe> select_probes(std::vector<Probe> probes, std::span<const std::string> patterns);

}  // namespace tabane::lab
