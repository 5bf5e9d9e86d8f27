#include "tabane/team/halving_test.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "tabane/core/statistics.h"
#include "tabane/team/team_model.h"

namespace tabane::team {
namespace {

std::vector<Shape> ladder(const Machine& machine, int most_workers) {
  std::set<int> steps{machine.node_cores(), machine.node_pus(), machine.cores(), machine.pus()};
  for (int step = 1; step <= most_workers; step *= 2) steps.insert(step);
  std::set<Shape> shapes;
  for (const int workers : steps) {
    for (const int threads : steps) {
      if (workers > std::min(most_workers, machine.pus()) || threads > workers) continue;
      shapes.insert({workers / threads, threads});
    }
  }
  return {shapes.begin(), shapes.end()};
}

constexpr double kStopped = std::numeric_limits<double>::infinity();

struct Entrant {
  Shape shape;
  double start = 0;     // seconds
  double slowdown = 1;  // of a task, against one worker alone
  double seconds = 0;   // of the whole work, as the last rung tells
};

class Halving {
 public:
  Halving(Machine& machine, std::size_t n, LawExperiment& experiment, double seconds,
          Candidates candidates)
      : machine_(machine), n_(n), experiment_(experiment), budget_(seconds) {
    const int most = static_cast<int>(std::min(n, std::size_t(2 * machine.pus())));
    shapes_ = candidates == Candidates::all ? candidate_shapes(machine, n, most, most)
                                            : ladder(machine, most);
  }

  Shape choose() {
    if (n_ <= 1) return {};
    sample_one_worker();
    learn_starts();
    enter();
    const double rungs = std::ceil(std::log2(std::max<double>(2, double(entrants_.size()))));
    const double share = left() / rungs;
    while (entrants_.size() > 1 && climb(share / double(entrants_.size()))) {
      std::stable_sort(entrants_.begin(), entrants_.end(),
                       [](const Entrant& a, const Entrant& b) { return a.seconds < b.seconds; });
      entrants_.resize((entrants_.size() + 1) / 2);
    }
    const auto best =
        std::min_element(entrants_.begin(), entrants_.end(),
                         [](const Entrant& a, const Entrant& b) { return a.seconds < b.seconds; });
    const bool worth = best != entrants_.end() && best->seconds < double(n_) * task_seconds_;
    return worth ? best->shape : Shape{};
  }

 private:
  double left() const { return budget_ - spent_; }

  SampleRun run(Shape shape, std::size_t count) {
    SampleRun trial = experiment_.run(shape, count);
    spent_ += trial.seconds;
    return trial;
  }

  void sample_one_worker() {
    learn_sizes(run({}, 1));
    const auto some = static_cast<std::size_t>(0.1 * budget_ / task_seconds_);
    const std::size_t count = std::min({n_, std::size_t{32}, some});
    if (count > 1) learn_sizes(run({}, count));
  }

  void learn_sizes(const SampleRun& trial) {
    sizes_ = trial.task_seconds;
    task_seconds_ = core::mean(sizes_);
    variation_ = sizes_.size() > 1 ? core::standard_deviation(sizes_) / task_seconds_ : 0;
  }

  void learn_starts() {
    const auto ask = [&](Shape shape) {
      const double start = left() > 0 ? experiment_.start_seconds(shape) : budget_;
      spent_ += start;
      return start;
    };
    start_.per_thread = ask({1, 8}) / 8;
    const double two = ask({2, 1});
    start_.per_level = two / 2;
    if (start_.seconds({8, 1}) > double(n_) * task_seconds_ || start_.seconds({8, 1}) > left()) {
      return;
    }
    // two = 2 levels + 2 processes, eight = 4 levels + 8 processes.
    const double eight = ask({8, 1});
    start_.per_process = std::max(0.0, (eight - 2 * two) / 4);
    start_.per_level = std::max(0.0, two / 2 - start_.per_process);
    result_seconds_ = experiment_.result_seconds();
  }

  // Only what could be faster than one worker, and as many as the first rung can run.
  void enter() {
    std::shuffle(shapes_.begin(), shapes_.end(), random_);
    double spent = 0;
    for (const Shape shape : shapes_) {
      const double start = start_.seconds(shape);
      const double least = start + double(n_) * task_seconds_ / shape.workers() + results(shape);
      if (shape == Shape{} || least > double(n_) * task_seconds_) continue;
      const double cost = start + 1.5 * task_seconds_;
      const double rungs = std::ceil(std::log2(double(entrants_.size() + 2)));
      if ((spent + cost) * rungs > left()) continue;
      spent += cost;
      entrants_.push_back({.shape = shape, .start = start});
    }
  }

  double results(Shape shape) const {
    return shape.processes > 1 ? double(n_) * result_seconds_ : 0;
  }

  // Runs each once, in turn, for about `seconds`; a run that takes far longer is taken as stopped
  // and its shape is out. Returns false when the budget ends; entrants that no rung has reached are
  // out then.
  bool climb(double seconds) {
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
      Entrant& e = entrants_[i];
      const double task = task_seconds_ * e.slowdown;
      if (e.start + task > left()) {
        if (e.seconds == 0) entrants_.resize(i);
        return false;
      }
      const double rounds = std::clamp(std::floor((seconds - e.start) / task), 1.0, 1024.0);
      const auto count = std::min(n_, std::size_t(e.shape.workers()) * std::size_t(rounds));
      const SampleRun trial = experiment_.run(e.shape, count);
      const double most = 2 * std::max(seconds, e.start + task);
      weigh(e, trial);
      if (e.start + trial.seconds > most) e.seconds = kStopped;
      spent_ += std::min(e.start + trial.seconds, most);
    }
    return true;
  }

  // Tasks that the one worker has done are compared with it, the others with its mean.
  void weigh(Entrant& e, const SampleRun& trial) {
    const std::size_t count = trial.task_seconds.size();
    const std::size_t known = std::min(count, sizes_.size());
    const bool compare = variation_ > 0.15 && known >= 16;
    const std::size_t used = compare ? known : count;
    const auto sum = [&](const std::vector<double>& values) {
      return std::accumulate(values.begin(), values.begin() + std::ptrdiff_t(used), 0.0);
    };
    const double alone = compare ? sum(sizes_) : double(used) * task_seconds_;
    e.slowdown = sum(trial.task_seconds) / alone;
    const WorkerClass workers{.rate = 1 / (task_seconds_ * e.slowdown),
                              .count = double(e.shape.workers())};
    e.seconds =
        e.start + results(e.shape) + expected_makespan(double(n_), {&workers, 1}, variation_);
  }

  Machine& machine_;
  std::size_t n_;
  LawExperiment& experiment_;
  double budget_, spent_ = 0;
  std::vector<Shape> shapes_;
  std::mt19937_64 random_{1};
  std::vector<double> sizes_;  // seconds of tasks on one worker
  double task_seconds_ = 0, variation_ = 0, result_seconds_ = 0;
  StartCost start_;
  std::vector<Entrant> entrants_;
};

}  // namespace

Shape choose_by_halving(Machine& machine, std::size_t n, LawExperiment& experiment, double seconds,
                        Candidates candidates) {
  return Halving(machine, n, experiment, seconds, candidates).choose();
}

}  // namespace tabane::team
