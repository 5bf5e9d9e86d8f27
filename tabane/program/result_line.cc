#include "tabane/program/result_line.h"

#include <fmt/format.h>

#include <cmath>

#include "tabane/core/units.h"
#include "tabane/lab/record/text.h"

namespace tabane::program {

namespace {

// "± 2.0 %", or the ends of the interval where ± would reach below zero.
std::string spread_of(double value, const core::Interval& interval, const std::string& unit) {
  const double half = (interval.high - interval.low) / 2 / std::abs(value);
  return half < 1 ? fmt::format("± {:.1f} %", 100 * half)
                  : fmt::format("[{}, {}]", core::format_value(interval.low, unit),
                                core::format_value(interval.high, unit));
}

std::string share_of(const lab::Result& result) {
  const auto share = result.share_of_limit();
  if (!share) return "";
  const std::string text = fmt::format("{:>5} of limit", lab::show_percent(share->value));
  if (result.is_above_limit()) return text + ": the roof is too low";
  const double half = (share->interval.high - share->interval.low) / 2;
  return share->pairs < 2 ? text : fmt::format("{} ± {:.0f}", text, std::ceil(100 * half));
}

}  // namespace

std::string result_line(const lab::Result& result) {
  if (!result.value)
    return fmt::format("{:<34} {:>14}{}", result.name, "not measured",
                       result.reason.empty() ? "" : ": " + result.reason);
  std::string value = core::format_value(*result.value, result.unit);
  std::string spread;
  if (result.interval && *result.value != 0)
    spread = spread_of(*result.value, *result.interval, result.unit);
  std::string line =
      fmt::format("{:<34} {:>14}  {:<9} {}", result.name, value, spread, share_of(result));
  if (const auto states = result.states())
    line += fmt::format("  two states: {} for {:.0f} % of the time, else {}",
                        core::format_value(states->high, result.unit), 100 * states->high_share,
                        core::format_value(states->low, result.unit));
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace tabane::program
