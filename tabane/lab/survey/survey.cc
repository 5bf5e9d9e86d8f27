#include "tabane/lab/survey/survey.h"

#include <fmt/format.h>

#include <new>
#include <set>
#include <system_error>

#include "tabane/core/error.h"
#include "tabane/lab/environment.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/record_head.h"
#include "tabane/lab/survey/disturbances.h"

namespace tabane::lab {
namespace {

constexpr About kAbout = {"survey", "", ""};

// Passes over all probes. Six are the fewest of which an interval of 95 % can be had, nine the
// fewest whose interval leaves out the lowest and the highest.
constexpr std::size_t kPasses = 9, kQuickPasses = 6;
constexpr double kMostOverPlan = 1.4;  // then no pass begins that is not needed for intervals

// Seconds of one pass of a visit.
double planned_seconds(std::span<const Probe> probes, bool quick, std::size_t passes) {
  double seconds = 0;
  for (const Probe& probe : probes) seconds += quick ? probe.seconds.quick : probe.seconds.full;
  return seconds / static_cast<double>(passes);
}

std::string name_of(std::span<const Probe> probes) {
  const Probe& first = probes.front();
  return first.group.empty() || probes.size() == 1 ? first.name : first.group;
}

enum class Visited { done, impossible, stopped };

// Runs one pass of a visit. A visit that is impossible is not tried again.
Visited run_visit(std::span<const Probe> probes, ProbeContext& context, Record& record) {
  const auto impossible = [&](const std::string& reason) {
    for (const Probe& probe : probes) record.skipped.push_back({probe.name, reason});
    return Visited::impossible;
  };
  try {
    context.progress(0);
    visit(probes, context);
  } catch (const Stopped&) {
    return Visited::stopped;
  } catch (const NotHere& reason) {
    return impossible(reason.what());
  } catch (const core::Error& error) {
    return impossible(error.what());
  } catch (const std::system_error& error) {  // as when no more threads may be started
    return impossible(error.what());
  } catch (const std::bad_alloc&) {
    return impossible("there is not enough memory");
  }
  return Visited::done;
}

class Survey {
 public:
  Survey(const core::Topology& topology, std::span<const std::string> only, const Hooks& hooks,
         Record& record)
      : topology_(topology),
        hooks_(hooks),
        record_(record),
        probes_(select_probes(all_probes(topology), only)),
        visits_(visits_of(probes_)),
        possible_(visits_.size(), true),
        passes_(record.quick ? kQuickPasses : kPasses),
        progress_(hooks, plan()) {}

  void run() {
    record_.complete = true;
    for (std::size_t pass = 0; pass < passes_ && record_.complete; ++pass) {
      if (pass >= core::kFewestForInterval && late()) break;
      run_pass(pass);
      record_.duration_s = progress_.elapsed_seconds();
      if (record_.complete) hooks_.on_probe_done(record_);
    }
    for (const Result& result : record_.results)
      if (!told_.contains(result.name)) hooks_.on_result(result);
  }

 private:
  std::vector<double> plan() {
    std::vector<double> planned;
    for (std::size_t pass = 0; pass < passes_; ++pass)
      for (const auto& probes : visits_)
        planned.push_back(planned_seconds(probes, record_.quick, passes_));
    for (const double seconds : planned) planned_ += seconds;
    return planned;
  }
  bool late() const { return progress_.elapsed_seconds() > kMostOverPlan * planned_; }

  void run_pass(std::size_t pass) {
    for (std::size_t i = 0; i < visits_.size() && record_.complete; ++i) {
      const std::string what = fmt::format("{} ({}/{})", name_of(visits_[i]), pass + 1, passes_);
      ProbeContext context(topology_, record_.quick,
                           planned_seconds(visits_[i], record_.quick, passes_), {pass, passes_},
                           memory_, record_,
                           {.progress = [&](double share) { progress_.show(what, share); },
                            .on_result =
                                [&](const Result& result) {
                                  told_.insert(result.name);
                                  hooks_.on_result(result);
                                }});
      if (possible_[i]) {
        const std::size_t before = record_.results.size();
        const Visited visited = run_visit(visits_[i], context, record_);
        for (std::size_t k = before; pass == 0 && k < record_.results.size(); ++k)
          hooks_.on_first_result(record_.results[k]);
        record_.complete = visited != Visited::stopped;
        possible_[i] = visited == Visited::done;
      }
      progress_.next_step();
    }
  }

  const core::Topology& topology_;
  const Hooks& hooks_;
  Record& record_;
  std::vector<Probe> probes_;
  std::vector<std::span<const Probe>> visits_;
  std::vector<bool> possible_;
  std::size_t passes_;
  double planned_ = 0;
  StepProgress progress_;
  ProbeMemory memory_;
  std::set<std::string> told_;  // results, which are told in the last pass
};

}  // namespace

void check_survey(const core::Topology& topology, std::span<const std::string> only) {
  select_probes(all_probes(topology), only);
  require_this_machine(topology);
}

void add_probes(Record& record, const core::Topology& topology, std::span<const std::string> only,
                const Hooks& hooks) {
  check_survey(topology, only);
  Survey(topology, only, hooks, record).run();
  record.advice = advise(record);
  present(record);
}

Record run_survey(const core::Topology& topology, const SurveyOptions& options,
                  const Hooks& hooks) {
  check_survey(topology, options.only);
  const Environment environment = read_environment();
  Record record = begin_record(topology, Kind::survey, kAbout, options.command_line, options.quick,
                               environment);
  const Disturbances disturbances(record, environment, topology);
  add_probes(record, topology, options.only, hooks);
  disturbances.tell(record);
  record.sentences = sentences(record);
  record.checklist = fill_checklist(record);
  return record;
}

}  // namespace tabane::lab
