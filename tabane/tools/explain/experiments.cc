#include "tabane/tools/explain/experiments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/measurement.h"
#include "tabane/core/units.h"
#include "tabane/program/args.h"
#include "tabane/program/output.h"
#include "tabane/tools/explain/observe.h"

namespace tabane::lab::explain {
namespace {

constexpr double kTooShort = 20e-3, kSample = 0.1;  // seconds: shorter runs are repeated
constexpr double kTimeoutFactor = 20, kLeastTimeout = 10;
constexpr double kBusyShare = 0.1;         // of the PUs, by others: worth a word
constexpr double kUsesDisk = 1 << 20;      // bytes
constexpr double kAroundARun = 2e-3;       // seconds
constexpr double kCalibrationTime = 0.3;   // of what is left, at most
constexpr double kCalibrationShare = 0.1;  // of the progress

[[noreturn]] void fail(const std::string& sentence, const ChildRun& run) {
  throw program::WithLines<core::Error>(
      sentence + ": " + how_it_ended(run),
      run.errors.empty() ? "" : "it wrote to stderr:\n" + run.errors);
}

// A way, and what its runs showed.
struct Contestant : Way {
  explicit Contestant(Way way) : Way(std::move(way)) {}

  std::vector<double> speeds;  // of its thieves
  std::string failed;          // how, when it did
};

struct Turn {
  double seconds = 0;
  int order = 0;
};

class Experiments {
 public:
  Experiments(const Request& request, const core::Topology& topology, const Hooks& hooks)
      : request_(request), hooks_(hooks), subject_{.request = request, .topology = topology} {
    evidence_.command = program::shell_line(request.command);
  }

  Evidence run() {
    try_out();
    try {
      // Where there is no time for a run beside thieves, nothing is calibrated.
      const double left = request_.seconds - elapsed(), part = kCalibrationTime * left;
      ways_.emplace(subject_, plan_rounds(1, sample_seconds(), left - part).ways == 0 ? 0 : part,
                    [&](double done) { show("calibration", kCalibrationShare * done, -1); });
      evidence_.machine = ways_->limits;
      evidence_.trials = ways_->trials;
      if (!ways_->note.empty()) evidence_.notes.push_back(ways_->note);
      choose();
      measure();
    } catch (const Stopped&) {
      if (rounds_ == 0) throw;
      evidence_.complete = false;
    }
    collect();
    return std::move(evidence_);
  }

 private:
  double elapsed() { return clock_.now() - start_; }
  double sample_seconds() const { return run_seconds_ * repeat_ + kAroundARun; }

  void show(const std::string& what, double done, double left) {
    if (hooks_.stop_requested()) throw Stopped();
    hooks_.progress(what, done, left);
  }

  ChildRun run_once(const ChildCommand& command, core::Counters* counters = nullptr) const {
    if (!request_.prepare.empty()) {
      const ChildRun prepared =
          run_child(command_of_line(request_.prepare), {.stop_requested = hooks_.stop_requested});
      if (!prepared.ok()) fail(fmt::format("--prepare '{}'", request_.prepare), prepared);
    }
    return run_child(command, {.timeout_seconds = timeout_,
                               .stop_requested = hooks_.stop_requested,
                               .most_kept_bytes = 0,
                               .counters = counters});
  }

  static void require_again(const ChildRun& run) {
    if (!run.ok())
      fail("the command fails when it is run again (what it changes, --prepare can restore)", run);
  }

  // ---- what the command does undisturbed ----

  void try_out() {
    const ChildCommand command = subject_.command(subject_.own_threads());
    timeout_ = request_.seconds;
    show("the command as it is", 0, -1);
    const OthersLoad others;
    const ChildRun first = run_once(command);
    if (first.timed_out) fail("the command takes all of --time", first);
    if (!first.ok()) fail("the command fails", first);
    if (first.left_processes)
      evidence_.notes.emplace_back(
          "The command leaves processes behind. They were ended, and are not part of its time.");
    const unsigned pus = subject_.topology.machine_pu_count();
    if (const auto busy = others.busy_pus(); busy && *busy > kBusyShare * pus) {
      evidence_.notes.push_back(fmt::format(
          "Other programs kept {:.1f} of {} PUs busy: small differences cannot be seen then.",
          *busy, pus));
      hooks_.on_plan(evidence_.notes.back());
    }
    timeout_ = std::max(kLeastTimeout, kTimeoutFactor * first.seconds);
    if (first.seconds < kTooShort) {
      repeat_ = static_cast<int>(std::ceil(kSample / std::max(first.seconds, 1e-4)));
      evidence_.notes.push_back(fmt::format("One run takes {}, so a sample is {} runs.",
                                            core::format_seconds(first.seconds), repeat_));
    }
    watch(command);
  }

  void watch(const ChildCommand& command) {
    const Around around;
    Watch watch;
    const ChildRun run = run_once(command);
    watch.finish(watched_, subject_.files);
    require_again(run);
    const Observed counted = around.observed(run);
    run_seconds_ = run.seconds;
    subject_.uses_disk =
        counted.read_bytes.value_or(0) + counted.written_bytes.value_or(0) >= kUsesDisk;
    subject_.busy_pus = (run.user_seconds + run.system_seconds) / std::max(run.seconds, 1e-9);
    for (const std::string& word : command.arguments)
      if (std::error_code none; std::filesystem::is_regular_file(word, none))
        subject_.files.insert(word);
    if (!request_.input.empty()) subject_.files.insert(request_.input);
  }

  // ---- rounds ----

  void choose() {
    std::vector<Way> all = ways_->by_importance();
    const double each = sample_seconds();
    plan_ = plan_rounds(all.size(), each, request_.seconds - elapsed());
    std::size_t given_up = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Resource resource = *all[i].resource;
      if (i < plan_.ways) {
        given_up += all[i].given_up ? 1 : 0;
        contestants_.emplace_back(std::move(all[i]));
      } else if (!is_tried(resource)) {
        trial(resource).untried =
            fmt::format("there was no time for it in --time {}: one run takes {}",
                        core::format_seconds(request_.seconds), core::format_seconds(each));
      }
    }
    for (std::size_t i = 0; i < std::max<std::size_t>(1, undisturbed_runs(plan_.ways - given_up));
         ++i)
      contestants_.emplace_back(ways_->undisturbed(false));
    for (std::size_t i = 0; i < undisturbed_runs(given_up); ++i)
      contestants_.emplace_back(ways_->undisturbed(true));
    hooks_.on_plan(fmt::format("{} ways to run it, {} {}, about {} a run", plan_.ways, plan_.rounds,
                               plan_.rounds == 1 ? "round" : "rounds",
                               core::format_seconds(run_seconds_)));
  }

  bool is_tried(Resource resource) const {
    return std::ranges::any_of(contestants_,
                               [&](const Contestant& each) { return each.resource == resource; });
  }

  Trial& trial(Resource resource) {
    return *std::ranges::find(evidence_.trials, resource, &Trial::resource);
  }

  void measure() {
    const double begin = elapsed();
    core::in_rounds(
        contestants_.size(),
        {.fewest = 1,
         .most = std::max(1, plan_.rounds),
         .budget_seconds = request_.seconds - begin},
        clock_, clock_.now(), [&](std::size_t i) { return take(contestants_[i], begin); },
        [&](const std::vector<Turn>& turns) { keep(turns); });
  }

  Turn take(Contestant& way, double begin) {
    const double all = static_cast<double>(contestants_.size()) * std::max(1, plan_.rounds);
    const double done = turns_ / all;
    show("runs in turn", kCalibrationShare + (1 - kCalibrationShare) * done,
         done > 0 ? (elapsed() - begin) * (1 - done) / done : -1);
    Turn turn{.order = turns_++};
    const bool observes = !way.resource && !way.given_up;
    for (int i = 0; i < repeat_ && way.failed.empty(); ++i) {
      way.before();
      const Around around;
      const ChildRun run = run_beside_thieves(way, observes ? &counters_ : nullptr);
      const bool slowed_down = run.timed_out && way.thieves != nullptr;
      if (!run.ok() && !slowed_down) {
        if (!way.resource) require_again(run);
        way.failed = "the command fails then: " + how_it_ended(run);
      }
      if (observes) observed_.push_back(around.observed(run));
      turn.seconds += run.seconds / repeat_;
    }
    return turn;
  }

  ChildRun run_beside_thieves(Contestant& way, core::Counters* counters) {
    if (way.thieves == nullptr) return run_once(way.command, counters);
    way.thieves->begin(way.theft);
    ChildRun run;
    try {
      run = run_once(way.command);
    } catch (...) {
      way.thieves->end();
      throw;
    }
    try {
      way.speeds.push_back(way.thieves->end());
    } catch (const core::SystemError& error) {
      way.failed = error.what();
    }
    return run;
  }

  // Of the undisturbed runs of a round the one next to this in order.
  const Turn& base_of(const std::vector<Turn>& turns, const Turn& turn, bool given_up) const {
    const Turn* nearest = nullptr;
    const auto away = [&](const Turn& other) { return std::abs(other.order - turn.order); };
    for (std::size_t i = 0; i < turns.size(); ++i) {
      if (contestants_[i].resource || contestants_[i].given_up != given_up) continue;
      if (nearest == nullptr || away(turns[i]) < away(*nearest)) nearest = &turns[i];
    }
    return *nearest;
  }

  void keep(const std::vector<Turn>& turns) {
    ++rounds_;
    std::vector<std::size_t> order(turns.size());
    for (std::size_t i = 0; i < turns.size(); ++i) {
      Contestant& way = contestants_[i];
      const Turn& turn = turns[i];
      order[static_cast<std::size_t>(turn.order) % turns.size()] = i;
      if (!way.failed.empty() || !way.resource) continue;
      way.level.slowdowns.push_back(turn.seconds / base_of(turns, turn, way.given_up).seconds);
    }
    for (const std::size_t i : order)
      evidence_.runs.push_back({.resource = contestants_[i].resource,
                                .taken = contestants_[i].level.taken,
                                .seconds = turns[i].seconds,
                                .given_up = contestants_[i].given_up});
  }

  void collect() {
    evidence_.observed = median_of(observed_);
    evidence_.observed.threads = std::move(watched_.threads);
    evidence_.observed.moments = std::move(watched_.moments);
    evidence_.observed.queue_delay = watched_.queue_delay;
    for (Contestant& way : contestants_) {
      if (!way.resource) continue;
      Trial& to = trial(*way.resource);
      if (!way.failed.empty()) {
        if (to.levels.empty()) to.untried = way.failed;
        continue;
      }
      const double speed = way.speeds.empty() ? 0 : core::median(way.speeds);
      if (way.resource == Resource::cpu_time)
        way.level.taken = speed / static_cast<double>(way.thieves->size());
      if (way.alone > 0) way.level.own_speed = speed / way.alone;
      to.untried.clear();
      to.levels.push_back(std::move(way.level));
    }
    if (is_tried(Resource::threads))
      trial(Resource::threads)
          .levels.push_back(
              {.taken = static_cast<double>(subject_.own_threads()),
               .slowdowns = std::vector<double>(static_cast<std::size_t>(rounds_), 1)});
    for (Trial& each : evidence_.trials) std::ranges::sort(each.levels, {}, &Level::taken);
    std::ranges::sort(evidence_.trials, {}, &Trial::resource);
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
  Observed watched_;
  std::vector<Observed> observed_;
  core::Counters counters_{core::Counted::programs};
  std::optional<Ways> ways_;
  std::vector<Contestant> contestants_;
  Rounds plan_;
  int rounds_ = 0, turns_ = 0;
};

}  // namespace

Evidence gather(const Request& request, const core::Topology& topology, const Hooks& hooks) {
  return Experiments(request, topology, hooks).run();
}

}  // namespace tabane::lab::explain
