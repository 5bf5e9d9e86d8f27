#include "tabane/tools/encrypt/threads.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tabane/core/binding.h"
#include "tabane/core/threads.h"

namespace tabane::encrypt {
namespace {

#ifdef __SANITIZE_THREAD__  // which takes files of one number in two tables for the same file
constexpr bool kMayHaveTables = false;
#else
constexpr bool kMayHaveTables = true;
#endif

struct Taken {
  const Unit* unit;
  std::shared_ptr<Share> share;  // null: nobody else works on the job
};

// Hands out the plan's units; the pieces of one file share its task, unless it is another rank's.
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
      shared_[i] = unit.piece == 0 ? make_task(job, unit.first_file, unit.pieces) : shared_[i - 1];
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
  std::shared_ptr<FileTask> next_changed() {
    const auto file = job_.take_changed();
    return file ? make_task(job_, *file, 1) : nullptr;
  }

  std::shared_ptr<FileTask> task(const Taken& taken, std::uint32_t which) const {
    const Unit& unit = *taken.unit;
    if (unit.pieces > 1 && !taken.share) {
      return shared_[static_cast<std::size_t>(&unit - plan_.units.data())];
    }
    auto task = make_task(job_, unit.first_file + which, 1);
    task->take_part(taken.share);
    return task;
  }

  const Plan& plan() const { return plan_; }

  // Large files come first. Where others say which one is next, none is known.
  Upcoming upcoming() const {
    const std::uint64_t done = job_.bytes_done + job_.bytes_kept;
    Upcoming next{.share = (bytes_ > done ? bytes_ - done : 0) / plan_.threads};
    const std::size_t i = next_;
    if (source_ || i >= plan_.units.size()) return next;
    const std::uint64_t bytes = job_.tree.files[plan_.units[i].first_file].bytes;
    if (bytes >= kLargeBytes) next.large_bytes = bytes;
    return next;
  }

 private:
  JobState& job_;
  const Plan& plan_;
  UnitSource* const source_;
  std::vector<std::shared_ptr<FileTask>> shared_;
  const std::uint64_t bytes_;
  std::atomic<std::size_t> next_ = 0;
};

// What one thread does: units, file by file, in the job's format.
class JobThread {
 public:
  JobThread(JobState& job, Queue& queue, CopyPairs* copies)
      : job_(job),
        queue_(queue),
        trace_(job.hooks.trace),
        format_(make_format(job, [&queue] { return queue.upcoming(); })),
        directories_(job) {
    if (copies == nullptr || !format_->works_at_once()) return;
    sampler_.emplace(job.tree, queue.plan(), job.in_root, job.out_root, *copies);
  }

  void work() {
    while (const std::optional<Taken> taken = queue_.next()) {
      Traced traced(trace_, "unit");
      if (trace_) {
        const Unit& unit = *taken->unit;
        traced.set_files(job_.tree.path(job_.tree.files[unit.first_file]), unit.files,
                         bytes_of(unit, job_.tree, queue_.plan()));
      }
      if (sampler_) sampler_->before(*taken->unit);
      const bool whole = work_on(*taken);
      if (sampler_) sampler_->after(*taken->unit, whole && !job_.stop);
    }
    const Traced traced(trace_, "last files");
    format_->finish();
    while (const auto task = queue_.next_changed()) {
      work_on(task, Unit{});
      format_->finish();
    }
  }

 private:
  // Returns whether all of it was worked on: what is skipped says nothing of the speed.
  bool work_on(const Taken& taken) {
    const Unit& unit = *taken.unit;
    bool whole = true;
    for (std::uint32_t i = 0; i < unit.files && !job_.stop; ++i) {
      const bool skips = unit.pieces == 1 && job_.is_done_without_work &&
                         job_.is_done_without_work(directories_, unit.first_file + i);
      whole &= !skips && work_on(queue_.task(taken, i), unit);
    }
    return whole;
  }

  bool work_on(const std::shared_ptr<FileTask>& task, const Unit& unit) {
    if (task->start(directories_, [&] { format_->prepare(*task); })) {
      format_->work(task, format_->cut(*task, unit, queue_.plan().piece_bytes));
      return !task->failed();
    }
    task->end_piece();
    return false;
  }

  JobState& job_;
  Queue& queue_;
  Trace* const trace_;
  const std::unique_ptr<Format> format_;
  Directories directories_;
  std::optional<CopySampler> sampler_;
};

// Calls `work` in each thread of the plan; see run_job_threads().
void run_threads(JobState& job, const Plan& plan, const std::function<void()>& work,
                 UnitSource* source) {
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
    job.hooks.progress({.files = job.files_done + job.files_kept,
                        .bytes = job.bytes_done + job.bytes_kept,
                        .files_total = job.tree.files.size(),
                        .bytes_total = bytes_total});
  };
  if (!source && job.tree.files.size() == 1 && bytes_total < kLargeBytes) {
    work_or_stop(0);  // a thread takes longer to start
    return report();
  }
  auto told = std::chrono::steady_clock::now();
  core::run_crew(plan.threads, work_or_stop, source ? kTick : kTell, [&] {
    if (source) {
      source->tick();
      if (std::chrono::steady_clock::now() - told < kTell) return;
      told = std::chrono::steady_clock::now();
    }
    if (job.hooks.stop_requested()) job.stop = true;
    report();
  });
  report();
}

}  // namespace

void run_job_threads(JobState& job, const Plan& plan, CopyPairs* copies, UnitSource* source) {
  Queue queue(job, plan, source);
  // Threads with a table of descriptors each do not wait for each other to open a file. Pieces of
  // one file need one for all, and so may a device's driver; one unit may be done by the caller.
  const bool parts = kMayHaveTables && source == nullptr && job.device == nullptr &&
                     plan.threads > 1 && plan.units.size() > 1 &&
                     std::ranges::all_of(plan.units, [](const Unit& u) { return u.pieces == 1; });
  const auto work = [&] {
    if (parts) unshare(CLONE_FILES);
    JobThread(job, queue, copies).work();
  };
  run_threads(job, plan, work, source);
}

// hardware_concurrency() knows of no affinity.
unsigned Crew::pus() { return std::max(1u, static_cast<unsigned>(core::thread_binding().size())); }

void Crew::work(JobState& job, const Places&, const Plan& plan, CopyPairs* copies, JobReport&) {
  run_job_threads(job, plan, copies);
}

}  // namespace tabane::encrypt
