#include "tabane/lab/survey/disturbances.h"

#include <fmt/format.h>
#include <sys/times.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <sstream>
#include <utility>

#include "tabane/core/units.h"
#include "tabane/lab/record/text.h"

namespace tabane::lab {
namespace {

constexpr double kNoticeable = 0.01;  // share of all CPU time

void add(Record& record, std::vector<Warning> warnings) {
  std::ranges::move(warnings, std::back_inserter(record.warnings));
}

double sum(const std::array<double, 8>& ticks) {
  return std::accumulate(ticks.begin(), ticks.end(), 0.0);
}

}  // namespace

StolenTime::StolenTime(const core::SystemFiles& files)
    : files_(files), throttled_(core::read_cgroup_throttling(files)), ticks_(cpu_ticks(files)) {}

std::vector<Warning> StolenTime::warnings() const {
  std::vector<Warning> warnings;
  const auto throttled = core::read_cgroup_throttling(files_);
  if (throttled && throttled_ && throttled->times > throttled_->times)
    warnings.push_back(
        {"throttled",
         fmt::format("a control group stopped this program {} times during the measurement, for {}",
                     throttled->times - throttled_->times,
                     core::format_seconds(throttled->seconds - throttled_->seconds)),
         "samples in which it was stopped are taken again, but long ones cannot be",
         "raise the container's CPU limit, or use no more workers than it allows"});
  const auto ticks = cpu_ticks(files_);
  if (!ticks || !ticks_) return warnings;
  const double all = sum(*ticks) - sum(*ticks_);
  if (all <= 0) return warnings;
  const double share = (ticks->back() - ticks_->back()) / all;
  if (share > kNoticeable)
    warnings.push_back({"stolen",
                        fmt::format("other virtual machines took {} of the CPU time during the "
                                    "measurement",
                                    show_percent(share)),
                        "samples that lost their CPU are taken again where the system shows it",
                        "run again when the host is idle, or on a machine of your own"});
  return warnings;
}

OthersLoad::OthersLoad(core::SystemFiles files) : files_(std::move(files)), start_(read()) {}

std::optional<OthersLoad::Ticks> OthersLoad::read() const {
  constexpr std::size_t kIdle = 3, kWaiting = 4;
  const auto counts = cpu_ticks(files_);
  if (!counts) return std::nullopt;
  Ticks ticks{.all = sum(*counts)};
  ticks.busy = ticks.all - (*counts)[kIdle] - (*counts)[kWaiting];
  std::istringstream text(files_.text("/proc/stat").value_or(""));
  for (std::string line; std::getline(text, line);)
    ticks.pus += line.starts_with("cpu") && !line.starts_with("cpu ");
  tms own{};
  times(&own);
  ticks.own = static_cast<double>(own.tms_utime + own.tms_stime + own.tms_cutime + own.tms_cstime);
  return ticks;
}

std::optional<double> OthersLoad::busy_pus() const {
  const auto now = read();
  if (!now || !start_ || now->all <= start_->all) return std::nullopt;
  const double others = now->busy - start_->busy - (now->own - start_->own);
  return now->pus * std::max(0.0, others) / (now->all - start_->all);
}

Disturbances::Disturbances(Record& record, const Environment& environment,
                           const core::Topology& topology, int own_tasks) {
  add(record, environment_warnings(environment, topology, own_tasks));
}

void Disturbances::tell(Record& record) const {
  add(record, stolen_.warnings());
  add(record, measurement_warnings(record));
}

}  // namespace tabane::lab
