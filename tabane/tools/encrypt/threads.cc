#include "tabane/tools/encrypt/threads.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "tabane/core/threads.h"
#include "tabane/tools/encrypt/cbc_file.h"
#include "tabane/tools/encrypt/device_sealer.h"
#include "tabane/tools/encrypt/sealed_file.h"

namespace tabane::encrypt {
namespace {

struct Taken {
  const Unit* unit;
  std::shared_ptr<Share> share;  // null: nobody else works on the job
};

// Hands out the plan's units; the pieces of one file share its task, unless it is another rank's.
template <class Task>
class Queue {
 public:
  Queue(JobState& job, const Plan& plan, UnitSource* source)
      : job_(job),
        plan_(plan),
        source_(source),
        shared_(source ? 0 : plan.units.size()),
        bytes_(job.tree.bytes()) {
    if (source) return;
    for (std::size_t i = 0; i < plan.units.size(); ++i) {
      const Unit& unit = plan.units[i];
      if (unit.pieces == 1) continue;
      shared_[i] = unit.piece == 0 ? std::make_shared<Task>(job, unit.first_file, unit.pieces)
                                   : shared_[i - 1];
    }
  }

  // Returns nothing if there is none or the job stops.
  std::optional<Taken> next() {
    if (source_) {
      std::shared_ptr<Share> share = source_->next();
      if (!share) return std::nullopt;
      const Unit* const unit = &plan_.units[share->unit];
      return Taken{unit, std::move(share)};
    }
    const std::size_t i = next_++;
    if (job_.stop || i >= plan_.units.size()) return std::nullopt;
    return Taken{&plan_.units[i], nullptr};
  }

  // Of a file that is done once more, as a whole.
  std::shared_ptr<Task> next_changed() {
    const auto file = job_.take_changed();
    return file ? std::make_shared<Task>(job_, *file, 1) : nullptr;
  }

  std::shared_ptr<Task> task(const Taken& taken, std::uint32_t which) const {
    const Unit& unit = *taken.unit;
    if (unit.pieces > 1 && !taken.share) {
      return shared_[static_cast<std::size_t>(&unit - plan_.units.data())];
    }
    auto task = std::make_shared<Task>(job_, unit.first_file + which, 1);
    task->take_part(taken.share);
    return task;
  }

  const Plan& plan() const { return plan_; }

  // The size of the next file if it is a large one, otherwise 0; large files come first. 0, too,
  // where others say which one is next.
  std::uint64_t next_large_bytes() const {
    if (source_) return 0;
    const std::size_t i = next_;
    if (i >= plan_.units.size()) return 0;
    const std::uint64_t bytes = job_.tree.files[plan_.units[i].first_file].bytes;
    return bytes >= kLargeBytes ? bytes : 0;
  }
  // Bytes of the job that no thread has done yet.
  std::uint64_t bytes_left() const {
    const std::uint64_t done = job_.bytes_done + job_.bytes_kept;
    return bytes_ > done ? bytes_ - done : 0;
  }

 private:
  JobState& job_;
  const Plan& plan_;
  UnitSource* const source_;
  std::vector<std::shared_ptr<Task>> shared_;
  const std::uint64_t bytes_;
  std::atomic<std::size_t> next_ = 0;
};

// The part of a sequence of `total` steps that a piece does, if a step is `step` bytes of the
// input.
struct Range {
  std::uint64_t first, count;
};
Range range_of(const Unit& unit, std::uint64_t piece_bytes, std::uint64_t step,
               std::uint64_t total) {
  if (unit.pieces == 1) return {0, total};
  const std::uint64_t first = std::min(total, unit.piece * piece_bytes / step);
  const bool last = unit.piece + 1 == unit.pieces;
  const std::uint64_t end = last ? total : std::min(total, (unit.piece + 1) * piece_bytes / step);
  return {first, end - first};
}

// Returns whether the piece is done.
bool work_piece(FileTask& task, Directories& directories, const std::function<void()>& prepare,
                const std::function<void()>& work) {
  bool done = false;
  try {
    if (task.start(directories, prepare)) {
      work();
      done = true;
    }
  } catch (const std::exception& error) {
    task.fail(error);
  }
  task.end_piece();
  return done && !task.failed();
}

// Does whole units, piece by piece. prepare(task), range(unit, task), work(task, range): the
// format's.
template <class Task, class Prepare, class RangeOf, class Work>
void work_units(JobState& job, Queue<Task>& queue, CopyPairs* copies, const Prepare& prepare,
                const RangeOf& range, const Work& work) {
  Directories directories(job);
  std::optional<CopySampler> sampler;
  if (copies) sampler.emplace(job.tree, queue.plan(), job.in_root, job.out_root, *copies);
  while (const std::optional<Taken> taken = queue.next()) {
    const Unit* const unit = taken->unit;
    if (sampler) sampler->before(*unit);
    bool whole = true;
    for (std::uint32_t i = 0; i < unit->files && !job.stop; ++i) {
      const std::uint32_t file = unit->first_file + i;
      if (unit->pieces == 1 && job.is_done_without_work &&
          job.is_done_without_work(directories, file)) {
        whole = false;  // what is skipped says nothing of the speed
        continue;
      }
      const auto task = queue.task(*taken, i);
      whole &= work_piece(
          *task, directories, [&] { prepare(*task); }, [&] { work(*task, range(*unit, *task)); });
    }
    if (sampler) sampler->after(*unit, whole && !job.stop);
  }
  while (const auto task = queue.next_changed()) {
    work_piece(
        *task, directories, [&] { prepare(*task); }, [&] { work(*task, range(Unit{}, *task)); });
  }
}

// Whole units as work_units() does them, but their pieces end when the sealer has written them.
void work_on_device(JobState& job, Queue<SealedTask>& queue, DeviceSealer& sealer,
                    const auto& prepare, const auto& chunks) {
  Directories directories(job);
  const auto take = [&](const std::shared_ptr<SealedTask>& task, const Unit& unit) {
    if (!task->start(directories, [&] { prepare(*task); })) return task->end_piece();
    const Range range = chunks(unit, *task);
    sealer.add(task, range.first, range.count);
  };
  while (const std::optional<Taken> taken = queue.next()) {
    const Unit& unit = *taken->unit;
    for (std::uint32_t i = 0; i < unit.files && !job.stop; ++i) {
      if (unit.pieces == 1 && job.is_done_without_work &&
          job.is_done_without_work(directories, unit.first_file + i))
        continue;
      take(queue.task(*taken, i), unit);
    }
  }
  sealer.finish();
  while (const auto task = queue.next_changed()) {
    take(task, Unit{});
    sealer.finish();
  }
}

// Null: there is no device, or it has no room for this thread.
std::unique_ptr<DeviceSealer> make_sealer(const JobState& job, crypto::Engine engine, bool opens) {
  if (job.device == nullptr) return nullptr;
  try {
    return std::make_unique<DeviceSealer>(*job.device, engine, opens);
  } catch (const device::DeviceError& error) {
    job.device->note_failure(error);
    return nullptr;
  }
}

void work_sealed(JobState& job, Queue<SealedTask>& queue, crypto::Engine engine,
                 CopyPairs* copies) {
  const bool opens = job.request.direction != Direction::encrypt;
  SealedFileWorker worker(engine);
  const auto prepare = [&](SealedTask& task) {
    opens ? worker.prepare_to_open(task) : worker.prepare_to_seal(task);
  };
  const auto chunks = [&](const Unit& unit, const SealedTask& task) {
    return range_of(unit, queue.plan().piece_bytes, task.chunk_bytes(), task.chunks());
  };
  if (const auto sealer = make_sealer(job, engine, opens)) {
    return work_on_device(job, queue, *sealer, prepare, chunks);
  }
  work_units(job, queue, copies, prepare, chunks, [&](SealedTask& task, Range range) {
    opens ? worker.decrypt(task, range.first, range.count)
          : worker.encrypt(task, range.first, range.count);
  });
}

// Hands files to the lanes of one thread.
class LaneFeed {
 public:
  LaneFeed(JobState& job, Queue<CbcTask>& queue, CbcFileWorker& worker)
      : job_(job), queue_(queue), worker_(worker), directories_(job) {}

  // Returns a further file for a thread that has `open` ones, or null: none now.
  std::shared_ptr<CbcTask> next(const OpenChains& open) {
    while (!job_.stop && takes_more(open)) {
      if (!taken_ || done_ == taken_->unit->files) {
        taken_.reset();  // before the wait for another one
        taken_ = queue_.next();
        done_ = 0;
      }
      auto task = taken_ ? queue_.task(*taken_, done_++) : queue_.next_changed();
      if (!task) return nullptr;
      if (task->start(directories_, [&] { worker_.prepare_to_encrypt(*task); })) return task;
      task->end_piece();
    }
    return nullptr;
  }

 private:
  bool takes_more(const OpenChains& open) const {
    const std::uint64_t large = queue_.next_large_bytes();
    if (large == 0) return open.files < worker_.lanes();
    return takes_chain(open, large, queue_.bytes_left() / queue_.plan().threads, worker_.lanes());
  }

  JobState& job_;
  Queue<CbcTask>& queue_;
  CbcFileWorker& worker_;
  Directories directories_;
  std::optional<Taken> taken_;
  std::uint32_t done_ = 0;  // of its unit's files
};

void encrypt_cbc(JobState& job, Queue<CbcTask>& queue, CbcFileWorker& worker) {
  LaneFeed feed(job, queue, worker);
  worker.encrypt([&](const OpenChains& open) { return feed.next(open); });
}

void work_cbc(JobState& job, Queue<CbcTask>& queue, crypto::Engine engine, CopyPairs* copies) {
  const Request& request = job.request;
  CbcFileWorker worker(std::span(request.key.bytes()).first(key_bytes(request.cipher)), engine,
                       job.device);
  if (request.direction == Direction::encrypt) return encrypt_cbc(job, queue, worker);
  work_units(
      job, queue, copies, [&](CbcTask& task) { worker.prepare_to_decrypt(task); },
      [&](const Unit& unit, const CbcTask& task) {
        return range_of(unit, queue.plan().piece_bytes, 1, task.bytes());
      },
      [&](CbcTask& task, Range range) { worker.decrypt(task, range.first, range.count); });
}

// Calls `work` in each thread of the plan; see run_job_threads().
void run_threads(JobState& job, const Plan& plan, const std::function<void()>& work,
                 const Hooks& hooks, UnitSource* source) {
  constexpr std::chrono::milliseconds kTell(100), kTick(1);
  const auto work_or_stop = [&](std::size_t) {
    try {
      work();
    } catch (...) {
      job.stop = true;
      throw;
    }
  };
  const std::uint64_t bytes_total = job.tree.bytes();
  const auto report = [&] {
    hooks.progress({.files = job.files_done + job.files_kept,
                    .bytes = job.bytes_done + job.bytes_kept,
                    .files_total = job.tree.files.size(),
                    .bytes_total = bytes_total});
  };
  auto told = std::chrono::steady_clock::now();
  core::run_crew(plan.threads, work_or_stop, source ? kTick : kTell, [&] {
    if (source) {
      source->tick();
      if (std::chrono::steady_clock::now() - told < kTell) return;
      told = std::chrono::steady_clock::now();
    }
    if (hooks.stop_requested()) job.stop = true;
    report();
  });
  report();
}

}  // namespace

void run_job_threads(JobState& job, const Plan& plan, crypto::Engine engine, const Hooks& hooks,
                     CopyPairs* copies, UnitSource* source) {
  if (job.request.cipher == Cipher::aes_256_gcm) {
    Queue<SealedTask> queue(job, plan, source);
    run_threads(
        job, plan, [&] { work_sealed(job, queue, engine, copies); }, hooks, source);
  } else {
    Queue<CbcTask> queue(job, plan, source);
    run_threads(
        job, plan, [&] { work_cbc(job, queue, engine, copies); }, hooks, source);
  }
}

}  // namespace tabane::encrypt
