#include "tabane/tools/encrypt/attributes.h"

#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/output_file.h"

namespace tabane::encrypt {
namespace {

constexpr std::size_t kMostOfXattr = std::size_t{64} << 10;  // of a value, and of all names

}  // namespace

bool is_unfinished(int root) {
  struct stat status {};
  return fstat(root, &status) == 0 && (status.st_mode & 07777) == kUnfinishedRoot;
}

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

std::vector<Attribute> read_attributes(int file, const std::string& path) {
  std::vector<Attribute> attributes;
  std::string names(kMostOfXattr, '\0'), value(kMostOfXattr, '\0');
  const ssize_t listed = flistxattr(file, names.data(), names.size());
  if (listed < 0 && errno == ENOTSUP) return attributes;
  if (listed < 0) throw core::SystemError("flistxattr", path, errno);
  std::size_t total = 0;
  for (std::size_t at = 0; at < static_cast<std::size_t>(listed);) {
    const std::string name(names.c_str() + at);
    at += name.size() + 1;
    if (!is_attribute_name(name)) continue;
    const ssize_t bytes = fgetxattr(file, name.c_str(), value.data(), value.size());
    if (bytes < 0) throw core::SystemError("fgetxattr", path, errno);
    attributes.emplace_back(name, value.substr(0, static_cast<std::size_t>(bytes)));
    total += name.size() + attributes.back().second.size();
  }
  if (total > kMostAttributeBytes) {
    throw core::Error("has more than 1 MiB of extended attributes");
  }
  std::ranges::sort(attributes);
  return attributes;
}

void write_attributes(int file, const std::vector<Attribute>& attributes, const std::string& path) {
  for (const auto& [name, value] : attributes) {
    if (fsetxattr(file, name.c_str(), value.data(), value.size(), 0) != 0) {
      throw core::SystemError("set " + name, path, errno);
    }
  }
}

mode_t output_mode(mode_t source, const ModePolicy& policy) {
  constexpr mode_t kAll = 07777, kPermissions = 0777, kOwner = 0700;
  if (policy.preserve) return source & kAll;
  if (!policy.opens) return source & kPermissions;
  return source & (policy.authenticated ? kPermissions : kOwner) & ~policy.mask;
}

WritableForNow::WritableForNow(int directory) : directory_(directory) {
  if (fstat(directory, &before_) == 0) core::let_owner_work(directory);
}

WritableForNow::~WritableForNow() {
  struct stat now {};
  if (fstat(directory_, &now) == 0 && now.st_mode != before_.st_mode) {
    static_cast<void>(fchmod(directory_, before_.st_mode & 07777));
  }
}

}  // namespace tabane::encrypt
