#include "tabane/lab/survey/stolen_time.h"

#include <fmt/format.h>

#include <sstream>

#include "tabane/core/units.h"
#include "tabane/lab/record/text.h"

namespace tabane::lab {
namespace {

constexpr double kNoticeable = 0.01;  // share of all CPU time

}  // namespace

// The line "cpu user nice system idle iowait irq softirq steal …" of /proc/stat.
std::optional<StolenTime::Jiffies> StolenTime::read_jiffies(const core::SystemFiles& files) {
  const auto text = files.text("/proc/stat");
  if (!text) return std::nullopt;
  std::istringstream line(*text);
  std::string name;
  line >> name;
  Jiffies jiffies;
  for (int field = 0; field < 8; ++field) {
    double count = 0;
    if (!(line >> count)) return std::nullopt;
    jiffies.all += count;
    if (field == 7) jiffies.stolen = count;
  }
  return jiffies;
}

StolenTime::StolenTime(const core::SystemFiles& files)
    : files_(files),
      throttled_(core::read_cgroup_throttling(files)),
      jiffies_(read_jiffies(files)) {}

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
  const auto jiffies = read_jiffies(files_);
  if (!jiffies || !jiffies_ || jiffies->all <= jiffies_->all) return warnings;
  const double share = (jiffies->stolen - jiffies_->stolen) / (jiffies->all - jiffies_->all);
  if (share > kNoticeable)
    warnings.push_back({"stolen",
                        fmt::format("other virtual machines took {} of the CPU time during the "
                                    "measurement",
                                    show_percent(share)),
                        "samples that lost their CPU are taken again where the system shows it",
                        "run again when the host is idle, or on a machine of your own"});
  return warnings;
}

}  // namespace tabane::lab
