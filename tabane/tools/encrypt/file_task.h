// What all threads of a job share, and one input file on its way to its output: opened once, done
// in pieces by any number of threads, checked for changes and committed by whoever finishes last.
#pragma once

#include <sys/stat.h>
#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tabane/core/file.h"
#include "tabane/core/output_file.h"
#include "tabane/crypto/device_aes.h"
#include "tabane/tools/encrypt/attributes.h"
#include "tabane/tools/encrypt/file_records.h"
#include "tabane/tools/encrypt/key_ring.h"
#include "tabane/tools/encrypt/manifest_file.h"
#include "tabane/tools/encrypt/plan.h"
#include "tabane/tools/encrypt/request.h"
#include "tabane/tools/encrypt/tree.h"
#include "tabane/tools/encrypt/tree_keys.h"

namespace tabane::encrypt {

struct Directories;

// What all threads of a job share.
struct JobState {
  // out: -1 if nothing is written. All live as long as the state.
  JobState(const Request& what, Trees& files, int in, int out, KeyRing& ring)
      : request(what), trees(files), in_root(in), out_root(out), keys(ring) {}

  const Request& request;
  Trees& trees;
  const Tree& tree = trees.tree;
  const int in_root, out_root;
  KeyRing& keys;
  Hooks hooks;
  crypto::Engine engine = crypto::Engine::openssl;  // of the CPU
  int stream = -1;                      // what a single file is written to in place of a file
  const TreeSeal* seal = nullptr;       // of the sealed files that are written
  crypto::DeviceAes* device = nullptr;  // encrypts beside the CPU; null: there is none
  FileRecords* records = nullptr;       // what is known of them, for the manifest
  // The manifest that sealed files have to fit to be kept; null: there was none. And whether a job
  // was interrupted since.
  const TreeManifest* kept_by = nullptr;
  bool was_interrupted = false;
  // Whether a file needs no task of its own, and was counted: as kept, or as done.
  std::function<bool(Directories&, std::uint32_t file)> is_done_without_work;
  TreeManifest* manifest = nullptr;  // of the sealed tree that is read
  // Whether nothing but its damage tells what a killed job has left from a user's file of such a
  // name.
  bool scan_may_hold_leftovers = false;
  ModePolicy modes;
  // Pieces of a file may be in the hands of several processes, so no thread can do it once more;
  // and those who write them find the output in its final size.
  bool spreads_pieces = false;
  std::atomic<bool> replaces = false;        // outputs that are there, beside what the request says
  core::Until outputs = core::Until::named;  // unnamed: of a job that replaces nothing
  // Whether sealed files that one call writes are made in place. A kill leaves them empty, and OUT
  // with the mode kUnfinishedRoot.
  bool small_in_place = false;

  std::atomic<bool> stop = false;
  // Asked before a file gets its name: whether others may do it in place of this rank. Thread-safe.
  std::function<bool()> is_given_up = [] { return false; };
  std::atomic<std::uint64_t> files_done = 0, files_kept = 0;
  std::atomic<std::uint64_t> files_unlisted = 0;  // sealed anew, as the manifest had another
  // Of the input: on the way or done; of the files that are done; of those that are kept.
  std::atomic<std::uint64_t> bytes_done = 0, bytes_of_files_done = 0, bytes_kept = 0;

  // Notes a failure, but that a file changed while it was read only the second time; a full or
  // read-only file system also stops the job. What differs from the manifest, or is a leftover,
  // goes to note(). Thread-safe.
  void fail(std::uint32_t file, const std::exception& error);
  // Notes that a file is not what the manifest has or, without one, that it is a leftover.
  // Thread-safe.
  void note(std::uint32_t file, const Misfit& misfit) {
    const std::lock_guard lock(mutex_);
    differences_.emplace_back(file, misfit);
  }
  template <class What>
  using OfFiles = std::vector<std::pair<std::uint32_t, What>>;
  OfFiles<std::string> failures() const {
    const std::lock_guard lock(mutex_);
    return failures_;
  }
  // Return what has been noted since the last call.
  OfFiles<std::string> take_failures() {
    const std::lock_guard lock(mutex_);
    return std::exchange(failures_, {});
  }
  OfFiles<Misfit> take_differences() {
    const std::lock_guard lock(mutex_);
    return std::exchange(differences_, {});
  }

  // A file that has changed while it was read, to be done once more from its beginning, by whoever
  // takes it. Thread-safe.
  std::optional<std::uint32_t> take_changed();
  // All that were, in no order; after the work.
  const std::vector<std::uint32_t>& changed() const { return changed_; }

 private:
  // What went into a stream cannot be taken back.
  bool redoes() const { return stream < 0 && !spreads_pieces; }
  bool can_be_redone(std::uint32_t file, const std::exception& error);
  bool is_leftover(std::uint32_t file, const std::exception& error) const;

  mutable std::mutex mutex_;
  std::vector<std::uint32_t> changed_;
  std::size_t changed_taken_ = 0;
  OfFiles<std::string> failures_;
  OfFiles<Misfit> differences_;
};

struct ChangedWhileRead : std::exception {
  const char* what() const noexcept override { return "changed while it was read"; }
};

// A thread's view of both trees.
struct Directories {
  explicit Directories(const JobState& job);

  DirectoryOpener in;
  std::optional<DirectoryOpener> out;
};

// What is the same for each format; the task of a format adds what it knows about its file.
class FileTask {
 public:
  FileTask(JobState& job, std::uint32_t file, std::uint32_t pieces)
      : job_(job), index_(file), path_(job.tree.path(job.tree.files[file])), pieces_left_(pieces) {}

  // To be called before start(). The unit gets what becomes of the file; a piece of a file that
  // several ranks do is written where share->joint says, and committed there.
  void take_part(std::shared_ptr<Share> share) { share_ = std::move(share); }
  // Null: the file is not done by several ranks, or this is the task that commits it.
  const Joint* joint() const { return share_ && share_->is_joint ? &share_->joint : nullptr; }
  // After start(): what others need to join.
  Joint make_joint() const;

  // Called by each piece before its work: the first opens the file and calls `prepare`, which reads
  // or makes the header. Returns whether there is work: not for a file that is kept or has failed.
  bool start(Directories& directories, const std::function<void()>& prepare);
  // Called by each piece after its work, or after start() returned false. The last one commits.
  void end_piece();
  // Does a piece's work and ends it; what the work throws is a failure.
  void do_piece(const std::function<void()>& work);
  // Notes that a piece could not be done.
  void fail(const std::exception& error);

  // Makes the output; `prepare` calls it when it knows what is expected.
  // least_bytes, most_bytes: of a complete output; if resuming, an output of such a size that has
  // the time of the input, and for which `belongs` holds, is kept and gets the mode that it would
  // have: returns false.
  bool open_output(
      std::uint64_t least_bytes, std::uint64_t most_bytes,
      const std::function<bool(int output)>& belongs = [](int) { return true; });

  // Whether a sealed file that is there may be kept: where the job holds to a manifest, the
  // manifest must have this state of it. An interrupted job may have sealed what the manifest does
  // not have, but nothing that the plain file's size and time say is as it was.
  bool output_is_current(const SealedState& state) const;

  int in() const { return in_.get(); }
  // Fill the bytes, or the places one after the other. throw: core::SystemError; ChangedWhileRead
  // if the file ends before.
  void read(std::byte* bytes, std::size_t size, std::uint64_t offset) const;
  void read(std::span<const iovec> places, std::uint64_t offset) const;
  bool writes() const { return output_fd() >= 0 || job_.stream >= 0; }  // not: verifying
  // Write to the output; to a stream in the order of the offsets. throw: core::SystemError.
  void write(const std::byte* bytes, std::size_t size, std::uint64_t offset) const;
  void write(std::span<const iovec> places, std::uint64_t offset) const;
  // Gives the output its final size before it is written to where others write to it, too (a remote
  // file system must not fill up the page between two ranks' pieces with zeros), or holes stay in
  // it. throws: core::SystemError.
  void presize(std::uint64_t bytes) const;
  std::uint64_t in_bytes() const { return static_cast<std::uint64_t>(before_.st_size); }
  bool failed() const { return failed_; }
  const std::string& path() const { return path_; }  // below the root
  JobState& job() const { return job_; }
  // Of the sealed file: what its manifest has, or is going to have.
  FileRecord& record() { return record_; }

 private:
  const TreeFile& file() const { return job_.tree.files[index_]; }
  void open_input(Directories& directories);
  struct stat wanted() const;
  void require_unchanged() const;
  void open_joint();
  void close_joint();
  void commit();
  void put_record();
  void give_attributes();
  void count_as_done(std::uint64_t bytes);
  bool keeps_holes() const;
  void write_around_holes(std::span<const iovec> places, std::uint64_t offset) const;
  int output_fd() const { return output_ ? output_->fd() : joined_.get(); }
  bool is_current(int directory, const char* name, std::uint64_t least, std::uint64_t most,
                  const std::function<bool(int)>& belongs) const;

  enum class Phase { fresh, working, nothing_to_do };
  JobState& job_;
  const std::uint32_t index_;
  const std::string path_;
  std::atomic<std::uint32_t> pieces_left_;
  std::mutex mutex_;
  Phase phase_ = Phase::fresh;
  std::atomic<bool> failed_ = false;
  core::Descriptor in_;
  core::SharedDescriptor out_directory_;
  std::string out_name_;
  std::optional<core::OutputFile> output_;
  std::shared_ptr<Share> share_;
  core::Descriptor joined_;  // the output of a joint
  struct stat before_ {};
  FileRecord record_;
};

// A part of a file, in steps of its format.
struct Range {
  std::uint64_t first, count;
};

// What a thread may take next, and what it is to leave to others.
struct Upcoming {
  std::uint64_t large_bytes = 0;  // the size of the next file if it is a large one, otherwise 0
  std::uint64_t share = 0;        // bytes left in the job, divided by its threads
};

// How files are worked on in one format: sealed by the CPU or a device, or AES-CBC. One thread's.
class Format {
 public:
  virtual ~Format() = default;

  // What FileTask::start() needs: reads or makes the header and opens the output, unless what is
  // there is current.
  virtual void prepare(FileTask& task) = 0;
  // The unit's part of a file that was started. piece_bytes: of the plan.
  virtual Range cut(const FileTask& task, const Unit& unit, std::uint64_t piece_bytes) const = 0;
  // Does a part of a file that was started and ends its piece: at once or, unless works_at_once(),
  // by the end of a later work() or finish(). What goes wrong is a failure of the file.
  virtual void work(const std::shared_ptr<FileTask>& task, const Range& range) = 0;
  virtual void finish() {}
  virtual bool works_at_once() const { return true; }
};

// Of the job's format, both; formats.cc knows them all.

// The task of a file that is done in so many pieces.
std::shared_ptr<FileTask> make_task(JobState& job, std::uint32_t file, std::uint32_t pieces);
// The job's device goes first. upcoming: asked by what encrypts with CBC.
std::unique_ptr<Format> make_format(
    JobState& job, std::function<Upcoming()> upcoming = [] { return Upcoming{}; });

// The part of a sequence of `total` steps that a unit does, if a step is `step` bytes of the input.
Range range_of(const Unit& unit, std::uint64_t piece_bytes, std::uint64_t step,
               std::uint64_t total);

}  // namespace tabane::encrypt
