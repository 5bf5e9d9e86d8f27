#include "tabane/tools/encrypt/file_records.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <string>

#include "tabane/crypto/secret.h"

namespace tabane::encrypt {
namespace {

constexpr const char* kWhat = "temporary file for the records of the files";

// Where the file system makes no files without a name, a named one loses it at once. None that is
// valid if there can be none.
core::Descriptor unnamed_file(int directory) {
  core::Descriptor file(::openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.valid()) return file;
  std::uint64_t number = 0;
  crypto::fill_random(std::as_writable_bytes(std::span(&number, 1)));
  const std::string name =
      fmt::format(".tabane-{:016x}.part", number);  // a leftover if we die here
  file.reset(
      ::openat(directory, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_ISVTX | 0600));
  if (file.valid() && ::unlinkat(directory, name.c_str(), 0) != 0) {
    throw core::SystemError("remove", kWhat, errno);
  }
  return file;
}

}  // namespace

FileRecords::FileRecords(std::uint64_t count, int spill_directory, std::uint64_t most_in_memory) {
  if (count > most_in_memory) spilled_ = unnamed_file(spill_directory);
  if (!spilled_.valid()) {
    in_memory_.resize(count);
    return;
  }
  // Zeros, which say that no record is known.
  if (::ftruncate(spilled_.get(), static_cast<off_t>(count * sizeof(FileRecord))) != 0) {
    throw core::SystemError("ftruncate", kWhat, errno);
  }
}

void FileRecords::put(std::uint64_t index, const FileRecord& record) {
  if (spilled_.valid()) {
    core::write_all_at(spilled_.get(), &record, sizeof record, index * sizeof record, kWhat);
  } else {
    in_memory_[index] = record;
  }
}

FileRecord FileRecords::get(std::uint64_t index) const {
  if (!spilled_.valid()) return in_memory_[index];
  FileRecord record;
  core::read_all_at(spilled_.get(), &record, sizeof record, index * sizeof record, kWhat);
  return record;
}

}  // namespace tabane::encrypt
