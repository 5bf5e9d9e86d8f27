// How the files of a job are worked on in one format: sealed by the CPU or a device, or AES-CBC.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "tabane/crypto/engine.h"
#include "tabane/tools/encrypt/file_task.h"
#include "tabane/tools/encrypt/plan.h"

namespace tabane::encrypt {

// A part of a file, in steps of its format.
struct Range {
  std::uint64_t first, count;
};

// What a thread may take next, and what it is to leave to others.
struct Upcoming {
  std::uint64_t large_bytes = 0;  // the size of the next file if it is a large one, otherwise 0
  std::uint64_t share = 0;        // bytes left in the job, divided by its threads
};

// One thread's.
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

// The task of a file that is done in so many pieces, in the job's format.
std::shared_ptr<FileTask> make_task(JobState& job, std::uint32_t file, std::uint32_t pieces);

// engine: of the CPU; the job's device goes first. upcoming: asked by what encrypts with CBC.
std::unique_ptr<Format> make_format(
    JobState& job, crypto::Engine engine,
    std::function<Upcoming()> upcoming = [] { return Upcoming{}; });

}  // namespace tabane::encrypt
