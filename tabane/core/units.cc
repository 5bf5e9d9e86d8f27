#include "tabane/core/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "tabane/core/error.h"

namespace tabane::core {
namespace {

struct Unit {
  std::string_view suffix;
  double factor;
};

constexpr double kKi = 1024.0;
constexpr std::array<Unit, 18> kSizeUnits = {{{"", 1},
                                              {"B", 1},
                                              {"K", kKi},
                                              {"k", kKi},
                                              {"KiB", kKi},
                                              {"kB", 1e3},
                                              {"M", kKi* kKi},
                                              {"m", kKi* kKi},
                                              {"MiB", kKi* kKi},
                                              {"MB", 1e6},
                                              {"G", kKi* kKi* kKi},
                                              {"g", kKi* kKi* kKi},
                                              {"GiB", kKi* kKi* kKi},
                                              {"GB", 1e9},
                                              {"T", kKi* kKi* kKi* kKi},
                                              {"t", kKi* kKi* kKi* kKi},
                                              {"TiB", kKi* kKi* kKi* kKi},
                                              {"TB", 1e12}}};

constexpr std::array<Unit, 7> kTimeUnits = {
    {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"m", 60}, {"h", 3600}}};

// Returns a negative value if text is not a plain decimal number followed by one of the units.
double parse_with_units(std::string_view text, std::span<const Unit> units) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !(number >= 0)) return -1;
  const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const Unit& unit : units)
    if (unit.suffix == suffix) return number * unit.factor;
  return -1;
}

// Three significant digits without an exponent for 1 <= |value| < 1000.
std::string three_digits(double value) {
  const double magnitude = std::abs(value);
  const int decimals = magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}
template std::optional<double> number_in(std::string_view text);
template std::optional<int> number_in(std::string_view text);
template std::optional<unsigned> number_in(std::string_view text);
template std::optional<std::int64_t> number_in(std::string_view text);
template std::optional<std::uint64_t> number_in(std::string_view text);

std::uint64_t parse_size(std::string_view text) {
  const double bytes = parse_with_units(text, kSizeUnits);
  // 2^63 rather than 2^64, so that a sum of two sizes does not wrap.
  if (bytes < 0 || bytes >= 9.2e18 || bytes != std::floor(bytes)) {
    throw UsageError(
        "'{}' is not a size: write 4096, 64K or 64KiB (binary), 64kB (decimal), with K M G T",
        text);
  }
  return static_cast<std::uint64_t>(bytes);
}

double parse_seconds(std::string_view text) {
  const double seconds = parse_with_units(text, kTimeUnits);
  if (seconds < 0 || std::isinf(seconds))
    throw UsageError("'{}' is not a time: write 10, 10s, 500ms, 250us, 10ns, 2m or 1h", text);
  if (seconds > 1e9) throw UsageError("'{}' is too long: at most 1000000000s", text);
  return seconds;
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 7> names = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t i = 0;
  double value = static_cast<double>(bytes);
  while (value >= kKi && i + 1 < names.size()) {
    value /= kKi;
    ++i;
  }
  if (value == std::floor(value)) return fmt::format("{:.0f} {}", value, names[i]);
  return fmt::format("{} {}", three_digits(value), names[i]);
}

std::string format_seconds(double seconds) { return format_value(seconds, "s"); }

std::string format_value(double value, std::string_view unit) {
  if (std::isnan(value)) return "not measured";
  if (unit == "share") return format_value(100 * value, "%");
  const bool plain = unit.empty() || unit == "1" || unit == "ratio";
  if (unit == "1/s") unit = "/s";
  const std::string after = plain ? "" : fmt::format(" {}", unit);
  if (value == 0 || std::isinf(value)) return fmt::format("{:g}{}", value, after);
  const bool prefixed = unit == "s" || unit == "Hz" || unit == "B/s" || unit == "FLOP/s" ||
                        unit == "B" || unit.ends_with("/s") || unit.starts_with("s/");
  if (plain || !prefixed) {
    const double magnitude = std::abs(value);
    if (magnitude >= 1e6 || magnitude < 1e-3) return fmt::format("{:.3g}{}", value, after);
    if (magnitude < 1) return fmt::format("{:.3g}{}", value, after);
    return fmt::format("{}{}", three_digits(value), after);
  }
  constexpr std::string_view prefixes = "pnum kMGTPE";
  int power = static_cast<int>(std::floor(std::log10(std::abs(value)) / 3 + 1e-12));
  power = std::min(std::max(power, -4), 6);
  double scaled = value / std::pow(1000.0, power);
  if (std::abs(scaled) >= 999.5 && power < 6) {
    scaled /= 1000;
    ++power;
  }
  if (unit.starts_with('s') && power > 0)  // kiloseconds are nobody's unit
    return fmt::format("{:.4g} {}", value, unit);
  const char prefix = prefixes[static_cast<std::size_t>(power + 4)];
  if (prefix == ' ') return fmt::format("{}{}", three_digits(scaled), after);
  return fmt::format("{} {}{}", three_digits(scaled), prefix == 'u' ? "µ" : std::string(1, prefix),
                     unit);
}

std::string grouped(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ' ';
    text += digits[i];
  }
  return text;
}

std::string counted(std::uint64_t number, std::string_view one, std::string_view many) {
  const bool adds_s = number != 1 && many.empty();
  return fmt::format("{} {}{}", grouped(number), number == 1 || adds_s ? one : many,
                     adds_s ? "s" : "");
}

}  // namespace tabane::core
