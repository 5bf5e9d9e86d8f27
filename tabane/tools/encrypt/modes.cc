#include "tabane/tools/encrypt/modes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <string>

#include "tabane/core/error.h"
#include "tabane/core/file.h"

namespace tabane::encrypt {

// Calling umask() changes it for a moment, in which another thread may make a file.
mode_t process_umask() {
  constexpr std::string_view kField = "\nUmask:\t";
  const std::string status = core::read_file("/proc/self/status");
  const auto at = status.find(kField);
  if (at == std::string::npos) throw core::Error("/proc/self/status does not tell the umask");
  const char* const begin = status.data() + at + kField.size();
  mode_t mask = 0;
  std::from_chars(begin, status.data() + status.size(), mask, 8);
  return mask;
}

mode_t output_mode(mode_t source, const ModePolicy& policy) {
  constexpr mode_t kAll = 07777, kPermissions = 0777, kOwner = 0700;
  if (policy.preserve) return source & kAll;
  if (!policy.opens) return source & kPermissions;
  return source & (policy.authenticated ? kPermissions : kOwner) & ~policy.mask;
}

}  // namespace tabane::encrypt
