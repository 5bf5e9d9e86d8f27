#include "tabane/tools/encrypt/file_task.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "tabane/core/temporary_file.h"

namespace tabane::encrypt {
namespace {

std::size_t size_of(std::span<const iovec> places) {
  std::size_t size = 0;
  for (const iovec& place : places) size += place.iov_len;
  return size;
}

void write_all_from(int fd, std::span<const iovec> places, std::uint64_t offset,
                    std::string_view what) {
  const ssize_t put =
      pwritev(fd, places.data(), static_cast<int>(places.size()), static_cast<off_t>(offset));
  if (put == static_cast<ssize_t>(size_of(places))) return;
  for (const iovec& place : places) {
    core::write_all_at(fd, place.iov_base, place.iov_len, offset, what);
    offset += place.iov_len;
  }
}

// A file system that compresses takes fewer blocks, too.
bool has_holes(int file, const struct stat& status) {
  constexpr off_t kBlock = 512;
  return status.st_blocks * kBlock < status.st_size && lseek(file, 0, SEEK_HOLE) < status.st_size;
}

bool is_zero(std::span<const std::byte> bytes) {
  return bytes[0] == std::byte{0} &&
         std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool same_input(const Joint& joint, const struct stat& seen) {
  return joint.bytes == static_cast<std::uint64_t>(seen.st_size) &&
         joint.seconds == seen.st_mtim.tv_sec && joint.nanoseconds == seen.st_mtim.tv_nsec;
}

// Every file after this one would fail too.
bool ends_the_job(const std::exception& error) {
  const auto* system = dynamic_cast<const core::SystemError*>(&error);
  return system && (system->code() == ENOSPC || system->code() == EDQUOT ||
                    system->code() == EROFS || system->code() == ENOMEM);
}

}  // namespace

void JobState::fail(std::uint32_t file, const std::exception& error) {
  if (const auto* differs = dynamic_cast<const DiffersFromManifest*>(&error)) {
    return note(file, differs->misfit);
  }
  if (is_leftover(file, error)) return note(file, {Difference::added});
  if (ends_the_job(error)) stop = true;
  const std::lock_guard lock(mutex_);
  if (can_be_redone(file, error)) return changed_.push_back(file);
  const bool twice = dynamic_cast<const ChangedWhileRead*>(&error) && redoes();
  failures_.emplace_back(file, std::string(error.what()) + (twice ? ", twice" : ""));
}

bool JobState::is_leftover(std::uint32_t file, const std::exception& error) const {
  const TreeFile& found = tree.files[file];
  return scan_may_hold_leftovers && dynamic_cast<const DamageError*>(&error) &&
         (core::is_leftover(tree.name(found.name_at), S_IFREG | found.mode) ||
          (found.bytes == 0 && is_unfinished(in_root)));
}

bool JobState::can_be_redone(std::uint32_t file, const std::exception& error) {
  return dynamic_cast<const ChangedWhileRead*>(&error) && redoes() &&
         std::ranges::find(changed_, file) == changed_.end();
}

std::optional<std::uint32_t> JobState::take_changed() {
  const std::lock_guard lock(mutex_);
  if (stop || changed_taken_ == changed_.size()) return std::nullopt;
  return changed_[changed_taken_++];
}

// Files by other names come in no order, from few directories.
Directories::Directories(const JobState& job)
    : in(job.trees.in(), job.in_root, false, job.trees.as_read ? DirectoryOpener::kAll : 2) {
  if (job.out_root < 0) return;
  out.emplace(job.trees.out(), job.out_root, true,
              job.trees.as_written ? DirectoryOpener::kAll : 2);
}

bool FileTask::start(Directories& directories, const std::function<void()>& prepare) {
  const std::lock_guard lock(mutex_);
  if (phase_ == Phase::fresh) {
    phase_ = Phase::nothing_to_do;
    try {
      if (job_.manifest) record_ = job_.manifest->expected(index_);
      if (job_.out_root >= 0 && job_.manifest && job_.manifest->first_name_of(index_)) {
        count_as_done(file().bytes);
        job_.bytes_done += file().bytes;
        return false;
      }
      open_input(directories);
      // What the manifest does not have gets no directory, either; `prepare` tells of it.
      if (directories.out && (!job_.manifest || record_.known)) {
        DirectoryEntry place = directories.out->entry(index_);
        out_directory_ = std::move(place.directory);
        out_name_ = std::move(place.name);
      }
      prepare();
      if (output_fd() >= 0 || job_.out_root < 0) phase_ = Phase::working;
    } catch (const std::exception& error) {
      fail(error);
    }
  }
  return phase_ == Phase::working && !failed_;
}

void FileTask::open_input(Directories& directories) {
  const DirectoryEntry place = directories.in.entry(index_);
  in_ = open_entry(place.directory->get(), place.name.c_str());
  if (!in_.valid()) throw core::SystemError("open", path(), errno);
  if (fstat(in_.get(), &before_) != 0) throw core::SystemError("stat", path(), errno);
  if (!S_ISREG(before_.st_mode)) throw core::Error("is no longer a regular file");
  // The pieces were cut for the size that the scan saw.
  if ((pieces_left_ > 1 || joint()) && in_bytes() != file().bytes) {
    throw ChangedWhileRead();
  }
  if (joint() && !same_input(*joint(), before_)) throw ChangedWhileRead();
}

bool FileTask::open_output(std::uint64_t least_bytes, std::uint64_t most_bytes,
                           const std::function<bool(int)>& belongs) {
  if (job_.out_root < 0) return true;
  if (joint()) {
    open_joint();
    return true;
  }
  if (job_.request.resume &&
      is_current(out_directory_->get(), out_name_.c_str(), least_bytes, most_bytes, belongs)) {
    ++job_.files_kept;
    job_.bytes_kept += in_bytes();
    if (share_) {
      ++share_->files_kept;
      share_->bytes_kept += in_bytes();
    }
    put_record();
    return false;
  }
  constexpr std::uint64_t kWrittenAtOnce = 4096;  // a page: all of it or nothing
  const bool in_place =
      job_.small_in_place && least_bytes + job_.seal->embedded.size() <= kWrittenAtOnce;
  output_.emplace(out_directory_, out_name_, wanted().st_mode,
                  in_place ? core::Until::in_place : job_.outputs);
  return true;
}

void FileTask::open_joint() {
  joined_.reset(
      openat(out_directory_->get(), joint()->temporary, O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!joined_.valid()) throw core::SystemError("open the output of", path(), errno);
}

// Closing tells what a remote file system says only then, and lets others see what was written.
void FileTask::close_joint() {
  if (joined_.valid()) {
    if (job_.request.fsync && fsync(joined_.get()) != 0) {
      throw core::SystemError("fsync", path(), errno);
    }
    joined_.close(path());
  }
  share_->last_tag = record_.sealed.last_tag;
  share_->done = true;
}

Joint FileTask::make_joint() const {
  Joint joint;
  if (output_) {
    const std::string_view name = output_->temporary_name();
    TABANE_ASSERT(name.size() < sizeof joint.temporary);
    std::ranges::copy(name, joint.temporary);
  }
  joint.salt = record_.sealed.salt;
  joint.bytes = in_bytes();
  joint.seconds = before_.st_mtim.tv_sec;
  joint.nanoseconds = before_.st_mtim.tv_nsec;
  return joint;
}

bool FileTask::keeps_holes() const { return job_.manifest && record_.sparse && job_.stream < 0; }

void FileTask::presize(std::uint64_t bytes) const {
  const bool is_shared = job_.spreads_pieces && pieces_left_ > 1;
  if (!output_ || !(is_shared || keeps_holes())) return;
  if (ftruncate(output_->fd(), static_cast<off_t>(bytes)) != 0) {
    throw core::SystemError("ftruncate", path(), errno);
  }
}

void FileTask::read(std::byte* bytes, std::size_t size, std::uint64_t offset) const {
  if (core::read_all_at(in(), bytes, size, offset, path()) != size) throw ChangedWhileRead();
}

// One call does all, or each place gets its own, as for writing: what is read or written twice is
// the same.
void FileTask::read(std::span<const iovec> places, std::uint64_t offset) const {
  const ssize_t got =
      preadv(in(), places.data(), static_cast<int>(places.size()), static_cast<off_t>(offset));
  if (got == static_cast<ssize_t>(size_of(places))) return;
  for (const iovec& place : places) {
    read(static_cast<std::byte*>(place.iov_base), place.iov_len, offset);
    offset += place.iov_len;
  }
}

void FileTask::write(const std::byte* bytes, std::size_t size, std::uint64_t offset) const {
  if (job_.stream >= 0) return core::write_all(job_.stream, bytes, size, path());
  core::write_all_at(output_fd(), bytes, size, offset, path());
}

void FileTask::write(std::span<const iovec> places, std::uint64_t offset) const {
  if (keeps_holes()) return write_around_holes(places, offset);
  if (job_.stream < 0) return write_all_from(output_fd(), places, offset, path());
  for (const iovec& place : places) {
    core::write_all(job_.stream, place.iov_base, place.iov_len, path());
  }
}

// The output has its size, and zeros wherever nothing is written.
void FileTask::write_around_holes(std::span<const iovec> places, std::uint64_t offset) const {
  constexpr std::size_t kBlock = 4096;
  for (const iovec& place : places) {
    const std::span bytes(static_cast<const std::byte*>(place.iov_base), place.iov_len);
    for (std::size_t at = 0, end = 0; at < bytes.size(); at = end + kBlock) {
      for (end = at; end < bytes.size(); end += kBlock) {
        if (is_zero(bytes.subspan(end, std::min(kBlock, bytes.size() - end)))) break;
      }
      const std::size_t size = std::min(end, bytes.size()) - at;
      if (size > 0) core::write_all_at(output_fd(), &bytes[at], size, offset + at, path());
    }
    offset += bytes.size();
  }
}

// What the output's mode, times and owner are held against.
struct stat FileTask::wanted() const {
  struct stat status = before_;
  if (job_.manifest) {
    status.st_mode = record_.mode;
    status.st_mtim = {.tv_sec = record_.seconds, .tv_nsec = record_.nanoseconds};
  }
  status.st_mode = output_mode(status.st_mode, job_.modes);
  return status;
}

bool FileTask::is_current(int directory, const char* name, std::uint64_t least, std::uint64_t most,
                          const std::function<bool(int)>& belongs) const {
  const core::Descriptor there = open_entry(directory, name);
  struct stat seen {};
  if (!there.valid() || fstat(there.get(), &seen) != 0 || !S_ISREG(seen.st_mode)) return false;
  const auto bytes = static_cast<std::uint64_t>(seen.st_size);
  if (bytes < least || bytes > most || !same_time(seen.st_mtim, wanted().st_mtim)) return false;
  if (!belongs(there.get())) return false;
  if (job_.request.xattrs && job_.manifest &&
      read_attributes(there.get(), path()) != job_.manifest->attributes_of(index_)) {
    return false;
  }
  core::set_mode(there.get(), wanted(), path());
  return true;
}

bool FileTask::output_is_current(const SealedState& state) const {
  if (!job_.kept_by) return true;
  const FileRecord listed =
      job_.records ? job_.records->get(index_) : job_.kept_by->expected(index_);
  if (listed.known && listed.sealed == state) return true;
  const bool as_it_was =
      listed.known && listed.sealed.bytes == in_bytes() && listed.has_time_of(before_);
  if (job_.was_interrupted && !as_it_was) return true;
  ++job_.files_unlisted;
  return false;
}

void FileTask::put_record() {
  if (!job_.records && !(share_ && job_.seal)) return;
  record_.mode = before_.st_mode & 07777;
  record_.seconds = before_.st_mtim.tv_sec;
  record_.nanoseconds = static_cast<std::uint32_t>(before_.st_mtim.tv_nsec);
  record_.known = true;
  record_.sparse = has_holes(in_.get(), before_);
  if (job_.records) return job_.records->put(index_, record_);
  share_->records.emplace_back(index_, record_);
}

void FileTask::require_unchanged() const {
  struct stat after {};
  if (fstat(in_.get(), &after) != 0) throw core::SystemError("stat", path(), errno);
  // The time of the last change of anything, which nobody can set, shows it where the other was put
  // back.
  if (after.st_size != before_.st_size || !same_time(after.st_mtim, before_.st_mtim) ||
      !same_time(after.st_ctim, before_.st_ctim)) {
    throw ChangedWhileRead();
  }
  // Files that the system makes up as they are read say that they are empty.
  char more;
  if (after.st_size == 0 && core::read_all_at(in_.get(), &more, 1, 0, path()) != 0) {
    throw ChangedWhileRead();
  }
}

void FileTask::fail(const std::exception& error) {
  const bool stopped = dynamic_cast<const Stopped*>(&error) != nullptr;
  if (!failed_.exchange(true) && !stopped) job_.fail(index_, error);
}

void FileTask::commit() {
  if (output_) {
    const bool replaces = job_.request.replaces() || job_.replaces;
    if (replaces && job_.request.key_files.find(out_directory_->get(), out_name_.c_str())) {
      throw core::Error("a file of keys that this job reads is there, which nothing replaces");
    }
    give_attributes();
    // What was given up must not replace what has been done in its place.
    if (job_.is_given_up()) throw Stopped();
    output_->commit(wanted(), {.replace = replaces, .fsync = job_.request.fsync});
  }
  put_record();
  count_as_done(in_bytes());
}

// Before the mode, which a list of access is within. What cannot be set leaves the content.
void FileTask::give_attributes() {
  if (!job_.request.xattrs || !job_.manifest) return;
  try {
    write_attributes(output_->fd(), job_.manifest->attributes_of(index_), path());
  } catch (const core::SystemError& error) {
    job_.fail(index_, core::Error(error.what()));
  }
}

void FileTask::count_as_done(std::uint64_t bytes) {
  ++job_.files_done;
  job_.bytes_of_files_done += bytes;
  if (share_) {
    ++share_->files;
    share_->bytes += bytes;
  }
}

void FileTask::do_piece(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    fail(error);
  }
  end_piece();
}

void FileTask::end_piece() {
  if (--pieces_left_ > 0) return;
  const std::lock_guard lock(mutex_);
  if (phase_ == Phase::working && !failed_) {
    try {
      require_unchanged();
      joint() ? close_joint() : commit();
    } catch (const std::exception& error) {
      fail(error);
    }
  }
  output_.reset();
  joined_.reset();
  in_.reset();
  out_directory_.reset();
  phase_ = Phase::nothing_to_do;
}

Range range_of(const Unit& unit, std::uint64_t piece_bytes, std::uint64_t step,
               std::uint64_t total) {
  if (unit.pieces == 1) return {0, total};
  const std::uint64_t first = std::min(total, unit.piece * piece_bytes / step);
  const bool last = unit.piece + 1 == unit.pieces;
  const std::uint64_t end = last ? total : std::min(total, (unit.piece + 1) * piece_bytes / step);
  return {first, end - first};
}

}  // namespace tabane::encrypt
