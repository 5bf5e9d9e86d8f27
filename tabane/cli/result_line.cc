#include "tabane/cli/result_line.h"

#include <fmt/format.h>

#include <cmath>

#include "tabane/core/units.h"
#include "tabane/lab/record/text.h"

namespace tabane::cli {

std::string result_line(const lab::Result& result) {
  std::string value =
      result.value ? core::format_value(*result.value, result.unit) : "not measured";
  std::string spread;
  if (result.value && result.interval && *result.value != 0) {
    const double half =
        (result.interval->high - result.interval->low) / 2 / std::abs(*result.value);
    // "± 240 %" would reach below zero; the ends of the interval do not.
    spread = half < 1
                 ? fmt::format("± {:.1f} %", 100 * half)
                 : fmt::format("[{}, {}]", core::format_value(result.interval->low, result.unit),
                               core::format_value(result.interval->high, result.unit));
  }
  std::string share;
  if (const auto of_limit = result.of_limit())
    share = fmt::format("{:>5} of limit", lab::show_percent(*of_limit));
  std::string line = fmt::format("{:<34} {:>14}  {:<9} {}", result.name, value, spread, share);
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace tabane::cli
