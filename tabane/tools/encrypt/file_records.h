// What a job learns of each file, for or from the manifest: kept in memory for a usual tree, in
// a file without a name for one of millions of files.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <vector>

#include "tabane/core/file.h"
#include "tabane/tools/encrypt/manifest_format.h"

namespace tabane::encrypt {

struct FileRecord {
  SealedState sealed;
  std::int64_t seconds = 0;  // of the last change of the content
  std::uint32_t nanoseconds = 0;
  std::uint32_t mode = 0;  // 07777
  bool known = false;
  bool sparse = false;

  bool operator==(const FileRecord&) const = default;
  // Whether a file has been changed last when this one was.
  bool has_time_of(const struct stat& file) const {
    return file.st_mtim.tv_sec == seconds && file.st_mtim.tv_nsec == nanoseconds;
  }
};

// Records by the index of the file in its tree. Until put() was called, one is not known.
class FileRecords {
 public:
  static constexpr std::uint64_t kMostInMemory = 100'000;  // 8 MB

  // spill_directory: where a file without a name is made if there are more records than
  // most_in_memory; where that cannot be, they are held in memory all the same. throws:
  // core::SystemError.
  FileRecords(std::uint64_t count, int spill_directory,
              std::uint64_t most_in_memory = kMostInMemory);

  // Thread-safe for different indices. throw: core::SystemError.
  void put(std::uint64_t index, const FileRecord& record);
  FileRecord get(std::uint64_t index) const;

 private:
  std::vector<FileRecord> in_memory_;
  core::Descriptor spilled_;
};

}  // namespace tabane::encrypt
