#include "tabane/tools/encrypt/unit_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <span>
#include <thread>
#include <utility>

namespace tabane::encrypt {
namespace {

constexpr std::size_t kMostGiven = 256;  // at once
// In which others learn of a loss, too, and stop.
constexpr std::chrono::seconds kGrace(1);

}  // namespace

UnitLedger::UnitLedger(JobState& job, const Plan& plan, crypto::Engine engine, RankMail& mail,
                       int ranks, double silence_limit_s)
    : job_(job),
      plan_(plan),
      mail_(mail),
      silence_limit_s_(silence_limit_s),
      queue_(plan.units.size()),
      workers_(static_cast<std::size_t>(ranks)),
      directories_(job),
      format_(make_format(job, engine)) {
  std::iota(queue_.begin(), queue_.end(), std::size_t{0});
  workers_[0].left = true;
}

std::shared_ptr<Share> UnitLedger::next() {
  const std::lock_guard lock(mutex_);
  if (job_.stop) return nullptr;
  const std::optional<Work::Given> given = take();
  if (!given) return nullptr;
  auto share = std::make_unique<Share>();
  share->unit = given->unit;
  if (given->is_piece == 0) return share;
  share->joint = given->joint;
  return {share.release(), [this](Share* piece) {
            const std::unique_ptr<Share> owned(piece);
            const std::lock_guard again(mutex_);
            end_piece(piece->unit, {.unit = piece->unit,
                                    .attempt = piece->joint->attempt,
                                    .done = piece->done,
                                    .last_tag = piece->last_tag});
          }};
}

std::optional<Work::Given> UnitLedger::take() {
  while (!queue_.empty()) {
    const std::size_t unit = queue_.front();
    queue_.pop_front();
    if (plan_.units[unit].pieces == 1) return Work::Given{.unit = unit};
    if (const auto joint = join(unit))
      return Work::Given{.unit = unit, .is_piece = 1, .joint = *joint};
  }
  return std::nullopt;
}

// What a rank needs for a piece; nothing if there is nothing to do for it.
std::optional<Joint> UnitLedger::join(std::size_t number) {
  const Unit& unit = plan_.units[number];
  OpenFile& file = files_[unit.first_file];
  if (file.pieces_left == 0) open(file, unit);
  if (file.task && !file.task->failed()) return file.joint;
  end_piece(file);
  return std::nullopt;
}

void UnitLedger::open(OpenFile& file, const Unit& unit) {
  file.pieces_left = unit.pieces;
  file.task = started_task(unit);
  if (!file.task) return;
  file.joint = file.task->make_joint();
  file.joint.attempt = file.attempt;
}

// Null: the file is kept, or has failed, which is noted.
std::shared_ptr<FileTask> UnitLedger::started_task(const Unit& unit) {
  std::shared_ptr<FileTask> task = make_task(job_, unit.first_file, unit.pieces);
  if (!task->start(directories_, [&] { format_->prepare(*task); })) task.reset();
  return task;
}

void UnitLedger::end_piece(std::size_t number, const Report::Done& done) {
  const Unit& unit = plan_.units[number];
  OpenFile& file = files_[unit.first_file];
  if (file.attempt != done.attempt || file.pieces_left == 0) return;
  if (file.task && done.done == 0) file.task->fail(Stopped());  // why is told already
  const bool seals = job_.request.encrypts();
  if (file.task && seals && unit.piece + 1 == unit.pieces) {
    file.task->record().sealed.last_tag = done.last_tag;
  }
  end_piece(file);
}

void UnitLedger::end_piece(OpenFile& file) {
  if (file.task) file.task->end_piece();
  if (--file.pieces_left == 0) file.task.reset();
}

void UnitLedger::tick() {
  if (unreachable_) return;
  try {
    while (const auto letter = mail_.take(kReportTag)) {
      take_report(letter->from, decode_report(letter->text));
    }
    look_for_silence();
    give();
  } catch (const core::LostError& error) {
    lose_all(error.what());
  } catch (...) {
    problem_ = std::current_exception();
    job_.stop = true;
  }
}

void UnitLedger::take_report(int rank, const Report& report) {
  const std::lock_guard lock(mutex_);
  Worker& worker = workers_[static_cast<std::size_t>(rank)];
  worker.heard = Clock::now();
  job_.bytes_done += report.bytes_done - std::exchange(worker.bytes_done, report.bytes_done);
  job_.files_unlisted +=
      report.files_unlisted - std::exchange(worker.files_unlisted, report.files_unlisted);
  for (const Report::Record& record : report.records) {
    if (!job_.records) break;
    job_.records->put(record.file, {.sealed = record.sealed,
                                    .seconds = record.seconds,
                                    .nanoseconds = record.nanoseconds,
                                    .mode = record.mode,
                                    .known = true,
                                    .sparse = record.sparse != 0});
  }
  for (const auto& [file, what] : report.failures) job_.fail(file, core::Error(what));
  for (const Report::Differs& differs : report.differences) {
    std::optional<DifferenceFinder::Salt> salt;
    if (differs.has_salt != 0) salt = differs.salt;
    job_.fail(static_cast<std::uint32_t>(differs.file),
              DiffersFromManifest(static_cast<Difference>(differs.kind), salt));
  }
  for (const Report::Done& done : report.done) {
    if (worker.units.erase(done.unit) == 0) continue;
    job_.files_done += done.files;
    job_.bytes_of_files_done += done.bytes;
    job_.files_kept += done.files_kept;
    job_.bytes_kept += done.bytes_kept;
    if (plan_.units[done.unit].pieces > 1) end_piece(done.unit, done);
  }
  worker.wants += report.wants;
  if (report.stop) job_.stop = true;
  if (!report.complaint.empty()) remarks_.push_back(report.complaint);
  if (report.leaves) {
    worker.left = true;
    take_back(worker);
  }
}

void UnitLedger::take_back(Worker& worker) {
  for (const std::size_t unit : std::exchange(worker.units, {})) {
    job_.replaces = true;  // files may have been committed, and not reported
    if (plan_.units[unit].pieces > 1) {
      begin_anew(plan_.units[unit].first_file);
    } else {
      queue_.push_front(unit);
    }
  }
}

// Does all pieces of a file again, with a new salt: what nobody knows the fate of might be sealed a
// second time, with other content, under one key.
void UnitLedger::begin_anew(std::uint32_t index) {
  OpenFile& file = files_[index];
  if (file.pieces_left == 0) return;  // by another piece of it
  if (file.task) file.task->fail(Stopped());
  file.task.reset();
  file.pieces_left = 0;
  ++file.attempt;
  const auto is_piece = [&](std::size_t unit) { return plan_.units[unit].first_file == index; };
  std::erase_if(queue_, is_piece);
  const auto first = std::ranges::find(plan_.units, index, &Unit::first_file);
  const auto number = static_cast<std::size_t>(first - plan_.units.begin());
  for (std::size_t i = first->pieces; i-- > 0;) queue_.push_front(number + i);
}

void UnitLedger::give() {
  if (job_.stop) {
    if (std::exchange(told_stop_, true)) return;
    for (std::size_t rank = 1; rank < workers_.size(); ++rank) {
      if (!workers_[rank].left) {
        mail_.post(static_cast<int>(rank), kWorkTag, encode(Work{.units = {}, .stop = true}));
      }
    }
    return;
  }
  const std::lock_guard lock(mutex_);
  for (std::size_t rank = 1; rank < workers_.size(); ++rank) {
    Worker& worker = workers_[rank];
    if (worker.wants > 0 && !worker.left) give(static_cast<int>(rank), worker);
  }
}

// Much of what is left to a rank while there is much, little at the end. Pieces keep files open.
void UnitLedger::give(int rank, Worker& worker) {
  const std::size_t share = queue_.size() / (4 * workers_.size());
  // A rank may want more than others get: it has many threads.
  const std::size_t most =
      std::max<std::size_t>(worker.wants, std::min<std::size_t>(share, kMostGiven));
  Work work;
  while (work.units.size() < most) {
    if (work.units.size() >= worker.wants && plan_.units[queue_.front()].pieces > 1) break;
    const auto given = take();
    if (!given) break;
    work.units.push_back(*given);
    worker.units.insert(given->unit);
    if (queue_.empty()) break;
  }
  work.end = queue_.empty();
  worker.wants = 0;
  mail_.post(rank, kWorkTag, encode(work));
}

// Where its launcher goes on without it, MPI does not tell of a rank that died.
void UnitLedger::look_for_silence() {
  if (silence_limit_s_ <= 0) return;
  const std::chrono::duration<double> limit(silence_limit_s_);
  const std::lock_guard lock(mutex_);
  for (std::size_t rank = 1; rank < workers_.size(); ++rank) {
    Worker& worker = workers_[rank];
    if (worker.left || Clock::now() - worker.heard < limit) continue;
    remarks_.push_back(fmt::format("rank {} has been silent for {:g} s", rank, silence_limit_s_));
    lost_ = worker.left = true;
    take_back(worker);
  }
}

void UnitLedger::lose_all(const std::string& why) {
  lost_ = unreachable_ = true;
  remarks_.push_back(why);
  std::this_thread::sleep_for(kGrace);
  const std::lock_guard lock(mutex_);
  for (Worker& worker : workers_) {
    worker.left = true;
    take_back(worker);
  }
}

bool UnitLedger::has_units() {
  const std::lock_guard lock(mutex_);
  return !queue_.empty();
}

bool UnitLedger::is_over() {
  if (problem_) std::rethrow_exception(problem_);
  const std::lock_guard lock(mutex_);
  return std::ranges::all_of(workers_, &Worker::left);
}

}  // namespace tabane::encrypt
