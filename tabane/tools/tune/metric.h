// A number that a command prints, found by a regular expression.
#pragma once

#include <regex.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tabane::program {

// The system's extended regular expressions (POSIX, as of grep -E): those of the standard library
// recur for every character, so that a long line overflows the stack.
class Metric {
 public:
  // Of a longer line only so many bytes are searched, the last ones: the time grows with their
  // square.
  static constexpr std::size_t kLongestLine = 4096;

  // throws: core::UsageError for what is no such expression or has no group.
  explicit Metric(const std::string& expression);

  // The number in the first group of the last match in any line; null if there is none.
  std::optional<double> last_in(std::string_view output) const;

 private:
  std::unique_ptr<regex_t, void (*)(regex_t*)> expression_;
};

}  // namespace tabane::program
