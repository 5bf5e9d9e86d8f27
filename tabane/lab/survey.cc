#include "tabane/lab/survey.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <new>
#include <system_error>

#include "tabane/core/error.h"
#include "tabane/lab/environment.h"
#include "tabane/lab/report.h"
#include "tabane/lab/version.h"

namespace tabane::lab {
namespace {

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

double planned_seconds(const Probe& probe, bool quick) {
  return quick ? probe.quick_seconds : probe.seconds;
}

// Estimates the remaining time from the plan, corrected by how the probes so far kept to theirs.
class Estimate {
 public:
  Estimate(const std::vector<Probe>& probes, bool quick) {
    for (const Probe& probe : probes) total_ += planned_seconds(probe, quick);
  }
  double done(double planned_in_probe) const { return (finished_ + planned_in_probe) / total_; }
  double left(double planned_in_probe, double elapsed) const {
    const double worked = finished_ + planned_in_probe;
    const double pace = worked > 1 ? elapsed / worked : 1;
    return (total_ - worked) * pace;
  }
  void finish(double planned) { finished_ += planned; }

 private:
  double total_ = 1e-9;
  double finished_ = 0;
};

// Runs one probe; returns false if the user stopped it.
bool run_probe(const Probe& probe, ProbeContext& context, SurveyRecord& record) {
  try {
    probe.run(context);
  } catch (const Stopped&) {
    record.skipped.push_back({probe.name, "stopped by the user"});
    return false;
  } catch (const NotHere& reason) {
    record.skipped.push_back({probe.name, reason.what()});
  } catch (const core::Error& error) {
    record.skipped.push_back({probe.name, error.what()});
  } catch (const std::system_error& error) {  // as when no more threads may be started
    record.skipped.push_back({probe.name, error.what()});
  } catch (const std::bad_alloc&) {
    record.skipped.push_back({probe.name, "there is not enough memory"});
  }
  return true;
}

}  // namespace

void check_survey(const core::Topology& topology, std::span<const std::string> only) {
  select_probes(all_probes(topology), only);
  if (!topology.is_this_machine()) {
    throw core::UsageError(
        "the topology is not that of this machine (HWLOC_SYNTHETIC or HWLOC_XMLFILE is set), so "
        "nothing can be measured on it; unset the variable, or use --list");
  }
}

SurveyRecord run_survey(const core::Topology& topology, const SurveyOptions& options,
                        const SurveyHooks& hooks) {
  check_survey(topology, options.only);
  const std::vector<Probe> probes = select_probes(all_probes(topology), options.only);
  SurveyRecord record;
  record.tabane_version = version();
  record.started = fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)));
  record.command_line = options.command_line;
  record.quick = options.quick;
  record.machine = describe_machine(topology);
  record.environment = read_environment();
  record.warnings = environment_warnings(record.environment, topology);

  const SteadyClock::time_point start = SteadyClock::now();
  Estimate estimate(probes, options.quick);
  record.complete = true;
  for (const Probe& probe : probes) {
    const double planned = planned_seconds(probe, options.quick);
    ProbeContext::Hooks probe_hooks;
    probe_hooks.stop_requested = hooks.stop_requested;
    probe_hooks.on_result = hooks.on_result;
    probe_hooks.progress = [&](double fraction) {
      hooks.progress(probe.name, estimate.done(fraction * planned),
                     estimate.left(fraction * planned, seconds_since(start)));
    };
    ProbeContext context(topology, options.quick, planned, record, probe_hooks);
    probe_hooks.progress(0);
    record.complete = !hooks.stop_requested() && run_probe(probe, context, record);
    estimate.finish(planned);
    record.duration_s = seconds_since(start);
    if (!record.complete) break;
    hooks.on_probe_done(record);
  }
  for (Warning& warning : measurement_warnings(record))
    record.warnings.push_back(std::move(warning));
  record.sentences = sentences(record);
  record.checklist = fill_checklist(record);
  return record;
}

}  // namespace tabane::lab
