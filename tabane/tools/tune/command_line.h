// The command line that a record of tuning tells: what the search depended on.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>
#include <vector>

namespace tabane::lab {

// "tabane tune --collectives --quick -n 4", without options that are false, 0 or empty.
class CommandLine {
 public:
  explicit CommandLine(std::string command) : text_(std::move(command)) {}

  CommandLine& add(const char* flag, bool given) {
    if (given) text_ += fmt::format(" {}", flag);
    return *this;
  }
  template <class T>
  CommandLine& add(const char* flag, const T& value) {
    if (value != T{}) text_ += fmt::format(" {} {}", flag, value);
    return *this;
  }
  template <class T>
  CommandLine& add(const char* flag, const std::vector<T>& values) {
    return add(flag, fmt::format("{}", fmt::join(values, ",")));
  }
  operator std::string() const { return text_; }  // NOLINT: reads as text

 private:
  std::string text_;
};

}  // namespace tabane::lab
