#include "tabane/lab/survey/survey.h"

#include <new>
#include <system_error>

#include "tabane/core/error.h"
#include "tabane/lab/environment.h"
#include "tabane/lab/record_head.h"
#include "tabane/lab/survey/present.h"

namespace tabane::lab {
namespace {

constexpr About kAbout = {"survey", "", ""};

double planned_seconds(const Probe& probe, bool quick) {
  return quick ? probe.quick_seconds : probe.seconds;
}

// Runs one probe; returns false if the user stopped it.
bool run_probe(const Probe& probe, ProbeContext& context, Record& record) {
  try {
    context.progress(0);
    probe.run(probe, context);
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
  require_this_machine(topology);
}

Record run_survey(const core::Topology& topology, const SurveyOptions& options,
                  const Hooks& hooks) {
  check_survey(topology, options.only);
  const std::vector<Probe> probes = select_probes(all_probes(topology), options.only);
  Record record = begin_record(topology, Kind::survey, kAbout, options.command_line, options.quick);
  record.warnings = environment_warnings(record.environment, topology);
  std::vector<double> planned;
  for (const Probe& probe : probes) planned.push_back(planned_seconds(probe, options.quick));
  Progress progress(hooks, planned);
  record.complete = true;
  for (std::size_t i = 0; i < probes.size() && record.complete; ++i) {
    const Probe& probe = probes[i];
    ProbeContext context(topology, options.quick, planned[i], record,
                         {.progress = [&](double share) { progress.show(probe.name, share); },
                          .on_result = hooks.on_result});
    record.complete = run_probe(probe, context, record);
    progress.next_step();
    record.duration_s = progress.elapsed_seconds();
    if (record.complete) hooks.on_probe_done(record);
  }
  for (Warning& warning : measurement_warnings(record))
    record.warnings.push_back(std::move(warning));
  record.sentences = sentences(record);
  record.checklist = fill_checklist(record);
  present(record);
  return record;
}

}  // namespace tabane::lab
