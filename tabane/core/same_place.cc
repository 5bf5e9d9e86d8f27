#include "tabane/core/same_place.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "tabane/core/error.h"
#include "tabane/core/file.h"

namespace tabane::core {

FileId identity_of(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw SystemError("fstat", "", errno);
  return {status.st_dev, status.st_ino};
}

std::vector<FileId> with_parents(int directory) {
  constexpr int kPath = O_PATH | O_DIRECTORY | O_CLOEXEC;
  std::vector<FileId> found = {identity_of(directory)};
  for (Descriptor at(::openat(directory, "..", kPath)); at.valid();
       at.reset(::openat(at.get(), "..", kPath))) {
    const FileId parent = identity_of(at.get());
    if (parent == found.back()) break;  // the root is its own parent
    found.push_back(parent);
  }
  return found;
}

}  // namespace tabane::core
