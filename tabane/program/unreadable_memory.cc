#include "tabane/program/unreadable_memory.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>

#include "tabane/core/error.h"

namespace tabane::program {

void forbid_core_dumps() {
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  if (setrlimit(RLIMIT_CORE, &none) != 0) {
    throw core::SystemError("setrlimit", "RLIMIT_CORE", errno);
  }
}

void make_memory_unreadable() {
  forbid_core_dumps();
  // A program that the system pipes core dumps to takes them whatever the limit.
  if (prctl(PR_SET_DUMPABLE, 0) != 0) throw core::SystemError("prctl", "PR_SET_DUMPABLE", errno);
}

}  // namespace tabane::program
