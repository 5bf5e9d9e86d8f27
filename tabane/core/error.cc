#include "tabane/core/error.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace tabane::core {

SystemError::SystemError(std::string_view call, std::string_view operand, int code)
    : Error(operand.empty()
                ? fmt::format("{}: {}", call, std::generic_category().message(code))
                : fmt::format("{}: {}: {}", operand, call, std::generic_category().message(code))),
      code_(code) {}

LostError::LostError(int rank, long pid, std::string_view phase, std::string_view how)
    : LostError(rank, pid,
                fmt::format("process {} (pid {}) was lost{}{}: {}", rank, pid,
                            phase.empty() ? "" : " during ", phase, how)) {}

VerificationError::VerificationError(std::string_view what, double residual, double tolerance)
    : Error(fmt::format("{}: verification failed, residual {:.3g} is over the tolerance {:.3g}",
                        what, residual, tolerance)),
      residual_(residual),
      tolerance_(tolerance) {}

void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: tabane is wrong here: %s does not hold\n", file, line, condition);
  std::abort();
}

}  // namespace tabane::core
