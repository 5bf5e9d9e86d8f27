#include "tabane/tools/encrypt/coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "tabane/comm/launch.h"
#include "tabane/core/binding.h"
#include "tabane/core/system_files.h"
#include "tabane/core/temporary_file.h"

namespace tabane::encrypt {
namespace {

// The threads of each rank where `all` are wanted: at least one, and no more than its PUs.
std::vector<unsigned> threads_of(std::vector<unsigned> pus, unsigned all) {
  unsigned left = all;
  for (unsigned& threads : pus) {
    threads = std::clamp(left, 1u, threads);
    left -= std::min(left, threads);
  }
  return pus;
}

constexpr std::size_t kMostGiven = 256;  // at once
// In which others learn of a loss, too, and stop.
constexpr std::chrono::seconds kGrace(1);

// The units of a job, as rank 0 gives them to its own threads and to others.
//
// A unit is either whole files, which the rank that has it commits, or a piece of a file, which
// this rank opens when the first of its pieces is given, and commits when the last one is done.
class UnitLedger : public UnitSource {
 public:
  // mail: to ranks 1, 2 … `ranks` - 1. All live as long as this.
  // silence_limit_s: after which a rank of which nothing is heard is lost; 0: never.
  UnitLedger(JobState& job, const Plan& plan, RankMail& mail, int ranks, double silence_limit_s)
      : job_(job),
        plan_(plan),
        mail_(mail),
        silence_limit_s_(silence_limit_s),
        queue_(plan.units.size()),
        ranks_(static_cast<std::size_t>(ranks)),
        directories_(job),
        format_(make_format(job)) {
    std::iota(queue_.begin(), queue_.end(), std::size_t{0});
    ranks_[0].left = true;
  }

  // Of the threads of this rank. Null also if units may come back later: see is_over().
  std::shared_ptr<Share> next() override {
    const std::lock_guard lock(mutex_);
    if (job_.stop) return nullptr;
    std::optional<Share> given = take();
    if (!given) return nullptr;
    auto share = std::make_unique<Share>(std::move(*given));
    if (!share->is_joint) return share;
    return {share.release(), [this](Share* piece) {
              const std::unique_ptr<Share> owned(piece);
              const std::lock_guard again(mutex_);
              end_piece(*piece);
            }};
  }

  // Reads what others report, gives them more. What a lost rank had comes back.
  void tick() override {
    if (unreachable_) return;
    try {
      while (const auto letter = mail_.take(kReportTag)) {
        take_report(letter->from, letter->as<Report>());
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

  // Whether all others have left and nothing came back. throws: what tick() has met.
  bool is_over() {
    if (problem_) std::rethrow_exception(problem_);
    const std::lock_guard lock(mutex_);
    return std::ranges::all_of(ranks_, &RemoteRank::left);
  }

  bool has_units() {
    const std::lock_guard lock(mutex_);
    return !queue_.empty();
  }

  // Takes back what all others have: nobody hears from them any more.
  void lose_all(const std::string& why) {
    lost_ = unreachable_ = true;
    remarks_.push_back(why);
    std::this_thread::sleep_for(kGrace);
    const std::lock_guard lock(mutex_);
    for (RemoteRank& worker : ranks_) {
      worker.left = true;
      take_back(worker);
    }
  }

  // What went wrong with ranks, which may have left temporary files.
  const std::vector<std::string>& remarks() const { return remarks_; }
  // Whether a rank ended, or says nothing any more.
  bool lost() const { return lost_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct RemoteRank {
    Clock::time_point heard = Clock::now();
    std::set<std::size_t> units;
    unsigned wants = 0;
    std::uint64_t bytes_done = 0, files_unlisted = 0;
    bool left = false;
  };
  struct OpenFile {
    std::shared_ptr<FileTask> task;  // null: nothing is left to do
    Joint joint;
    std::uint64_t attempt = 0;
    std::uint32_t pieces_left = 0;
  };

  std::optional<Share> take() {
    while (!queue_.empty()) {
      Share share{.unit = queue_.front()};
      queue_.pop_front();
      if (join(share)) return share;
    }
    return std::nullopt;
  }

  // Adds what a rank needs if it is a piece; returns false if there is nothing to do for it.
  bool join(Share& share) {
    const Unit& unit = plan_.units[share.unit];
    share.is_joint = unit.pieces > 1;
    if (!share.is_joint) return true;
    OpenFile& file = files_[unit.first_file];
    if (file.pieces_left == 0) open(file, unit);
    share.joint = file.joint;
    if (file.task && !file.task->failed()) return true;
    end_piece(file);
    return false;
  }

  void open(OpenFile& file, const Unit& unit) {
    file.pieces_left = unit.pieces;
    file.task = make_task(job_, unit.first_file, unit.pieces);
    // Otherwise it is kept, or has failed, which is noted.
    const bool works = file.task->start(directories_, [&] { format_->prepare(*file.task); });
    if (!works) return file.task.reset();
    file.joint = file.task->make_joint();
    file.joint.attempt = file.attempt;
  }

  void end_piece(const Share& share) {
    const Unit& unit = plan_.units[share.unit];
    OpenFile& file = files_[unit.first_file];
    if (file.attempt != share.joint.attempt || file.pieces_left == 0) return;
    if (file.task && !share.done) file.task->fail(Stopped());  // why is told already
    if (file.task && job_.request.encrypts() && unit.piece + 1 == unit.pieces) {
      file.task->record().sealed.last_tag = share.last_tag;
    }
    end_piece(file);
  }

  void end_piece(OpenFile& file) {
    if (file.task) file.task->end_piece();
    if (--file.pieces_left == 0) file.task.reset();
  }

  void take_report(int rank, const Report& report) {
    const std::lock_guard lock(mutex_);
    RemoteRank& worker = ranks_[static_cast<std::size_t>(rank)];
    if (worker.left) return;  // others do what it had; its own attempts may fail
    worker.heard = Clock::now();
    job_.bytes_done += report.bytes_done - std::exchange(worker.bytes_done, report.bytes_done);
    job_.files_unlisted +=
        report.files_unlisted - std::exchange(worker.files_unlisted, report.files_unlisted);
    for (const auto& [file, what] : report.failures) job_.fail(file, core::Error(what));
    for (const auto& [file, misfit] : report.differences) job_.note(file, misfit);
    for (const Share& done : report.done) {
      for (const auto& [file, record] : done.records) {
        if (job_.records) job_.records->put(file, record);
      }
      if (worker.units.erase(done.unit) == 0) continue;
      job_.files_done += done.files;
      job_.bytes_of_files_done += done.bytes;
      job_.files_kept += done.files_kept;
      job_.bytes_kept += done.bytes_kept;
      if (done.is_joint) end_piece(done);
    }
    worker.wants += report.wants;
    if (report.stop) job_.stop = true;
    if (!report.complaint.empty()) remarks_.push_back(report.complaint);
    if (report.leaves) {
      worker.left = true;
      take_back(worker);
    }
  }

  void take_back(RemoteRank& worker) {
    for (const std::size_t unit : std::exchange(worker.units, {})) {
      job_.replaces = true;  // files may have been committed, and not reported
      if (plan_.units[unit].pieces > 1) {
        begin_anew(plan_.units[unit].first_file);
      } else {
        queue_.push_front(unit);
      }
    }
  }

  // Does all pieces of a file again, with a new salt: what nobody knows the fate of might be sealed
  // a second time, with other content, under one key.
  void begin_anew(std::uint32_t index) {
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

  // Where its launcher goes on without it, MPI does not tell of a rank that died.
  void look_for_silence() {
    if (silence_limit_s_ <= 0) return;
    const std::chrono::duration<double> limit(silence_limit_s_);
    const std::lock_guard lock(mutex_);
    for (std::size_t rank = 1; rank < ranks_.size(); ++rank) {
      RemoteRank& worker = ranks_[rank];
      if (worker.left || Clock::now() - worker.heard < limit) continue;
      remarks_.push_back(fmt::format("rank {} has been silent for {:g} s", rank, silence_limit_s_));
      lost_ = worker.left = true;
      take_back(worker);
    }
  }

  void give() {
    if (job_.stop) {
      if (std::exchange(told_stop_, true)) return;
      for (std::size_t rank = 1; rank < ranks_.size(); ++rank) {
        if (!ranks_[rank].left) {
          mail_.post(static_cast<int>(rank), kWorkTag, encode(Work{.units = {}, .stop = true}));
        }
      }
      return;
    }
    const std::lock_guard lock(mutex_);
    for (std::size_t rank = 1; rank < ranks_.size(); ++rank) {
      RemoteRank& worker = ranks_[rank];
      if (worker.wants > 0 && !worker.left) give(static_cast<int>(rank), worker);
    }
  }

  // Much of what is left to a rank while there is much, little at the end. Pieces keep files open.
  void give(int rank, RemoteRank& worker) {
    const std::size_t share = queue_.size() / (4 * ranks_.size());
    // A rank may want more than others get: it has many threads.
    const std::size_t most =
        std::max<std::size_t>(worker.wants, std::min<std::size_t>(share, kMostGiven));
    Work work;
    while (work.units.size() < most) {
      if (work.units.size() >= worker.wants && plan_.units[queue_.front()].pieces > 1) break;
      auto given = take();
      if (!given) break;
      worker.units.insert(given->unit);
      work.units.push_back(std::move(*given));
      if (queue_.empty()) break;
    }
    work.end = queue_.empty();
    worker.wants = 0;
    mail_.post(rank, kWorkTag, encode(work));
  }

  JobState& job_;
  const Plan& plan_;
  RankMail& mail_;
  const double silence_limit_s_;
  std::exception_ptr problem_;
  std::vector<std::string> remarks_;
  bool told_stop_ = false, lost_ = false, unreachable_ = false;
  std::mutex mutex_;  // of what follows
  std::deque<std::size_t> queue_;
  std::vector<RemoteRank> ranks_;  // by rank; that of rank 0 has left
  std::map<std::uint32_t, OpenFile> files_;
  Directories directories_;
  const std::unique_ptr<Format> format_;  // opens files
};

// Works until nobody has anything left to do.
void work_on(JobState& job, const Plan& plan, UnitLedger& units) {
  do {
    run_job_threads(job, plan, nullptr, &units);
    while (!units.is_over() && (job.stop || !units.has_units())) {
      if (job.hooks.stop_requested()) job.stop = true;
      units.tick();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } while (!job.stop && units.has_units());
}

}  // namespace

Coordinator::Coordinator(comm::Comm* ranks) : comm_(ranks) {
  if (ranks != nullptr && ranks->size() > 1) mail_ = std::make_unique<RankMail>(*ranks);
}

void Coordinator::let_go() {
  if (!mail_ || started_) return;
  try {
    meet();
    for (int rank = 1; mail_ && rank < comm_->size(); ++rank) {
      mail_->post(rank, kStartTag, encode(Start{}));
    }
    if (mail_) mail_->flush();
  } catch (const core::LostError&) {
    remarks_.clear();  // nobody was needed
  }
  mail_.reset();
}

void Coordinator::meet() {
  if (!mail_ || !hellos_.empty()) return;
  try {
    hellos_.resize(static_cast<std::size_t>(comm_->size()));
    hellos_[0] = {.machine = core::machine_name(), .pus = core::thread_binding()};
    for (int others = comm_->size() - 1; others > 0; --others) {
      const Letter letter = mail_->wait(kHelloTag);
      hellos_[static_cast<std::size_t>(letter.from)] = letter.as<Hello>();
    }
  } catch (const core::LostError& error) {
    remarks_.emplace_back(error.what());
    hellos_.clear();
    mail_.reset();
  }
}

unsigned Coordinator::processes() {
  meet();
  return mail_ ? static_cast<unsigned>(comm_->size()) : 1;
}

unsigned Coordinator::pus() {
  meet();
  if (!mail_) return Crew::pus();
  const std::vector<unsigned> own = divide_pus(hellos_);
  return std::accumulate(own.begin(), own.end(), 0u);
}

Start Coordinator::start_of(const JobState& job, const Places& places, const Plan& plan) const {
  Start start;
  start.works = true;
  start.plan = plan.options;
  start.in = places.in_path;
  start.modes = job.modes;
  start.scan_may_hold_leftovers = job.scan_may_hold_leftovers;
  if (job.out_root >= 0) start.out = places.out_path;
  if (const TreeManifest* const manifest = job.manifest ? job.manifest : job.kept_by) {
    start.has_root = true;
    start.root = manifest->root();
    start.was_interrupted = job.was_interrupted;
  }
  if (job.keys.tree_key()) start.tree = job.keys.tree();
  if (job.seal) {
    start.tree = job.seal->header.tree;
    start.slots = encode_slots(job.seal->slots);
  }
  return start;
}

void Coordinator::send_starts(Start start, const JobState& job) {
  const RankSecrets secrets(job.request, job.seal ? &job.seal->key : job.keys.tree_key());
  for (int rank = 1; rank < comm_->size(); ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    start.threads = threads_[index];
    start.secrets = secrets.wrap(hellos_[index].key);
    mail_->post(rank, kStartTag, encode(start));
  }
  mail_->flush();
  share(job.trees, *comm_);
}

void release_workers(comm::Comm& ranks) { Coordinator(&ranks).let_go(); }

void Coordinator::work(JobState& job, const Places& places, const Plan& plan, CopyPairs* copies,
                       JobReport& outcome) {
  if (mail_) {
    share_out(job, places, plan, outcome);
  } else {
    Crew::work(job, places, plan, copies, outcome);
  }
  outcome.remarks = remarks_;
}

void Coordinator::share_out(JobState& job, const Places& places, const Plan& plan,
                            JobReport& outcome) {
  started_ = true;
  threads_ = plan.options.threads > 0 ? std::vector<unsigned>(hellos_.size(), job.request.threads)
                                      : threads_of(divide_pus(hellos_), plan.threads);
  Plan own = plan;
  own.threads = threads_[0];
  job.spreads_pieces = true;
  UnitLedger units(job, own, *mail_, comm_->size(), comm::default_silence_limit());
  std::optional<core::TemporaryFile> sign;
  try {
    Start start = start_of(job, places, plan);
    if (job.out_root >= 0) {
      sign.emplace(job.out_root, "sign for other ranks", 0600);
      start.sign = sign->name();
    }
    send_starts(std::move(start), job);
  } catch (const core::LostError& error) {
    units.lose_all(error.what());
  }
  work_on(job, own, units);
  sign.reset();
  remarks_ = units.remarks();
  outcome.lost_ranks = units.lost();
  outcome.ranks = comm_->size();
  outcome.threads = std::accumulate(threads_.begin(), threads_.end(), 0u);
}

}  // namespace tabane::encrypt
