#include "tabane/team/experiment.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <string>

#include "tabane/core/error.h"
#include "tabane/team/fork.h"
#include "tabane/team/places.h"
#include "tabane/team/proc.h"

namespace tabane::team {
namespace {

// Ticks that the hypervisor gave to others while this machine had work: the eighth number of the
// first line. 0 if the system does not say.
double stolen_ticks() {
  std::ifstream file("/proc/stat");
  std::string word;
  file >> word;
  double ticks = 0;
  for (int i = 0; i < 8; ++i) file >> ticks;
  return file ? ticks : 0;
}

// Threads of the machine that run or could, the caller's too: "0.20 0.18 0.12 1/80 11206". 1 if the
// system does not tell.
int threads_ready() {
  std::ifstream file("/proc/loadavg");
  double average = 0;
  for (int i = 0; i < 3; ++i) file >> average;
  int ready = 1;
  file >> ready;
  return file ? ready : 1;
}

}  // namespace

SpreadOrder::SpreadOrder(std::size_t n) : n_(n) {
  constexpr double kGoldenSection = 0.6180339887498949;
  step_ =
      std::max<std::size_t>(1, static_cast<std::size_t>(static_cast<double>(n) * kGoldenSection));
  while (std::gcd(step_, n_) != 1) ++step_;
}

std::size_t SpreadOrder::operator()(std::size_t k) const {
  // The product is wider than a word.
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::size_t>(static_cast<Wide>(k) * step_ % n_);
}

namespace {

constexpr double kLookSeconds = 2e-3;  // before that, tasks are slowed by what they touch first
constexpr double kGain = 20;           // of the time of starting threads, to start more of them
constexpr double kThreadSeconds = 30e-6;
constexpr double kWaiting = 0.5;  // of one PU, wanted by all workers together

// For which threads of this process were on a PU, or would have been if others had not been there.
std::uint64_t wanted_ns() { return core::clock_ns(CLOCK_PROCESS_CPUTIME_ID) + queued_ns(); }

// A thread that ended meanwhile has taken its time in the queue with it.
double wanted_seconds_since(std::uint64_t before_ns) {
  return static_cast<double>(std::max(wanted_ns(), before_ns) - before_ns) * 1e-9;
}

}  // namespace

double guess_fork_seconds() {
  // Page tables of 4 KiB pages: a larger time than on most machines, and far too large in huge
  // ones.
  constexpr double kFixed = 300e-6, kPerByte = 17e-3 / double(1 << 30);
  std::ifstream file("/proc/self/statm");
  double total = 0, resident = 0, shared = 0;
  file >> total >> resident >> shared;
  return kFixed + kPerByte * std::max(0.0, resident - shared) * double(sysconf(_SC_PAGESIZE));
}

StartedWork::StartedWork(std::size_t n, const TaskSet& tasks, const JobOptions& like, Trial trial)
    : n_(n), tasks_(tasks), like_(like), trial_(trial), stolen_at_first_(stolen_ticks()) {
  if (n == 0) throw core::UsageError("no sample can be taken of no tasks: n must be at least 1");
  like_.measure_memory = false;
}

JobOptions StartedWork::options_for(Shape shape) const {
  JobOptions options = like_;
  options.processes = shape.processes;
  options.threads = shape.threads;
  options.forked = shape.processes > 1 || trial_ != Trial::begins;
  return options;
}

JobReport StartedWork::begin(int threads, const Limits& limits) {
  tasks_.begin_run(static_cast<std::size_t>(threads), false);
  reached_.assign(static_cast<std::size_t>(threads), Reached::nothing);
  begin_wanted_ns_ = wanted_ns();
  begin_ns_ = now_ns();
  const Job job{.tasks = n_,
                .do_tasks =
                    [&](Progress& at, std::size_t begin, std::size_t end) {
                      tasks_.do_tasks(at, begin, end);
                      reach_boundary(at.worker.index, end - begin, limits);
                    },
                .finish = tasks_.finish,
                .enough = &enough_};
  JobReport report = run_job(job, options_for({1, threads}));
  tasks_.end_run();
  for (const std::size_t done : report.tasks) first_ += done;
  // Much may have been done while one worker was in a long task.
  if (samples() && left() > 0 && !sample_pays(*begun_, left(), limits.most_processes, limits)) {
    next_ = Next::go_on;
  }
  return report;
}

// After each chunk. Once all workers have shown how long tasks take, one of them looks whether to
// go on like this. If not, nobody idles while another is in a long task: all continue until each
// has come here once more.
void StartedWork::reach_boundary(int worker, std::size_t done, const Limits& limits) {
  Reached& seen = reached_[static_cast<std::size_t>(worker)];
  const int workers = static_cast<int>(reached_.size());
  if (!looked_.load(std::memory_order_acquire)) {  // with the store below: next_ is there
    const std::size_t all = done_.fetch_add(done) + done;
    if (seen == Reached::nothing) {
      seen = Reached::first_chunk;
      shown_.fetch_add(1);
    }
    const double seconds = seconds_since(begin_ns_);
    if (shown_.load() < workers || seconds < kLookSeconds || looking_.exchange(true)) return;
    look(all, seconds, limits);
    looked_.store(true, std::memory_order_release);
  }
  if (next_ == Next::go_on || seen == Reached::end) return;
  seen = Reached::end;
  if (at_end_.fetch_add(1) + 1 == workers) enough_.store(true);
}

void StartedWork::look(std::size_t all, double seconds, const Limits& limits) {
  const auto workers = reached_.size();
  BegunWork begun{.seconds_each = seconds / static_cast<double>(all),
                  .workers = static_cast<int>(workers),
                  .fork_seconds = guess_fork_seconds()};
  const double rest = begun.seconds_each * static_cast<double>(n_ - std::min(n_, all));
  const bool gains = rest > kGain * kThreadSeconds * static_cast<double>(workers);
  if (n_ > all + 2 * workers && gains &&
      wanted_seconds_since(begin_wanted_ns_) < kWaiting * seconds) {
    next_ = Next::more_threads;
  } else if (n_ > all && sample_pays(begun, n_ - all, limits.most_processes, limits)) {
    next_ = Next::sample;
  }
  begun_ = begun;
}

SampleRun StartedWork::run(Shape shape, std::size_t count) {
  const std::size_t spread = n_ - first_;
  count = std::clamp<std::size_t>(count, 1, left());
  const SpreadOrder order(spread);
  const std::size_t before = sampled_.size();
  const auto task_at = [&](std::size_t k) { return first_ + order(before + k); };
  const SharedBlock block(count * sizeof(double), "task times");
  auto* const seconds = reinterpret_cast<double*>(block.data());
  const JobOptions options = options_for(shape);
  const std::uint64_t wanted_before_ns = wanted_ns();
  const std::uint64_t begin_ns = now_ns();
  tasks_.begin_run(options.workers(), options.forked);
  const JobReport report = run_job({.tasks = count,
                                    .begin_together = true,
                                    .do_tasks =
                                        [&](Progress& at, std::size_t begin, std::size_t end) {
                                          std::uint64_t start = now_ns();
                                          for (std::size_t k = begin; k < end; ++k) {
                                            const std::size_t task = task_at(k);
                                            tasks_.do_tasks(at, task, task + 1);
                                            const std::uint64_t after = now_ns();
                                            seconds[k] = static_cast<double>(after - start) * 1e-9;
                                            start = after;
                                          }
                                        },
                                    .finish = tasks_.finish},
                                   options);
  const double wanted = wanted_seconds_since(wanted_before_ns);
  const std::uint64_t end_ns = now_ns();
  tasks_.end_run();
  if (options.forked) {
    returned_ += count;
    return_seconds_ += seconds_since(end_ns);
  }
  for (std::size_t k = 0; k < count && keeps_results(); ++k) sampled_.push_back(task_at(k));
  SampleRun trial{.seconds = report.work_seconds,
                  .total_seconds = seconds_since(begin_ns),
                  .task_seconds = {seconds, seconds + count}};
  if (!options.forked) trial.cpu_share = wanted / (report.work_seconds * shape.workers());
  return trial;
}

double StartedWork::start_seconds(Shape shape) {
  JobOptions options = options_for(shape);
  options.forked = shape.processes > 1;
  const std::uint64_t begin = now_ns();
  run_job({.once_per_worker = true, .do_tasks = [](Progress&, std::size_t, std::size_t) {}},
          options);
  return seconds_since(begin);
}

// They are ready to run, or the hypervisor has given time to others since this was made.
bool StartedWork::disturbed() { return threads_ready() > 1 || stolen_ticks() > stolen_at_first_; }

double StartedWork::result_seconds() {
  return returned_ == 0 ? 0 : return_seconds_ / static_cast<double>(returned_);
}

// Tasks of those that are left, counted without the others: in contiguous pieces.
void StartedWork::do_left(Progress& at, std::size_t begin, std::size_t end) const {
  while (begin < end) {
    const auto gap = std::ranges::upper_bound(gaps_, begin);
    const auto before = static_cast<std::size_t>(gap - gaps_.begin());
    const std::size_t until = gap == gaps_.end() ? end : std::min(end, *gap);
    tasks_.do_tasks(at, first_ + before + begin, first_ + before + until);
    begin = until;
  }
}

JobReport StartedWork::finish(const JobOptions& options) {
  gaps_ = sampled_;
  std::ranges::sort(gaps_);
  for (std::size_t k = 0; k < gaps_.size(); ++k) gaps_[k] -= first_ + k;
  tasks_.begin_run(options.workers(), options.forked);
  JobReport report = run_job({.tasks = left(),
                              .do_tasks = [this](Progress& at, std::size_t begin,
                                                 std::size_t end) { do_left(at, begin, end); },
                              .finish = tasks_.finish},
                             options);
  tasks_.end_run();
  return report;
}

Choice choose_tasks(std::size_t n, const TaskSet& tasks, const Limits& limits) {
  StartedWork sample(n, tasks, {}, Trial::discards);
  const std::uint64_t begin = now_ns();
  Choice choice = choose_shape(known_topology(), n, sample, limits);
  choice.sample_seconds = seconds_since(begin);
  return choice;
}

}  // namespace tabane::team
