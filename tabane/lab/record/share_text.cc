#include "tabane/lab/record/share_text.h"

#include <fmt/format.h>

#include <cmath>

#include "tabane/lab/record/text.h"

namespace tabane::lab {

std::string show_share(const Result& result) {
  constexpr double kAsShown = 0.01;  // readers see whole percents
  const double share = *result.of_limit();
  const double quotient = result.better == Better::lower ? result.limit->value / *result.value
                                                         : *result.value / result.limit->value;
  if (std::abs(share - quotient) < kAsShown) return show_percent(share);
  return fmt::format("{} in turn, {}", show_percent(share), show_percent(quotient));
}

}  // namespace tabane::lab
