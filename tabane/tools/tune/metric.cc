#include "tabane/tools/tune/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "tabane/core/error.h"

namespace tabane::program {
namespace {

std::optional<double> finite_number(std::string_view text) {
  double value = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool found = code == std::errc() && stop != text.data() && std::isfinite(value);
  return found ? std::optional(value) : std::nullopt;
}

std::optional<double> last_in_line(const regex_t& expression, std::string_view line) {
  std::optional<double> last;
  for (std::size_t at = 0; at <= line.size();) {
    std::array<regmatch_t, 2> match{};
    match[0] = {.rm_so = static_cast<regoff_t>(at), .rm_eo = static_cast<regoff_t>(line.size())};
    const int flags = REG_STARTEND | (at > 0 ? REG_NOTBOL : 0);
    if (regexec(&expression, line.data(), match.size(), match.data(), flags) != 0) break;
    const auto [from, to] = match[1];
    if (from >= 0) {
      const auto value = finite_number(
          line.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)));
      if (value) last = value;
    }
    at = static_cast<std::size_t>(match[0].rm_eo) + (match[0].rm_eo == match[0].rm_so ? 1 : 0);
  }
  return last;
}

}  // namespace

Metric::Metric(const std::string& expression)
    : expression_(new regex_t{}, [](regex_t* made) {
        regfree(made);
        delete made;
      }) {
  const auto refuse = [&](const std::string& why) {
    throw core::UsageError(fmt::format("--metric '{}': {}", expression, why));
  };
  if (expression.find("\\d") != std::string::npos)
    refuse("\\d is no digit in POSIX's regular expressions: write [0-9]");
  const int failed = regcomp(expression_.get(), expression.c_str(), REG_EXTENDED);
  if (failed != 0) {
    std::array<char, 256> why{};
    regerror(failed, expression_.get(), why.data(), why.size());
    refuse(why.data());
  }
  if (expression_->re_nsub < 1)
    refuse("put the number in a group, for example 'GFLOPS: ([0-9.]+)'");
}

std::optional<double> Metric::last_in(std::string_view output) const {
  while (!output.empty()) {
    const std::size_t end = output.ends_with('\n') ? output.size() - 1 : output.size();
    const std::size_t before = end == 0 ? std::string_view::npos : output.rfind('\n', end - 1);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::string_view line = output.substr(begin, end - begin);
    const std::size_t cut = line.size() - std::min(line.size(), kLongestLine);
    if (const auto value = last_in_line(*expression_, line.substr(cut))) return value;
    output = output.substr(0, begin);
  }
  return std::nullopt;
}

}  // namespace tabane::program
