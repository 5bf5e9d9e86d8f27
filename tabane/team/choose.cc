#include "tabane/team/choose.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tabane/core/error.h"
#include "tabane/team/choose_reason.h"
#include "tabane/team/chooser.h"
#include "tabane/team/fork_order.h"
#include "tabane/team/shapes.h"
#include "tabane/team/team_model.h"
#include "tabane/team/team_sampler.h"

namespace tabane::team {
namespace {

constexpr double kCollapsed =
    0.6;                          // of the best throughput so far: more threads only make it worse
constexpr double kFalling = 0.9;  // of it: more of the same will not make it better
constexpr double kLittleGain = 0.15;  // of throughput from twice the workers
constexpr double kWorthIt = 0.99;     // processes must promise at least this little gain
// Two workers on the PUs of one core do at most this much more than one.
constexpr double kBestCoreYield = 1.5;
constexpr double kNearlyAsGood = 1.15;
constexpr int kMostChecks = 8;
// Octaves within which a shape that was run stands for another.
constexpr double kAlike = 0.15, kUnlike = 0.4;
constexpr double kDear = 0.1;   // of the rest of the budget
constexpr int kMostRounds = 8;  // of rivals against each other
constexpr std::size_t kMostRivals = 3;
constexpr double kQuiet = 0.01;                      // noise below which nothing is repeated
constexpr double kUnsureShape = 0.03;                // relative error where a shape was not run
constexpr double kLeastTie = 0.01, kMostTie = 0.05;  // of seconds
constexpr int kTrustedThreads = 4;                   // times those that were run
constexpr double kUnsureStart = 0.1;                 // relative error of what starting costs

// Where some workers are slower, a last task that one of them takes decides, and whether one does
// hangs on how much slower they are, which is known only roughly: the mean over what it may be.
double unsure_makespan(double n, std::vector<WorkerClass> workers, double variation) {
  double fastest = 0;
  for (const WorkerClass& w : workers) fastest = std::max(fastest, w.rate);
  const std::vector<WorkerClass> likely = workers;
  double sum = 0;
  for (const double factor : {0.87, 1.0, 1.15}) {
    bool uneven = false;
    for (std::size_t i = 0; i < workers.size(); ++i) {
      if (likely[i].rate > 0.98 * fastest) continue;
      workers[i].rate = std::min(fastest, likely[i].rate * factor);
      uneven = true;
    }
    const double seconds = expected_makespan(n, workers, variation);
    if (!uneven) return seconds;
    sum += seconds;
  }
  return sum / 3;
}

class Chooser {
 public:
  Chooser(Machine& machine, std::size_t n, Experiment& experiment, const Limits& limits)
      : machine_(machine),
        n_(n),
        experiment_(experiment),
        sampler_(experiment, n, limits),
        most_workers_(most_workers(limits)),
        most_processes_(limits.most_processes > 0 ? std::min(limits.most_processes, most_workers_)
                                                  : most_workers_) {}

  Choice choose() {
    if (n_ <= 1 || most_workers_ == 1) return nothing_to_share();
    sampler_.measure_base();
    if (!threads_pay()) {
      most_workers_ = most_processes_ = 1;
    } else {
      sampler_.keep_back(0.5);
      climb_threads();
      sampler_.keep_back(0.15);
      if (most_processes_ > 1 && processes_may_pay()) learn_process_costs();
      if (most_processes_ > 1 && processes_may_pay()) {
        climb_processes();
      } else {
        most_processes_ = 1;
      }
      sampler_.keep_back(0);
    }
    fit();
    weigh();
    for (int i = 0; i < kMostChecks && check_best(); ++i) {
      fit();
      weigh();
    }
    compare_rivals();
    return result();
  }

 private:
  int most_workers(const Limits& limits) const {
    const int allowed = limits.most_workers > 0 ? limits.most_workers : 2 * machine_.pus();
    return static_cast<int>(
        std::min<std::size_t>(static_cast<std::size_t>(allowed), std::max<std::size_t>(n_, 1)));
  }

  Choice nothing_to_share() const {
    Choice choice;
    choice.alternatives = {choice.predicted};
    choice.reason = n_ <= 1 ? "too little work for more than one worker: " + std::to_string(n_) +
                                  (n_ == 1 ? " task" : " tasks")
                            : "the limits leave one worker";
    return choice;
  }

  double work_seconds() const { return double(n_) * sampler_.task_seconds(); }

  // Seconds of the whole work with the best shape that was run, but for its tail.
  double best_known() const {
    double best = work_seconds();
    for (const SlowdownPoint& point : sampler_.points()) {
      const double results = point.shape.processes > 1 ? double(n_) * result_seconds_ : 0;
      best = std::min(best, start_.seconds(point.shape) + results +
                                work_seconds() * point.slowdown / point.shape.workers());
    }
    return best;
  }

  // Even threads must be worth starting.
  bool threads_pay() {
    start_.per_thread = sampler_.start_seconds({1, 2}) / 2;
    if (start_.per_thread > work_seconds()) return false;
    const int some = std::min({most_workers_, machine_.pus(), 8});
    if (some > 2) start_.per_thread = sampler_.start_seconds({1, some}) / some;
    return true;
  }

  // Threads of one process from which on they use several nodes, cores first.
  int first_spanning() const {
    if (machine_.nodes() == 1) return machine_.pus();
    return std::max(machine_.node_pus() + 1, 2 * machine_.node_cores());
  }

  bool spans_first(Shape shape) const { return shape.threads == first_spanning(); }

  // 2, 4, 8 … and where cores, nodes and the machine are full.
  std::set<int> ladder(int least, int factor, int nodes_apart) const {
    const int most = std::min(most_workers_, machine_.pus());
    std::set<int> steps;
    for (long step = least; step <= most; step *= factor) steps.insert(static_cast<int>(step));
    const int nodes = nodes_apart > 0 ? nodes_apart : 1;
    steps.insert({nodes * machine_.node_cores(), nodes * machine_.node_pus(), machine_.cores(),
                  machine_.pus()});
    if (nodes_apart == 0) steps.insert(first_spanning());
    steps.insert(most);
    std::erase_if(steps, [&](int step) { return step < 2 || step > most; });
    return steps;
  }

  // Runs the shapes upwards until the budget forbids the next, starting it alone takes longer than
  // the best that is known, or throughput has collapsed. Where two steps in a row gained little,
  // only the first that uses other nodes and the last are of interest.
  void climb(const std::vector<Shape>& shapes) {
    std::vector<SpeedupPoint> seen;
    double best = 1, before = 1, slowdown = 1;
    int flat = 0;
    Shape last;
    for (const Shape& shape : shapes) {
      const double start = start_.seconds(shape);
      if (start > best_known()) return;
      const bool landmark = shape == shapes.back() || spans_first(shape);
      if (flat >= 2 && !landmark) continue;
      const double doublings = std::log2(double(shape.workers()) / last.workers());
      const ScalabilityLaw law = fit_scalability(seen);
      double expected =
          std::max(slowdown * (1 + 0.25 * doublings), 1 / law.efficiency(shape.workers()));
      if (before < kFalling * best && doublings >= 2) {
        expected = std::max(expected, slowdown * std::exp2(2 * doublings));
        if (expected * sampler_.task_seconds() > kDear * sampler_.left()) return;
      }
      if (!run(shape, expected, start)) return;
      slowdown = sampler_.slowdown(shape);
      const double throughput = shape.workers() / slowdown;
      seen.push_back({.workers = double(shape.workers()), .speedup = throughput});
      best = std::max(best, throughput);
      if (throughput < kCollapsed * best) return;
      flat = throughput < before * (1 + kLittleGain * doublings) ? flat + 1 : 0;
      before = throughput;
      last = shape;
    }
  }

  bool run(Shape shape, double expected_slowdown, double start) {
    return sampler_.measure(shape, expected_slowdown, start, all_alike(shape));
  }

  bool all_alike(Shape shape) {
    const ShapeLoad& load = machine_.load(shape);
    return load.size() == 1 && load.front().groups.size() == 1;
  }

  void climb_threads() {
    std::vector<Shape> shapes;
    for (const int threads : ladder(2, 2, 0)) shapes.push_back({1, threads});
    climb(shapes);
  }

  void climb_processes() {
    std::vector<Shape> shapes;
    const int nodes = std::min(machine_.nodes(), most_workers_);
    for (const int processes : ladder(nodes, 4, nodes)) {
      if (processes <= most_processes_) shapes.push_back({processes, 1});
    }
    climb(shapes);
  }

  // Processes that would not slow each other at all against the best that is known.
  bool processes_may_pay() const {
    const double cores = machine_.cores();
    const double rate =
        std::min({double(most_workers_), double(machine_.pus()),
                  machine_.pus() > machine_.cores() ? cores * kBestCoreYield : cores});
    const double ideal = std::max(work_seconds() / rate, sampler_.task_seconds());
    return ideal + start_.seconds({2, 1}) + double(n_) * result_seconds_ < kWorthIt * best_known();
  }

  // Two, eight and more processes, until another question costs more than it may bring.
  void learn_process_costs() {
    const double two = sampler_.start_seconds({2, 1});
    result_seconds_ = experiment_.result_seconds();
    const double forks = fork_depth(2, ForkOrder::tree);
    start_.per_level = two / forks;
    for (const int processes : {8, 64}) {
      if (processes > most_processes_ || !processes_may_pay()) return;
      if (start_.seconds({processes, 1}) > best_known()) return;
      const double levels = fork_depth(processes, ForkOrder::tree);
      const double many = sampler_.start_seconds({processes, 1});
      // two = per_level forks + per_process 2, many = per_level levels + per_process processes.
      const double determinant = forks * processes - 2 * levels;
      start_.per_level = std::max(0.0, (two * processes - many * 2) / determinant);
      start_.per_process = std::max(0.0, (many * forks - two * levels) / determinant);
      if (start_.per_process == 0) start_.per_level = many / levels;
    }
  }

  void fit() {
    const std::vector<SlowdownPoint> points = sampler_.points();
    if (points.empty()) return;
    const SpeedModel before = model_;
    model_ =
        fit_speed(machine_, points, sampler_.base_error(), &base_, fitted_ ? &before : nullptr);
    fitted_ = true;
    residuals_.clear();
    misfit_ = 0;
    for (const SlowdownPoint& point : points) {
      const double predicted = predict_slowdown(model_, machine_.load(point.shape),
                                                point.shape.threads, point.one_round);
      const double off = std::log(point.slowdown / (predicted * base_));
      residuals_.push_back({point.shape, off, point.error});
      misfit_ += off * off / double(points.size());
    }
    misfit_ = std::sqrt(misfit_);
  }

  // What the laws leave over at the shapes that were run holds for shapes like them: its mean,
  // weighted by nearness in octaves and drawn to 0 where noise may explain it.
  double correction(Shape shape) const {
    double weights = 0, sum = 0;
    for (const Residual& r : residuals_) {
      const double p = std::log2(double(shape.processes) / r.shape.processes);
      const double t = std::log2(double(shape.threads) / r.shape.threads);
      const double near = r.shape == shape ? 4 : std::exp(-(p * p + t * t) / 0.08);
      const double trust = near / (r.error * r.error / (0.03 * 0.03) + 0.01);
      weights += trust;
      sum += trust * r.off;
    }
    return sum / (weights + 1);
  }

  Prediction predict(Shape shape) {
    std::vector<WorkerClass> workers = model_.workers(machine_.load(shape), shape.threads);
    const double factor = std::exp(-correction(shape)) / (sampler_.task_seconds() * base_);
    for (WorkerClass& w : workers) w.rate *= factor;
    const double tasks = double(n_);
    const double work = unsure_makespan(tasks, std::move(workers), sampler_.variation());
    const double start = start_.seconds(shape);
    const double results = shape.processes > 1 ? tasks * result_seconds_ : 0;
    const double error =
        std::hypot(sampler_.task_error(), misfit_, sampler_.measured(shape) ? 0 : kUnsureShape);
    const double deviation = std::hypot(work * error, (start + results) * kUnsureStart);
    const double seconds = start + work + results;
    return {.shape = shape,
            .seconds = seconds,
            .low = std::max(0.0, seconds - 1.96 * deviation),
            .high = seconds + 1.96 * deviation};
  }

  void weigh() {
    std::map<Shape, Prediction> weighed;
    int most_threads = 1;
    for (const Residual& r : residuals_) most_threads = std::max(most_threads, r.shape.threads);
    const auto add = [&](const std::vector<Shape>& shapes) {
      for (const Shape& shape : shapes) {
        if (shape.threads > kTrustedThreads * most_threads) continue;
        if (!weighed.contains(shape)) weighed.emplace(shape, predict(shape));
      }
    };
    const auto least = [&] {
      return std::min_element(
                 weighed.begin(), weighed.end(),
                 [](const auto& a, const auto& b) { return a.second.seconds < b.second.seconds; })
          ->first;
    };
    add(candidate_shapes(machine_, n_, most_workers_, most_processes_));
    for (Shape best = least(), before{0, 0}; best != before;) {
      before = best;
      add(shapes_near(best, most_workers_, most_processes_));
      best = least();
    }
    weighed_.clear();
    for (const auto& [shape, prediction] : weighed) weighed_.push_back(prediction);
    std::stable_sort(weighed_.begin(), weighed_.end(),
                     [](const auto& x, const auto& y) { return x.seconds < y.seconds; });
  }

  // Runs the best shape if it was only predicted, or else one that is predicted nearly as good and
  // unlike all that were run. Returns false if there is none or the budget forbids it.
  bool check_best() {
    const double enough = weighed_.front().seconds * kNearlyAsGood;
    for (const Prediction& p : weighed_) {
      if (p.seconds > enough) return false;
      const bool best = &p == &weighed_.front();
      if (p.shape == Shape{} || (best ? known(p.shape) : nearness(p.shape) < kUnlike)) continue;
      return run_expected(p.shape);
    }
    return false;
  }

  // Run, or so like one that was run that it is not worth its start.
  bool known(Shape shape) const {
    return sampler_.measured(shape) ||
           (nearness(shape) < kAlike && start_.seconds(shape) > kDear * sampler_.left());
  }

  bool run_expected(Shape shape) {
    const double slowdown =
        predict_slowdown(model_, machine_.load(shape), shape.threads, false) * 1.2;
    return run(shape, slowdown, start_.seconds(shape));
  }

  // Runs the shapes that may be best against each other in turn, so that what disturbs meets them
  // all, until one is better than may be chance or the budget forbids more.
  void compare_rivals() {
    for (int round = 0; round < kMostRounds && sampler_.noise() > kQuiet; ++round) {
      const std::vector<Shape> rivals = close_rivals();
      if (rivals.size() < 2) return;
      for (const Shape& shape : rivals) {
        if (!run_expected(shape)) return;
      }
      fit();
      weigh();
    }
  }

  // The best first, then what may be as good and is unlike those before.
  std::vector<Shape> close_rivals() const {
    std::vector<Shape> rivals;
    const Prediction& best = weighed_.front();
    for (const Prediction& p : weighed_) {
      if (p.seconds * (1 - 2 * tie(p, best)) > best.seconds) continue;
      const bool like = std::any_of(rivals.begin(), rivals.end(), [&](const Shape& other) {
        return octaves(p.shape, other) < kUnlike;
      });
      if (!like && p.shape != Shape{}) rivals.push_back(p.shape);
      if (rivals.size() == kMostRivals) break;
    }
    return rivals;
  }

  double error_of(Shape shape) const {
    for (const Residual& r : residuals_) {
      if (r.shape == shape) return r.error;
    }
    return shape == Shape{} ? sampler_.base_error() : kUnsureShape;
  }

  // The relative difference of two predictions that may be chance.
  double tie(const Prediction& a, const Prediction& b) const {
    return std::clamp(std::hypot(error_of(a.shape), error_of(b.shape)), kLeastTie, kMostTie);
  }

  // Of shapes whose difference may be chance the one with the fewest processes, then threads: each
  // costs something that a short sample does not show.
  void settle() {
    if (sampler_.noise() < kQuiet) return;
    auto chosen = weighed_.begin();
    for (auto p = weighed_.begin(); p != weighed_.end(); ++p) {
      const bool as_good = p->seconds * (1 - tie(*p, weighed_.front())) < weighed_.front().seconds;
      const bool other =
          sampler_.measured(p->shape) && octaves(p->shape, weighed_.front().shape) > kUnlike;
      if (as_good && other && p->shape < chosen->shape) chosen = p;
    }
    std::rotate(weighed_.begin(), chosen, chosen + 1);
  }

  static double octaves(Shape a, Shape b) {
    return std::hypot(std::log2(double(a.processes) / b.processes),
                      std::log2(double(a.threads) / b.threads));
  }

  // Octaves to the nearest shape that was run.
  double nearness(Shape shape) const {
    double least = octaves(shape, {});
    for (const Residual& r : residuals_) least = std::min(least, octaves(shape, r.shape));
    return least;
  }

  Choice result() {
    settle();
    Choice choice;
    choice.predicted = weighed_.front();
    choice.shape = choice.predicted.shape;
    choice.alternatives = std::move(weighed_);
    choice.in_process = model_.in_process;
    choice.of_machine = model_.of_node;
    choice.task_seconds = sampler_.task_seconds() * base_;
    if (choice.shape.processes > 1) {
      choice.fork_seconds = start_.seconds(choice.shape);
    }
    choice.sample_seconds = sampler_.spent();
    choice.reason = reason_for(choice, {.start = start_,
                                        .results = double(n_) * result_seconds_,
                                        .work = work_seconds(),
                                        .threads = std::min(machine_.node_cores(), most_workers_)});
    return choice;
  }

  struct Residual {
    Shape shape;
    double off, error;  // logarithms
  };

  Machine& machine_;
  std::size_t n_;
  Experiment& experiment_;
  Sampler sampler_;
  int most_workers_, most_processes_;
  StartCost start_;
  double result_seconds_ = 0;
  SpeedModel model_;
  bool fitted_ = false;
  double base_ = 1, misfit_ = 0;
  std::vector<Residual> residuals_;
  std::vector<Prediction> weighed_;
};

}  // namespace

Choice choose_on(Machine& machine, std::size_t n, Experiment& experiment, const Limits& limits) {
  if (limits.most_workers < 0 || limits.most_processes < 0) {
    throw core::UsageError(
        "the limits leave no shape: most_workers and most_processes must be positive, or 0 for as "
        "many as the machine suggests");
  }
  if (!(limits.most_sample_share > 0) || !(limits.most_sample_seconds > 0)) {
    throw core::UsageError(
        "the limits leave no sample: most_sample_share and most_sample_seconds must be positive");
  }
  return Chooser(machine, n, experiment, limits).choose();
}

Choice choose_shape(const core::Topology& topology, std::size_t n, Experiment& experiment,
                    const Limits& limits) {
  Machine machine(topology);
  return choose_on(machine, n, experiment, limits);
}

}  // namespace tabane::team
