#include "tabane/solver/machine_name.h"

#include <unistd.h>

#include "tabane/core/error.h"
#include "tabane/core/file.h"

namespace tabane::solver {

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

std::string machine_name() {
  try {
    return core::read_file("/proc/sys/kernel/random/boot_id");
  } catch (const core::SystemError&) {
    return host_name();
  }
}

}  // namespace tabane::solver
