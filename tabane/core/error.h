// The kinds of failure that tabane reports. A missing capability (no NUMA, no counters) is queried
// beforehand and never thrown.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace tabane::core {

// Base of everything that tabane throws on purpose. what() is a sentence for the user.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  // With the text that fmt::format() makes of these: Error("{} has {} bytes", path, bytes).
  template <class First, class... Rest>
  Error(fmt::format_string<First, Rest...> format, First&& first, Rest&&... rest)
      : runtime_error(fmt::vformat(format, fmt::make_format_args(first, rest...))) {}
};

// The request cannot be meant: names the flag or argument and the legal values.
class UsageError : public Error {
 public:
  using Error::Error;
};

// The machine refused this request.
class SystemError : public Error {
 public:
  // call: the system call or library function; operand: what it was applied to; code: errno.
  SystemError(std::string_view call, std::string_view operand, int code);

  int code() const { return code_; }

 private:
  int code_;
};

// A process that takes part in the work is gone.
class LostError : public Error {
 public:
  // phase: what the process was doing, for example "task 17" or "broadcast"; empty: not known.
  LostError(int rank, long pid, std::string_view phase, std::string_view how);
  // text: all of what().
  LostError(int rank, long pid, const std::string& text) : Error(text), rank_(rank), pid_(pid) {}

  int rank() const { return rank_; }
  long pid() const { return pid_; }

 private:
  int rank_;
  long pid_;
};

// A result failed its own check.
class VerificationError : public Error {
 public:
  VerificationError(std::string_view what, double residual, double tolerance);

  double residual() const { return residual_; }
  double tolerance() const { return tolerance_; }

 private:
  double residual_;
  double tolerance_;
};

// Ends the process with file, line and text: the programmer was wrong.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace tabane::core

// Always on; not for the inside of kernels.
#define TABANE_ASSERT(condition) \
  ((condition) ? void(0) : ::tabane::core::assertion_failed(#condition, __FILE__, __LINE__))
