#include "tabane/core/cpu_list.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "tabane/core/error.h"

namespace tabane::core {
namespace {

constexpr unsigned kLargestIndex = 65535;

[[noreturn]] void refuse(std::string_view part, std::string_view text) {
  throw UsageError("cannot read \"" + std::string(part) + "\" in the list \"" + std::string(text) +
                   "\": write indices up to 65535 as 3, 0-3, 0-15:2, several with commas, or all");
}

// Takes digits off the front of rest; false if there are none or they exceed the largest index.
bool take_index(std::string_view& rest, unsigned& value) {
  const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (code != std::errc() || value > kLargestIndex) return false;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return true;
}

bool take(std::string_view& rest, char expected) {
  if (rest.empty() || rest.front() != expected) return false;
  rest.remove_prefix(1);
  return true;
}

struct Range {
  unsigned first = 0;
  unsigned last = 0;
  unsigned stride = 1;
};

Range parse_range(std::string_view part, std::string_view text) {
  std::string_view rest = part;
  Range range;
  if (!take_index(rest, range.first)) refuse(part, text);
  range.last = range.first;
  if (take(rest, '-')) {
    if (!take_index(rest, range.last)) refuse(part, text);
    if (take(rest, ':') && !take_index(rest, range.stride)) refuse(part, text);
  }
  if (!rest.empty() || range.last < range.first || range.stride == 0) refuse(part, text);
  return range;
}

}  // namespace

std::vector<unsigned> parse_cpu_list(std::string_view text, std::span<const unsigned> all) {
  if (text == "all") return {all.begin(), all.end()};
  std::vector<unsigned> indices;
  std::unordered_set<unsigned> seen;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const Range range = parse_range(text.substr(begin, end - begin), text);
    for (unsigned i = range.first; i <= range.last; i += range.stride) {
      if (seen.insert(i).second) indices.push_back(i);
    }
    begin = end + 1;
  }
  return indices;
}

std::string format_cpu_list(std::span<const unsigned> indices) {
  std::vector<unsigned> sorted(indices.begin(), indices.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::string text;
  for (std::size_t begin = 0; begin < sorted.size();) {
    std::size_t end = begin + 1;
    while (end < sorted.size() && sorted[end] == sorted[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(sorted[begin]);
    if (end - begin > 1) text += '-' + std::to_string(sorted[end - 1]);
    begin = end;
  }
  return text;
}

}  // namespace tabane::core
