#include "tabane/core/machine_name.h"

#include <unistd.h>

#include "tabane/core/error.h"
#include "tabane/core/file.h"

namespace tabane::core {

std::string host_name() {
  char name[256] = {};
  // The last byte stays 0 when the name is cut.
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unnamed";
}

std::string machine_name() {
  try {
    return core::read_file("/proc/sys/kernel/random/boot_id");
  } catch (const core::SystemError&) {
    return host_name();
  }
}

}  // namespace tabane::core
