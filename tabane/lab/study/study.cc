#include "tabane/lab/study/study.h"

#include <algorithm>
#include <limits>

#include "tabane/comm/launch.h"

namespace tabane::lab {

namespace {

// The ranks of this host are among the tasks that run; where nobody says how many, all may be.
int own_tasks() { return comm::ranks_on_this_host().value_or(std::numeric_limits<int>::max()); }

}  // namespace

RunningStudy::RunningStudy(const core::Topology& topology, const About& about, bool quick)
    : RunningStudy(topology, about, quick, (require_this_machine(topology), read_environment())) {}

RunningStudy::RunningStudy(const core::Topology& topology, const About& about, bool quick,
                           const Environment& environment)
    : record(begin_record(topology, Kind::study, about, "", quick, environment)),
      disturbances_(record, environment, topology, own_tasks()) {}

void RunningStudy::add(const Campaign& campaign, bool complete,
                       const std::function<std::string(const Point&)>& what) {
  record.complete = complete;
  record.duration_s += campaign.seconds;
  record.skipped.insert(record.skipped.end(), campaign.skipped.begin(), campaign.skipped.end());
  add_results(record, campaign.points, what);
}

Record RunningStudy::finish(std::initializer_list<std::string_view> judged) {
  disturbances_.tell(record);
  std::erase_if(record.warnings, [&](const Warning& warning) {
    return std::ranges::find(judged, warning.id) != judged.end();
  });
  return std::move(record);
}

}  // namespace tabane::lab
