#include "tabane/tools/explain/experiments.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>

#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/measurement.h"
#include "tabane/core/system_files.h"
#include "tabane/core/units.h"
#include "tabane/lab/survey/disturbances.h"
#include "tabane/program/args.h"
#include "tabane/program/output.h"
#include "tabane/tools/explain/conclude.h"
#include "tabane/tools/explain/observe.h"

namespace tabane::lab::explain {
namespace {

constexpr double kTooShort = 20e-3, kSample = 0.1;  // seconds: shorter runs are repeated
constexpr int kMostRounds = 7;                      // enough for an interval of a median
constexpr double kDisturbedTakes = 1.3;             // times as long as an undisturbed run, about
constexpr std::size_t kWaysPerUndisturbed = 5, kFewUndisturbed = 3;
constexpr double kTimeoutFactor = 20, kLeastTimeout = 10;
constexpr double kChangedFactor = 3, kLeastChanged = 1;  // the same of a way, where time is up
constexpr std::size_t kLooks = 50;                       // at undisturbed runs
constexpr int kFewestUnknown = 10;                       // looks, worth a word
constexpr double kWatchShare = 0.1;                      // of all time, at most
constexpr double kBusyShare = 0.1;                       // of the PUs, by others: worth a word
constexpr double kUsesDisk = 1 << 20;                    // bytes
constexpr double kAroundARun = 2e-3;                     // seconds
constexpr double kPatienceShare = 0.05;                  // of what is left, for one run
constexpr double kCalibrationTime = 0.3;                 // of what is left, at most
constexpr double kCalibrationShare = 0.1;                // of the progress
constexpr const char* kUndisturbed = "undisturbed";
constexpr const char* kNothingTaken = "other PUs took nothing of it meanwhile";

[[noreturn]] void fail(const std::string& sentence, const ChildRun& run) {
  throw program::WithLines<core::Error>(
      sentence + ": " + how_it_ended(run),
      run.errors.empty() ? "" : "it wrote to stderr:\n" + run.errors);
}

void require_again(const ChildRun& run) {
  if (!run.ok())
    fail("the command fails when it is run again (what it changes, --prepare can restore)", run);
}

std::optional<double> disk_bytes() {
  const core::SystemFiles files;
  const auto read = files.field_number("/proc/self/io", "read_bytes");
  const auto written = files.field_number("/proc/self/io", "write_bytes");
  return read && written ? std::optional(*read + *written) : std::nullopt;
}

double busy_pus(const ChildRun& run) {
  return (run.user_seconds + run.system_seconds) / std::max(run.seconds, 1e-9);
}

void forget(const std::set<std::string>& files) {
  for (const std::string& name : files) {
    const core::Descriptor file(open(name.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.valid()) posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  }
}

// Whether the system does not tell most of what threads wait for.
bool is_mostly_unknown(const std::vector<Moment>& moments) {
  int waits = 0, unknown = 0;
  for (const auto& [seconds, threads] : moments) {
    unknown += threads(Doing::other);
    waits += threads.all() - threads.wanting();
  }
  return unknown >= kFewestUnknown && 2 * unknown > waits;
}

// A way, and what its runs showed.
struct Contestant : Way {
  explicit Contestant(Way way) : Way(std::move(way)) {}

  std::vector<double> speeds;  // of its thieves
  std::string failed;          // how, when it did
  bool lost = false;           // of this round: it shows nothing
  std::string reason;          // why it was lost last
};

class Experiments {
 public:
  Experiments(const Request& request, const core::Topology& topology, const Hooks& hooks)
      : request_(request), hooks_(hooks), subject_{.request = request, .topology = topology} {
    evidence_.command = program::shell_line(request.command);
    if (!request.input.empty()) evidence_.command += " < " + program::shell_line({request.input});
  }

  Evidence run() {
    try_out();
    try {
      // Where there is no time for a run beside thieves, nothing is calibrated.
      const double left = time_left(), part = kCalibrationTime * left;
      ways_ = ways_of(subject_, plan_rounds(1, sample_seconds(), left - part).ways == 0 ? 0 : part,
                      [&](double done) { show("calibration", kCalibrationShare * done, -1); });
      evidence_.machine = ways_.limits;
      evidence_.trials = ways_.trials;
      if (!ways_.note.empty()) evidence_.notes.push_back(ways_.note);
      choose();
      if (plan_.ways > 0) measure();
    } catch (const Stopped&) {
      if (rounds_ == 0) throw;
      evidence_.complete = false;
    }
    collect();
    return std::move(evidence_);
  }

 private:
  double elapsed() const { return clock_.now() - start_; }
  double time_left() const { return request_.seconds - elapsed(); }
  double sample_seconds() const { return run_seconds_ * repeat_ + kAroundARun; }

  void show(const std::string& what, double done, double left) {
    hooks_.throw_if_stopped();
    hooks_.progress(what, done, left);
  }

  void prepare() const {
    if (request_.prepare.empty()) return;
    const ChildRun prepared =
        run_child(command_of_line(request_.prepare), {.stop_requested = hooks_.stop_requested});
    if (!prepared.ok()) fail(fmt::format("--prepare '{}'", request_.prepare), prepared);
  }

  ChildRun run_once(const ChildCommand& command, double timeout,
                    core::Counters* counters = nullptr) const {
    return run_child(command, {.timeout_seconds = timeout,
                               .stop_requested = hooks_.stop_requested,
                               .most_kept_bytes = 0,
                               .counters = counters});
  }

  // ---- what the command does undisturbed ----

  void try_out() {
    const ChildCommand command = subject_.command(subject_.own_threads());
    show("the command as it is", 0, -1);
    prepare();
    const OthersLoad others;
    const ChildRun first = watch(command, request_.seconds);
    if (first.timed_out) fail("the command takes all of --time", first);
    if (!first.ok()) fail("the command fails", first);
    std::vector<std::string>& notes = evidence_.notes;
    if (first.left_processes)
      notes.emplace_back(
          "The command leaves processes behind. They were ended, and are not part of its time.");
    const unsigned pus = subject_.topology.machine_pu_count();
    if (const auto busy = others.busy_pus(); busy && *busy > kBusyShare * pus) {
      notes.push_back(fmt::format(
          "Other programs kept {:.1f} of {} PUs busy: small differences cannot be seen then.",
          *busy, pus));
      hooks_.on_plan(notes.back());
    }
    timeout_ = std::max(kLeastTimeout, kTimeoutFactor * first.seconds);
    repeat_ = runs_in_a_sample(first.seconds);
    if (repeat_ > 1)
      notes.push_back(fmt::format("One run takes {}, so a sample is {} runs.",
                                  core::format_seconds(first.seconds), repeat_));
    if (2 * first.seconds <= request_.seconds) {  // the first one may read its files from a disk
      evidence_.observed = {};
      watched_.clear();
      do {
        prepare();
        require_again(watch(command, timeout_));
      } while (evidence_.observed.moments.size() < kLooks &&
               elapsed() < kWatchShare * request_.seconds);
    }
    const auto waits =
        waits_of(evidence_.observed, static_cast<int>(subject_.topology.pus().size()));
    subject_.works_alone = waits && waits->width == 1;
    if (is_mostly_unknown(evidence_.observed.moments))
      notes.emplace_back(
          "What its threads wait for is mostly not known: the system does not tell.");
    for (const std::string& word : command.arguments)
      if (std::error_code none; std::filesystem::is_regular_file(word, none))
        subject_.files.insert(word);
    if (!request_.input.empty()) subject_.files.insert(request_.input);
  }

  ChildRun watch(const ChildCommand& command, double timeout) {
    show("the command as it is", 0, -1);
    Observed& observed = evidence_.observed;
    const std::optional<double> before = disk_bytes();
    Watch watch;
    const ChildRun run = run_once(command, timeout);
    watch.finish(observed, subject_.files);
    watched_.push_back(run);
    if (const auto after = disk_bytes(); after && before)
      observed.disk_bytes = std::max(observed.disk_bytes.value_or(0), *after - *before);
    run_seconds_ = run.seconds;
    subject_.uses_disk = observed.disk_bytes.value_or(0) >= kUsesDisk;
    subject_.busy_pus = busy_pus(run);
    return run;
  }

  // ---- rounds ----

  void choose() {
    std::vector<Way>& all = ways_.all;
    const double each = sample_seconds();
    plan_ = plan_rounds(all.size(), each, time_left());
    std::size_t given_up = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i < plan_.ways) {
        given_up += all[i].given_up ? 1 : 0;
        contestants_.emplace_back(std::move(all[i]));
      } else if (!is_tried(*all[i].resource)) {
        trial(*all[i].resource).untried =
            fmt::format("there was no time for it in --time {}: one run takes {}",
                        core::format_seconds(request_.seconds), core::format_seconds(each));
      }
    }
    const std::size_t as_started = undisturbed_runs(plan_.ways - given_up);
    for (std::size_t i = 0; i < std::max<std::size_t>(1, as_started); ++i)
      contestants_.emplace_back(ways_.undisturbed);
    for (std::size_t i = 0; i < undisturbed_runs(given_up); ++i)
      contestants_.emplace_back(ways_.undisturbed_given_up);
    hooks_.on_plan(fmt::format(
        "{} to run it, {} {}, about {} a run", core::counted(plan_.ways, "way"), plan_.rounds,
        plan_.rounds == 1 ? "round" : "rounds", core::format_seconds(run_seconds_)));
  }

  bool is_tried(Resource resource) const {
    return std::ranges::count(contestants_, resource, &Contestant::resource) > 0;
  }

  Trial& trial(Resource resource) { return evidence_.trials[static_cast<std::size_t>(resource)]; }

  // Of few undisturbed runs one may have met something: those that were watched are no others.
  void keep_watched() {
    std::vector<Run> runs;
    for (const ChildRun& run : watched_) {
      evidence_.observed.seconds.push_back(run.seconds);
      runs.push_back({kUndisturbed, run.seconds});
    }
    evidence_.runs.insert(evidence_.runs.begin(), runs.begin(), runs.end());
    undisturbed_.insert(undisturbed_.begin(), watched_.begin(), watched_.end());
  }

  struct TimeIsUp {};

  void measure() {
    const double begin = elapsed();
    const auto take_turn = [&](std::size_t i) {
      if (rounds_ > 0 && time_left() < 0) throw TimeIsUp();
      const double seconds = take(contestants_[i], begin);
      turns_.push_back(i);
      return seconds;
    };
    try {
      core::in_rounds(contestants_.size(),
                      {.fewest = 1, .most = plan_.rounds, .budget_seconds = time_left()}, clock_,
                      clock_.now(), take_turn,
                      [&](const std::vector<double>& seconds) { keep(seconds); });
    } catch (const TimeIsUp&) {  // what was begun is not kept
    }
  }

  // Whether the first round goes on without it, as time is up.
  bool is_left_out(const Contestant& way) const {
    return time_left() < 0 && (way.resource || std::ranges::any_of(turns_, [&](std::size_t i) {
                                 return !contestants_[i].resource &&
                                        contestants_[i].given_up == way.given_up;
                               }));
  }

  // Seconds of a run.
  double take(Contestant& way, double begin) {
    const double of_round = static_cast<double>(turns_.size()) / double(contestants_.size());
    const double done = (rounds_ + of_round) / std::max(1, plan_.rounds);
    show("runs in turn", kCalibrationShare + (1 - kCalibrationShare) * done,
         done > 0 ? (elapsed() - begin) * (1 - done) / done : -1);
    double seconds = 0;
    const std::size_t speeds = way.speeds.size();
    const bool observes = !way.resource && !way.given_up;
    Sharing* const sharing =
        way.resource && *way.resource <= Resource::cache ? ways_.sharing.get() : nullptr;
    way.lost = false;
    if (!way.failed.empty()) return seconds;
    if (is_left_out(way))
      lose(way, "there was no time left for it");
    else if (sharing != nullptr &&
             !sharing->wait(kPatienceShare * time_left(), [&] { hooks_.throw_if_stopped(); }))
      lose(way, kNothingTaken);
    for (int i = 0; i < repeat_ && way.failed.empty() && !way.lost; ++i) {
      prepare();
      if (way.resource == Resource::cold) forget(subject_.files);
      const ChildRun run = run_way(way, observes);
      if (run.timed_out && way.resource) {  // how much longer it would take is not known
        lose(way, "its run was ended after " + core::format_seconds(run.seconds));
      } else if (!run.ok()) {
        if (!way.resource) require_again(run);
        way.failed = "the command fails then: " + how_it_ended(run);
      } else if (way.resource == Resource::threads &&
                 !may_have_threads(busy_pus(run), way.level.taken)) {
        // What one number refutes, the others only do not show.
        for (Contestant& each : contestants_)
          if (each.resource == Resource::threads)
            each.failed = "its number of threads is not what it was given";
      }
      if (observes) undisturbed_.push_back(run);
      seconds += run.seconds / repeat_;
    }
    if (sharing != nullptr && !way.lost && !sharing->look()) lose(way, kNothingTaken);
    if (way.lost) way.speeds.resize(speeds);
    return seconds;
  }

  static void lose(Contestant& way, std::string reason) {
    way.lost = true;
    way.reason = std::move(reason);
  }

  ChildRun run_way(Contestant& way, bool observes) {
    if (!way.resource) return run_once(way.command, timeout_, observes ? &counters_ : nullptr);
    const double most =
        std::min(timeout_, std::max({kChangedFactor * run_seconds_, kLeastChanged, time_left()}));
    if (way.thieves == nullptr) return run_once(way.command, most);
    const struct Stopping {
      Thieves& thieves;
      ~Stopping() { thieves.stop(); }
    } stopping{*way.thieves};
    way.thieves->begin(way.theft);
    ChildRun run = run_once(way.command, most);
    try {
      way.speeds.push_back(way.thieves->end());
    } catch (const core::SystemError& error) {
      way.failed = error.what();
    }
    return run;
  }

  // seconds: of a round, of each contestant.
  void keep(const std::vector<double>& seconds) {
    ++rounds_;
    for (const std::size_t i : std::exchange(turns_, {}))
      if (const Contestant& way = contestants_[i]; way.failed.empty() && !way.lost)
        evidence_.runs.push_back({way.resource   ? name_of(*way.resource)
                                  : way.given_up ? "fewer PUs"
                                                 : kUndisturbed,
                                  seconds[i]});
    std::vector<double> undisturbed[2];  // as started, with PUs given up
    for (std::size_t i = 0; i < seconds.size(); ++i)
      if (const Contestant& way = contestants_[i]; !way.resource && !way.lost)
        undisturbed[way.given_up ? 1 : 0].push_back(seconds[i]);
    std::ranges::copy(undisturbed[0], std::back_inserter(evidence_.observed.seconds));
    for (std::size_t i = 0; i < seconds.size(); ++i)
      if (Contestant& way = contestants_[i]; !way.lost)
        way.level.slowdowns.push_back(seconds[i] / core::median(undisturbed[way.given_up ? 1 : 0]));
  }

  void collect() {
    if (undisturbed_.size() < kFewUndisturbed) keep_watched();
    const auto median = [&](double ChildRun::*figure) {
      std::vector<double> figures;
      for (const ChildRun& run : undisturbed_) figures.push_back(run.*figure);
      return core::median(figures);
    };
    evidence_.observed.user = median(&ChildRun::user_seconds);
    evidence_.observed.system = median(&ChildRun::system_seconds);
    evidence_.observed.minor_faults = median(&ChildRun::minor_faults);
    evidence_.observed.counts = undisturbed_.back().counts;
    for (Contestant& way : contestants_) {
      if (!way.resource) continue;
      Trial& to = trial(*way.resource);
      if (way.level.slowdowns.empty() && way.failed.empty()) way.failed = way.reason;
      if (!way.failed.empty()) {
        if (to.levels.empty()) to.untried = way.failed;
        continue;
      }
      const double speed = way.speeds.empty() ? 0 : core::mean(way.speeds);
      if (way.resource == Resource::cpu_time)
        way.level.taken = speed / static_cast<double>(way.thieves->size());
      if (way.alone > 0) way.level.own_speed = speed / way.alone;
      to.untried.clear();
      to.levels.push_back(std::move(way.level));
    }
    if (Trial& threads = trial(Resource::threads); !threads.levels.empty())
      threads.levels.push_back(
          {.taken = static_cast<double>(subject_.own_threads()),
           .slowdowns = std::vector<double>(static_cast<std::size_t>(rounds_), 1)});
    for (Trial& each : evidence_.trials) std::ranges::sort(each.levels, {}, &Level::taken);
    evidence_.seconds = elapsed();
  }

  const Request& request_;
  const Hooks& hooks_;
  core::Clock& clock_ = core::tick_clock();
  double start_ = clock_.now();
  Subject subject_;
  Evidence evidence_;
  double timeout_ = 0, run_seconds_ = 0;
  int repeat_ = 1;
  std::vector<ChildRun> watched_, undisturbed_;
  core::Counters counters_{core::Counted::programs};
  Ways ways_;
  std::vector<Contestant> contestants_;
  Rounds plan_;
  std::vector<std::size_t> turns_;  // of the round that is being run: contestants, in order
  int rounds_ = 0;
};

}  // namespace

std::size_t undisturbed_runs(std::size_t ways) {
  return (ways + kWaysPerUndisturbed - 1) / kWaysPerUndisturbed;
}

int runs_in_a_sample(double run_seconds) {
  if (run_seconds >= kTooShort) return 1;
  return static_cast<int>(std::ceil(kSample / std::max(run_seconds, 1e-4)));
}

Rounds plan_rounds(std::size_t ways, double run_seconds, double seconds) {
  const auto rounds_of = [&](std::size_t n) {
    const double runs =
        kDisturbedTakes * static_cast<double>(n) + 2 * static_cast<double>(undisturbed_runs(n));
    return static_cast<int>(std::min<double>(kMostRounds, seconds / (runs * run_seconds)));
  };
  for (const int least : {2, 1})
    for (std::size_t n = ways; n > 0; --n)
      if (rounds_of(n) >= least) return {n, rounds_of(n)};
  return {};
}

Evidence gather(const Request& request, const core::Topology& topology, const Hooks& hooks) {
  return Experiments(request, topology, hooks).run();
}

}  // namespace tabane::lab::explain
