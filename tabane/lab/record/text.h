// Text for people: valid UTF-8, escaped HTML, labels that are safe in a gnuplot script, scaled
// numbers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/lab/record/record.h"

namespace tabane::lab {

// Replaces every byte that is not part of valid UTF-8 by U+FFFD and control characters, except line
// feed and tab, by spaces.
std::string clean_utf8(std::string_view text);

// Cleans text and escapes what HTML gives a meaning, also inside quoted attributes.
std::string escape_html(std::string_view text);

// Makes JSON text harmless inside a script element: "<" becomes \u003c, which JSON reads back.
std::string escape_script(std::string_view json);

// Reduces text to characters that mean nothing to gnuplot or SVG, at most max_chars of them.
std::string plot_label(std::string_view text, std::size_t max_chars = 40);

// A unit in which a magnitude reads well, and the factor into it.
struct Shown {
  double factor = 1;
  std::string unit;  // "GB/s"; empty for a pure number

  std::string number(double value) const;      // three significant digits, without unit
  std::string operator()(double value) const;  // with unit
};

// Chooses for values of about `magnitude`, given in `unit`. Times become ns … s, bytes become KiB
// …, rates get a decimal prefix; counts, cycles and ratios stay.
Shown shown_in(double magnitude, std::string_view unit);

// One value with its unit: (2.44e9, "Hz") gives "2.44 GHz".
std::string show(double value, std::string_view unit);

// "87 %", "6.4 %", "below 0.1 %"; "0 %" for none at all.
std::string show_percent(double share);

// A table's entry for people: "48.2 ns [47.9, 48.5]", "1.42 [1.38, 1.47]", "64.3 %", "–".
std::string text_of(const Entry& entry);

// "A", "A and B", "A, B and C"
std::string join(const std::vector<std::string>& parts);

// Bytes as text (RFC 4648, section 4).

std::string to_base64(std::string_view bytes);
// Whether it is what to_base64() can return.
bool is_base64(std::string_view text);

// How near a figure comes to its limit, in words that agree with the value and the limit as shown.

// "87 %", and of what is better the smaller it is "2.22 ×": the quotient of the value and the
// limit. "76 % (40 % in turn)" where figure and limit, taken in turn, were mostly at another ratio
// than their medians, as on a machine whose speed changes. with_limit: "76 % of 5 GB/s", "2.22 ×
// the limit, 105 ns". result: has a share.
std::string show_share(const Result& result, bool with_limit = false);

}  // namespace tabane::lab
