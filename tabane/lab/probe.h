// A probe: one thing that tabane can measure of a machine, with a stable name and a version.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tabane/core/measurement.h"
#include "tabane/core/topology.h"
#include "tabane/lab/campaign/campaign.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

// Thrown by a probe that cannot run on this machine; the survey records the reason and continues.
class NotHere : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Which pass of a survey this is. The passes of every probe are spread over the whole survey.
struct Pass {
  std::size_t index = 0, count = 1;

  bool first() const { return index == 0; }
  bool last() const { return index + 1 == count; }
};

// What probes keep from one pass to the next: memory with data in it, the outcome of a search, the
// views of the passes so far.
class ProbeMemory {
 public:
  // What was made under this key, always as a T; made by make() the first time.
  template <class T, class Make>
  T& keep(const std::string& key, Make make) {
    std::shared_ptr<void>& kept = kept_[key];
    if (!kept) kept = std::make_shared<T>(make());
    return *static_cast<T*>(kept.get());
  }
  // The views of this name so far, with the one added.
  std::vector<View>& views(const std::string& name) { return views_[name]; }

 private:
  std::map<std::string, std::shared_ptr<void>> kept_;
  std::map<std::string, std::vector<View>> views_;
};

class ProbeContext {
 public:
  struct Hooks {
    std::function<void(double share)> progress = [](double) {};  // throws Stopped
    std::function<void(const Result&)> on_result = [](const Result&) {};
  };
  ProbeContext(const core::Topology& topology, bool quick, double budget_seconds, Pass pass,
               ProbeMemory& memory, Record& record, Hooks hooks)
      : topology_(topology),
        quick_(quick),
        budget_seconds_(budget_seconds),
        pass_(pass),
        memory_(memory),
        record_(record),
        hooks_(std::move(hooks)) {}

  const core::Topology& topology() const { return topology_; }
  bool quick() const { return quick_; }
  // The time that this pass of the running probes should take, all their points together.
  double budget_seconds() const { return budget_seconds_; }
  const Pass& pass() const { return pass_; }
  ProbeMemory& memory() { return memory_; }

  // A result measured earlier in this survey, until the next report(); null if there is none.
  const Result* earlier_result(std::string_view name) const { return record_.find(name); }

  // Adds a result of this pass, or joins it with the same one of the passes before.
  void report(Result result);
  // The same of a view. describe: completes the joined one, as by a note on its figures.
  using Describe = void(View& joined, const Record& record);
  void report(View view, Describe* describe = nullptr);

  // Marks how much of the visit is done, 0…1. throws: Stopped if the user asked to stop.
  void progress(double share) { hooks_.progress(share); }

 private:
  const core::Topology& topology_;
  bool quick_;
  double budget_seconds_;
  Pass pass_;
  ProbeMemory& memory_;
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
  struct Seconds {
    double full = 1, quick = 0.3;
  } seconds = {};  // about what all its passes take; quick: with --quick
  std::function<void(const Probe&, ProbeContext&)> run;  // one pass
  // Probes that follow each other with the same group are measured in turn with each other, by
  // run_group of the first, which gets those of them that were selected; `run` is then not used.
  std::string group = {};
  std::function<void(std::span<const Probe>, ProbeContext&)> run_group = {};

  // A result with name, what, unit, better and version of the probe; samples: as set_samples().
  Result result() const;
  Result result(std::vector<double> samples, Json details) const;
};

// Splits probes into those that are visited together: a group, or a single one.
std::vector<std::span<const Probe>> visits_of(std::span<const Probe> probes);

// One pass of the probes of a visit.
void visit(std::span<const Probe> probes, ProbeContext& context);

// All probes in the order in which a survey runs them (limits first).
std::vector<Probe> all_probes(const core::Topology& topology);

// The probe families, one file each under probes/; topology says which caches, nodes and PUs there
// are.
std::vector<Probe> clock_probes(const core::Topology& topology);    // clock.*
std::vector<Probe> compute_probes(const core::Topology& topology);  // latency.*, peak.*
std::vector<Probe> level_probes(const core::Topology& topology);   // memory.bandwidth.*.*.*, simd.*
std::vector<Probe> ladder_probes(const core::Topology& topology);  // ladder
std::vector<Probe> bandwidth_probes(const core::Topology& topology);  // over size and cores, memcpy
std::vector<Probe> latency_probes(const core::Topology& topology);    // memory.latency.*
std::vector<Probe> numa_probes(const core::Topology& topology);       // numa.*
std::vector<Probe> core_to_core_probes(const core::Topology& topology);
std::vector<Probe> process_probes(
    const core::Topology& topology);  // fork.cost, thread.create, page_fault.rate
std::vector<Probe> team_probes(const core::Topology& topology);    // fork.tree
std::vector<Probe> comm_probes(const core::Topology& topology);    // comm.*
std::vector<Probe> device_probes(const core::Topology& topology);  // device.*

// Probes whose name matches any of the glob patterns ("simd.*.l1", "memory.*"); a pattern without a
// wildcard also takes everything below it ("clock"), and the probe that it is a result of. throws:
// core::UsageError naming a pattern that matches nothing, with the closest names.
std::vector<Probe> select_probes(std::vector<Probe> probes, std::span<const std::string> patterns);

}  // namespace tabane::lab
