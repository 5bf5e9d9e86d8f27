#include "tabane/lab/record/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace tabane::lab {
namespace {

// Length of the valid UTF-8 sequence at the start of text; 0 if there is none (Unicode 15, table
// 3-7).
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto inside = [&](std::size_t i, unsigned low, unsigned high) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return inside(1, 0x80, 0xBF) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned low = lead == 0xE0 ? 0xA0 : 0x80, high = lead == 0xED ? 0x9F : 0xBF;
    return inside(1, low, high) && inside(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned low = lead == 0xF0 ? 0x90 : 0x80, high = lead == 0xF4 ? 0x8F : 0xBF;
    return inside(1, low, high) && inside(2, 0x80, 0xBF) && inside(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

std::string three_digits(double value) {
  const double size = std::fabs(value);
  if (!std::isfinite(value)) return "–";
  if (size >= 1e7 || (size < 1e-3 && size > 0)) return fmt::format("{:.2e}", value);
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  if (size >= 0.9995 || size == 0) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3g}", value);
}

// With three digits, but where two say as much: "0.57".
std::string ratio_text(double value) {
  const double size = std::fabs(value);
  return size >= 0.095 && size < 1 ? fmt::format("{:.2f}", value) : three_digits(value);
}

Shown prefixed(double magnitude, std::string_view unit, double step,
               std::initializer_list<const char*> prefixes) {
  double factor = 1;
  const char* prefix = "";
  double divisor = 1;
  for (const char* candidate : prefixes) {
    if (magnitude < divisor * 0.9995) break;
    prefix = candidate;
    factor = 1 / divisor;
    divisor *= step;
  }
  return {factor, fmt::format("{}{}", prefix, unit)};
}

Shown time_shown(double seconds, double per_unit) {
  if (seconds >= 0.9995) return {per_unit, "s"};
  if (seconds >= 0.9995e-3) return {per_unit * 1e3, "ms"};
  if (seconds >= 0.9995e-6) return {per_unit * 1e6, "µs"};
  return {per_unit * 1e9, "ns"};
}

}  // namespace

std::string clean_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const auto lead = static_cast<unsigned char>(text[0]);
    if (length == 0)
      out += "\uFFFD";
    else if (length == 1 && (lead < 0x20 || lead == 0x7F) && lead != '\n' && lead != '\t')
      out += ' ';
    else
      out += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string escape_html(std::string_view text) {
  constexpr std::string_view kSpecial = "&<>\"'";
  constexpr std::array<const char*, 5> kEntities = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  std::string out;
  for (const char c : clean_utf8(text))
    if (const std::size_t at = kSpecial.find(c); at != std::string_view::npos)
      out += kEntities[at];
    else
      out += c;
  return out;
}

std::string escape_script(std::string_view json) {
  std::string out;
  for (std::size_t at = json.find('<'); at != json.npos; at = json.find('<')) {
    out.append(json.substr(0, at)).append("\\u003c");
    json.remove_prefix(at + 1);
  }
  return out.append(json);
}

std::string plot_label(std::string_view text, std::size_t max_chars) {
  static constexpr std::string_view kSafe = " ._-+/()[]{}:;,%=*|~$";
  std::string out;
  for (std::size_t i = 0; i < text.size() && i < max_chars; ++i) {
    const char c = text[i];
    if (text.substr(i, 2) == "µ") {
      out += "µ";
      ++i;
      continue;
    }
    if (c == '\'' || c == '"') {
      out += c == '"' ? "”" : "’";
      continue;
    }
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    out += plain || kSafe.find(c) != std::string_view::npos ? c : '?';
  }
  return out;
}

std::string Shown::number(double value) const { return three_digits(value * factor); }

std::string Shown::operator()(double value) const {
  return unit.empty() ? number(value) : number(value) + " " + unit;
}

Shown shown_in(double magnitude, std::string_view unit) {
  magnitude = std::fabs(magnitude);
  if (unit == "s") return time_shown(magnitude, 1);
  if (unit == "ms") return time_shown(magnitude * 1e-3, 1e-3);
  if (unit == "us" || unit == "µs") return time_shown(magnitude * 1e-6, 1e-6);
  if (unit == "ns") return time_shown(magnitude * 1e-9, 1e-9);
  if (unit == "B" || unit == "bytes")
    return prefixed(magnitude, "B", 1024, {"", "Ki", "Mi", "Gi", "Ti", "Pi"});
  if (unit == "1" || unit == "ratio" || unit.empty()) return {1, ""};
  if (unit == "share") return {100, "%"};
  if (unit == "1/s") unit = "/s";
  if (unit == "Hz" || unit.ends_with("/s"))
    return prefixed(magnitude, unit, 1000, {"", "k", "M", "G", "T", "P"});
  return {1, std::string(unit)};
}

std::string show(double value, std::string_view unit) {
  if (unit == "B" || unit == "bytes") {
    const Shown shown = shown_in(value, unit);
    return fmt::format("{:.4g} {}", value * shown.factor, shown.unit);
  }
  return shown_in(value, unit)(value);
}

std::string show_percent(double share) {
  if (share == 0) return "0 %";
  if (std::fabs(share) < 0.0005) return share > 0 ? "below 0.1 %" : "above -0.1 %";
  return fmt::format("{:.{}f} %", 100 * share, std::fabs(share) < 0.0995 ? 1 : 0);
}

std::string text_of(const Entry& entry) {
  if (entry.none()) return "–";
  if (!entry.value) return entry.text;
  const double value = *entry.value;
  if (!std::isfinite(value)) return "–";
  std::string text, unit;
  Shown shown;
  if (entry.unit == "share") {
    text = show_percent(value);
  } else if (entry.unit == "ratio") {
    text = ratio_text(value);
  } else if (entry.unit == "1") {
    const bool whole = value == std::floor(value) && std::fabs(value) < 1e15;
    text = whole ? fmt::format("{:.0f}", value) : fmt::format("{:.6g}", value);
  } else {
    shown = shown_in(value, entry.unit);
    text = entry.interval ? shown(value) : show(value, entry.unit);
  }
  if (entry.interval) {
    const auto bound = [&](double v) {
      if (!std::isfinite(v)) return std::string("∞");
      if (entry.unit == "share") return show_percent(v);
      if (entry.unit == "1") return fmt::format("{:.6g}", v);
      return entry.unit == "ratio" ? ratio_text(v) : shown.number(v);
    };
    text += fmt::format(" [{}, {}]", bound(entry.interval->low), bound(entry.interval->high));
  }
  return entry.text.empty() ? text : fmt::format("{} {}", entry.text, text);
}

std::string join(const std::vector<std::string>& parts) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += i + 1 == parts.size() ? " and " : ", ";
    out += parts[i];
  }
  return out;
}

namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view group = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      text += i <= group.size() ? kDigits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

bool is_base64(std::string_view text) {
  if (text.size() % 4 != 0) return false;
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  return std::ranges::all_of(text,
                             [](char c) { return kDigits.find(c) != std::string_view::npos; });
}

std::string show_share(const Result& result, bool with_limit) {
  constexpr double kAsShown = 0.01;  // readers see whole percents
  const bool time = result.better == Better::lower;
  const double quotient = *result.value / result.limit->value;
  const double in_turn = time ? 1 / *result.of_limit() : *result.of_limit();
  const auto number = [&](double ratio) {
    return time ? ratio_text(ratio) + " ×" : show_percent(ratio);
  };
  std::string text = number(quotient);
  if (with_limit)
    text +=
        fmt::format("{} {}", time ? " the limit," : " of", show(result.limit->value, result.unit));
  if (std::abs(in_turn - quotient) >= kAsShown * std::max(1.0, quotient))
    text += fmt::format(" ({} in turn)", number(in_turn));
  return text;
}

}  // namespace tabane::lab
