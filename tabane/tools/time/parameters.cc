#include "tabane/tools/time/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>

#include "tabane/core/error.h"

namespace tabane::lab {
namespace {

constexpr std::size_t kMostCombinations = 10'000;
constexpr std::size_t kMostDigits = 15;

// number = units / 10^decimals
struct Decimal {
  std::int64_t units = 0;
  int decimals = 0;

  std::int64_t in(int digits) const {
    std::int64_t scaled = units;
    for (int i = decimals; i < digits; ++i) scaled *= 10;
    return scaled;
  }
};

Decimal decimal_of(std::string_view text) {
  const std::size_t point = text.find('.');
  std::string digits(text.substr(0, point));
  Decimal number;
  if (point != std::string_view::npos) {
    digits += text.substr(point + 1);
    number.decimals = static_cast<int>(text.size() - point - 1);
  }
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number.units);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.size() > kMostDigits)
    throw core::UsageError(
        fmt::format("'{}' is not a decimal number of at most {} digits", text, kMostDigits));
  return number;
}

std::string text_of_decimal(std::int64_t units, int decimals) {
  std::string digits = std::to_string(units < 0 ? -units : units);
  if (decimals > 0) {
    const auto places = static_cast<std::size_t>(decimals);
    if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
    digits.insert(digits.size() - places, ".");
  }
  return units < 0 ? "-" + digits : digits;
}

void check_name(const std::string& name) {
  const bool fits = std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
  });
  if (name.empty() || !fits)
    throw core::UsageError(
        fmt::format("'{}' is not a name of a parameter: use letters, digits, _ and -", name));
}

}  // namespace

Parameter number_parameter(std::string name, std::string_view first, std::string_view last,
                           std::string_view step) {
  check_name(name);
  const Decimal from = decimal_of(first), to = decimal_of(last), by = decimal_of(step);
  const int decimals = std::max({from.decimals, to.decimals, by.decimals});
  const int shown = std::max(from.decimals, by.decimals);
  if (decimals > 6) throw core::UsageError("parameters have at most 6 decimal places");
  const std::int64_t begin = from.in(decimals), end = to.in(decimals), add = by.in(decimals);
  if (add <= 0) throw core::UsageError(fmt::format("'{}' is not a step above 0", step));
  if (end < begin)
    throw core::UsageError(
        fmt::format("parameter {} from {} to {} has no values", name, first, last));
  if (static_cast<std::size_t>((end - begin) / add) >= kMostCombinations)
    throw core::UsageError(
        fmt::format("parameter {} has more than {} values", name, kMostCombinations));
  Parameter parameter{std::move(name), {}};
  std::int64_t unit = 1;
  for (int i = shown; i < decimals; ++i) unit *= 10;
  for (std::int64_t value = begin; value <= end; value += add)
    parameter.values.push_back(text_of_decimal(value / unit, shown));
  return parameter;
}

Parameter list_parameter(std::string name, std::string_view values) {
  check_name(name);
  Parameter parameter{std::move(name), {""}};
  for (std::size_t at = 0; at < values.size(); ++at) {
    if (values[at] == ',') {
      parameter.values.emplace_back();
      continue;
    }
    if (values[at] == '\\' && at + 1 < values.size() && values[at + 1] == ',') ++at;
    parameter.values.back() += values[at];
  }
  return parameter;
}

std::vector<Values> combinations_of(const std::vector<Parameter>& parameters) {
  std::vector<Values> all = {{}};
  for (const Parameter& parameter : parameters) {
    if (all.size() * parameter.values.size() > kMostCombinations)
      throw core::UsageError(
          fmt::format("the parameters have more than {} combinations", kMostCombinations));
    std::vector<Values> longer;
    for (const Values& one : all) {
      for (const std::string& value : parameter.values) {
        longer.push_back(one);
        longer.back().emplace_back(parameter.name, value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

Level level_of(const std::string& value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const Level level(number);
  const bool plain = error == std::errc() && end == value.data() + value.size();
  return plain && level.text() == value ? level : Level(value);
}

}  // namespace tabane::lab
