#include "tabane/core/error.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace tabane::core {
namespace {

std::string reason_of(int code) {
  // "Illegal seek"; who wanted a file has given something else.
  if (code == ESPIPE) return "Not a regular file, but a pipe, a socket or a terminal";
  return std::generic_category().message(code);
}

}  // namespace

SystemError::SystemError(std::string_view call, std::string_view operand, int code)
    : Error(operand.empty() ? fmt::format("{}: {}", call, reason_of(code))
                            : fmt::format("{}: {}: {}", operand, call, reason_of(code))),
      code_(code) {}

LostError::LostError(int rank, long pid, std::string_view phase, std::string_view how)
    : LostError(rank, pid,
                fmt::format("process {} (pid {}) was lost{}{}: {}", rank, pid,
                            phase.empty() ? "" : " during ", phase, how)) {}

VerificationError::VerificationError(std::string_view what, double residual, double tolerance)
    : Error("{}: verification failed, residual {:.3g} is over the tolerance {:.3g}", what, residual,
            tolerance),
      residual_(residual),
      tolerance_(tolerance) {}

void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: tabane is wrong here: %s does not hold\n", file, line, condition);
  std::abort();
}

}  // namespace tabane::core
