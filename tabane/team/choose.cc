#include "tabane/team/choose.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/team/fork.h"
#include "tabane/team/team_model.h"
#include "tabane/team/team_sampler.h"

namespace tabane::team {
namespace {

// A loss of this share is worth a word.
constexpr double kNoticed = 0.05;

std::string percent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

std::string share_lost(const core::ScalabilityLaw& law, int threads) {
  return std::to_string(threads) + " threads of one process lose " +
         percent(1 - law.efficiency(threads)) + " of their speed";
}

// As few threads as show it.
int telling_threads(const core::ScalabilityLaw& law, int most) {
  for (int threads = 2; threads < most; threads *= 2) {
    if (1 - law.efficiency(threads) > 0.25) return threads;
  }
  return std::max(2, most);
}

struct ReasonFacts {
  StartCost start;
  double results = 0;  // seconds to return all results from children
  double work = 0;     // seconds of all tasks on one worker
  int threads = 1;     // as many as a NUMA node has cores for
};

std::string one_process(const Choice& choice, const ReasonFacts& facts) {
  const auto other = std::ranges::find_if(
      choice.alternatives, [](const Prediction& p) { return p.shape.processes > 1; });
  const std::string text = "one process is best: ";
  if (other != choice.alternatives.end()) {
    const std::string of = " of " + core::format_seconds(other->seconds);
    const double forks = facts.start.seconds(other->shape);
    if (forks > facts.results && forks > kNoticed * other->seconds) {
      return text + "forks would cost " + core::format_seconds(forks) + of;
    }
    if (facts.results > kNoticed * other->seconds) {
      return text + "returning results from others would cost " +
             core::format_seconds(facts.results) + of;
    }
  }
  const int threads = choice.shape.threads;
  if (threads == 1) return text + "more would gain nothing";
  if (1 - choice.in_process.efficiency(threads) < 0.005)
    return text + "its " + std::to_string(threads) + " threads do not slow each other";
  return text + share_lost(choice.in_process, threads);
}

std::string too_little(double work) {
  return "too little work for more than one worker: all of it takes " + core::format_seconds(work);
}

std::string why(const Choice& choice, const ReasonFacts& facts) {
  const Shape shape = choice.shape;
  if (shape == Shape{}) return too_little(facts.work);
  if (shape.processes == 1) return one_process(choice, facts);
  const int threads = telling_threads(choice.in_process, facts.threads);
  const std::string size = text_of(shape);
  const std::string forks = "forks cost " + core::format_seconds(choice.fork_seconds) + " of " +
                            core::format_seconds(choice.alternatives.front().seconds);
  if (1 - choice.in_process.efficiency(threads) < kNoticed) {
    return "the processes share least: " + size + ", " + forks;
  }
  return "threads slow each other: " + share_lost(choice.in_process, threads) + "; " + size + ", " +
         forks;
}

// What each of these is worth: tabane/team/chooser.md.
constexpr double kCollapsed =
    0.6;                          // of the best throughput so far: more workers only make it worse
constexpr double kGrowth = 0.25;  // of the slowdown, expected from twice the workers
// Relative error of any sample: it sees the first tasks of young processes, whose heaps have not
// grown, and no later moment of the machine.
constexpr double kUnsureSample = 0.22;
constexpr double kUnsureShape = 0.03;  // relative error where a shape was not run
constexpr double kUnsureStart = 0.3;   // relative error of what starting costs
// Standard deviations of what is known, each way; with these, nine of ten predictions held.
constexpr double kDeviations = 2.2;
constexpr double kWidestInterval = 4;

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
    const BegunWork* const begun = experiment_.begun();
    if (begun != nullptr) {
      start_.per_level = begun->fork_seconds;
    } else {
      if (experiment_.keeps_results() && n_ <= std::size_t(most_used())) {
        return {.shape = {1, static_cast<int>(n_)},
                .reason =
                    "no more tasks than PUs, so there is nothing to choose: a thread for each "
                    "of " +
                    std::to_string(n_) + ", because threads cost least to start"};
      }
      if (!sampler_.pays(most_used())) return without_sample();
    }
    sampler_.measure_base();
    if (!threads_pay()) {
      most_workers_ = most_processes_ = 1;
    } else {
      climb_threads();
      if (processes_may_pay()) learn_process_costs();
      if (processes_may_pay()) {
        climb_processes();
      } else {
        most_processes_ = 1;
      }
    }
    weigh();
    while (check_best()) weigh();
    return result();
  }

 private:
  int most_workers(const Limits& limits) const {
    const int allowed = limits.most_workers > 0 ? limits.most_workers : 2 * machine_.pus();
    return static_cast<int>(
        std::min<std::size_t>(static_cast<std::size_t>(allowed), std::max<std::size_t>(n_, 1)));
  }

  Choice nothing_to_share() const {
    return {.reason = n_ <= 1 ? "too little work for more than one worker: " + std::to_string(n_) +
                                    (n_ == 1 ? " task" : " tasks")
                              : "the limits leave one worker"};
  }

  // PUs that may be used; of tasks that wait for something else, as many workers as may be.
  int most_used() const {
    return sampler_.waits() ? most_workers_ : std::min(most_workers_, machine_.pus());
  }

  // Threads cost least to start and share all that was built.
  Choice without_sample() {
    Choice choice;
    const bool pays = threads_pay();
    if (pays) choice.shape = {1, most_used()};
    choice.task_seconds = sampler_.task_seconds();
    choice.sample_seconds = sampler_.spent();
    choice.reason = choice.shape == Shape{}
                        ? too_little(work_seconds())
                        : "too little work for a sample: all of it takes " +
                              core::format_seconds(work_seconds()) +
                              " on one worker; how long it will take here is not known";
    return choice;
  }

  double work_seconds() const { return double(sampler_.left()) * sampler_.task_seconds(); }
  double results(Shape shape) const {
    return shape.processes > 1 ? double(sampler_.left()) * result_seconds_ : 0;
  }

  // Seconds of the whole work with the best shape that was run, without its tail.
  double best_known() const {
    double best = work_seconds();
    for (const SlowdownPoint& point : sampler_.points()) {
      best = std::min(best, start_.seconds(point.shape) + results(point.shape) +
                                work_seconds() * point.slowdown / point.shape.workers());
    }
    return best;
  }

  // Even threads must be worth starting.
  bool threads_pay() {
    const int some = std::min({most_workers_, machine_.pus(), 8});
    start_.per_thread = sampler_.start_seconds({1, some}) / some;
    return start_.per_thread < work_seconds();
  }

  // The fewest threads of one process that use several nodes when cores are filled first.
  int first_spanning() const {
    if (machine_.nodes() == 1) return machine_.pus();
    return std::max(machine_.node_pus() + 1, 2 * machine_.node_cores());
  }

  // least, least * factor … and where the cores and PUs of `nodes` nodes and of the machine are
  // full.
  std::set<int> ladder(int least, int factor, int nodes) const {
    const int most = most_used();
    std::set<int> steps{nodes * machine_.node_cores(), nodes * machine_.node_pus(),
                        machine_.cores(), machine_.pus(), most};
    for (int step = least; step <= most; step *= factor) steps.insert(step);
    std::erase_if(steps, [&](int step) { return step < 2 || step > most; });
    return steps;
  }

  void climb_threads() {
    std::set<int> steps = ladder(2, 2, 1);
    steps.insert(first_spanning());
    std::vector<Shape> shapes;
    for (const int threads : steps) {
      if (threads > 1 && threads <= most_workers_) shapes.push_back({1, threads});
    }
    climb(shapes);
  }

  void climb_processes() {
    std::vector<Shape> shapes;
    const int nodes = std::min(machine_.nodes(), most_workers_);
    for (const int processes : ladder(nodes, 4, nodes)) {
      if (processes <= most_processes_) shapes.push_back({processes, 1});
    }
    climb(shapes);
    if (experiment_.keeps_results()) result_seconds_ = experiment_.result_seconds();
  }

  // Runs the shapes upwards until the budget forbids the next, starting it alone takes longer than
  // the best that is known, or throughput has collapsed.
  void climb(const std::vector<Shape>& shapes) {
    double best = 1, slowdown = 1;
    Shape last;
    for (const Shape& shape : shapes) {
      if (start_.seconds(shape) > best_known()) return;
      const double doublings = std::log2(double(shape.workers()) / last.workers());
      if (!run(shape, slowdown * (1 + kGrowth * doublings))) return;
      slowdown = sampler_.points().back().slowdown;
      const double throughput = shape.workers() / slowdown;
      if (throughput < kCollapsed * best) return;
      best = std::max(best, throughput);
      last = shape;
    }
  }

  bool run(Shape shape, double expected_slowdown) {
    const ShapeLoad& load = machine_.load(shape);
    const bool alike = load.size() == 1 && load.front().groups.size() == 1;
    return sampler_.measure(shape, expected_slowdown, start_.seconds(shape), alike);
  }

  // Processes that do not slow each other at all against the best that is known.
  bool processes_may_pay() const {
    if (most_processes_ == 1) return false;
    const double ideal = std::max(work_seconds() / most_used(), sampler_.task_seconds());
    return ideal + start_.seconds({2, 1}) + results({2, 1}) < best_known();
  }

  // Two and eight processes, unless the second question costs more than it may bring.
  void learn_process_costs() {
    constexpr int kMany = 8;
    if (experiment_.begun() != nullptr && !sampler_.affords(start_.seconds({2, 1}))) {
      most_processes_ = 1;
      return;
    }
    const double two = sampler_.start_seconds({2, 1});
    result_seconds_ = experiment_.result_seconds();
    const double forks = fork_depth(2, ForkOrder::tree);
    start_.per_level = two / forks;
    if (kMany > most_processes_ || start_.seconds({kMany, 1}) > best_known()) return;
    const double levels = fork_depth(kMany, ForkOrder::tree);
    const double many = sampler_.start_seconds({kMany, 1});
    // two = per_level forks + per_process 2, many = per_level levels + per_process kMany.
    const double determinant = forks * kMany - 2 * levels;
    start_.per_level = std::max(0.0, (two * kMany - many * 2) / determinant);
    start_.per_process = std::max(0.0, (many * forks - two * levels) / determinant);
    if (start_.per_process == 0) start_.per_level = many / levels;
  }

  void fit() {
    const std::vector<SlowdownPoint>& points = sampler_.points();
    if (points.empty()) return;
    model_ = fit_speed(machine_, points, sampler_.waits());
    double squares = 0;
    for (const SlowdownPoint& point : points) {
      const double off = std::log(point.slowdown / predict_slowdown(model_, machine_, point));
      squares += off * off;
    }
    misfit_ = std::sqrt(squares / double(points.size()));
  }

  Prediction predict(Shape shape) {
    std::vector<WorkerClass> workers = model_.workers(machine_.load(shape), shape.threads);
    // Where the shape was run, what the laws leave over counts too.
    double off = 1;
    for (const SlowdownPoint& point : sampler_.points()) {
      if (point.shape == shape) off = predict_slowdown(model_, machine_, point) / point.slowdown;
    }
    for (WorkerClass& w : workers) w.rate *= off / sampler_.task_seconds();
    const double work = expected_makespan(double(sampler_.left()), workers, sampler_.variation());
    const double around = start_.seconds(shape) + results(shape);
    // The sample differs from the work as one run from an equal one, and so does the work.
    const double scatter = std::sqrt(2.0) * sampler_.scatter().value_or(0);
    const double shape_error = sampler_.measured(shape) ? 0 : kUnsureShape;
    const double error = std::hypot(std::hypot(sampler_.task_error(), misfit_), scatter,
                                    std::hypot(shape_error, kUnsureSample));
    const double seconds = work + around;
    // Times have a least and no most: what is added above is a factor, as what is left out below.
    const double factor =
        std::exp(kDeviations * std::hypot(work * error, around * kUnsureStart) / seconds);
    return {.shape = shape, .seconds = seconds, .low = seconds / factor, .high = seconds * factor};
  }

  bool known(const Prediction& prediction) const {
    return !sampler_.disturbed() && sampler_.scatter() &&
           prediction.high <= kWidestInterval * prediction.low;
  }

  // Predicts the candidates, then goes downhill from the best.
  void weigh() {
    fit();
    std::map<Shape, Prediction> weighed;
    const auto add = [&](const std::vector<Shape>& shapes) {
      for (const Shape& shape : shapes) {
        if (!weighed.contains(shape)) weighed.emplace(shape, predict(shape));
      }
    };
    const auto least = [&] {
      return std::ranges::min_element(
                 weighed,
                 [](const auto& a, const auto& b) { return a.second.seconds < b.second.seconds; })
          ->first;
    };
    add(candidate_shapes(machine_, sampler_.left(), most_workers_, most_processes_));
    for (Shape best = least(), before{0, 0}; best != before;) {
      before = best;
      add(shapes_near(best, most_workers_, most_processes_));
      best = least();
    }
    weighed_.clear();
    for (const auto& [shape, prediction] : weighed) weighed_.push_back(prediction);
    std::ranges::stable_sort(weighed_,
                             [](const auto& x, const auto& y) { return x.seconds < y.seconds; });
  }

  // Runs the best shape if it was only predicted. Returns false if it was run before or the budget
  // forbids it.
  bool check_best() {
    const Shape best = weighed_.front().shape;
    if (best == Shape{} || sampler_.measured(best)) return false;
    const SlowdownPoint unknown{.shape = best, .one_round = false};
    return run(best, predict_slowdown(model_, machine_, unknown) * (1 + kGrowth));
  }

  Choice result() {
    Choice choice;
    choice.shape = weighed_.front().shape;
    if (known(weighed_.front())) choice.predicted = weighed_.front();
    choice.alternatives = std::move(weighed_);
    choice.in_process = model_.in_process;
    choice.of_machine = model_.of_node;
    choice.task_seconds = sampler_.task_seconds();
    if (choice.shape.processes > 1) choice.fork_seconds = start_.seconds(choice.shape);
    choice.sample_seconds = sampler_.spent();
    choice.reason = why(choice, {.start = start_,
                                 .results = double(sampler_.left()) * result_seconds_,
                                 .work = work_seconds(),
                                 .threads = std::min(machine_.node_cores(), most_workers_)});
    if (!choice.predicted) {
      choice.reason +=
          ". How long it will take is not known: others use the machine, or equal runs of the "
          "sample differed too much";
    }
    return choice;
  }

  Machine& machine_;
  std::size_t n_;
  Experiment& experiment_;
  Sampler sampler_;
  int most_workers_, most_processes_;
  StartCost start_;
  double result_seconds_ = 0;
  SpeedModel model_;
  double misfit_ = 0;
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

double most_sample_seconds(const BegunWork& begun, std::size_t left, const Limits& limits) {
  constexpr double kMostOfRest = 0.08;
  return std::min(limits.most_sample_seconds, kMostOfRest * begun.seconds_each * double(left));
}

// PUs are idle while few workers run, and processes are forked.
bool sample_pays(const BegunWork& begun, std::size_t left, int most_processes,
                 const Limits& limits) {
  constexpr double kBaseTasks = 2;
  constexpr std::size_t kFewestTasks = 16;  // for each worker
  if (left < kFewestTasks * std::size_t(begun.workers)) return false;
  const double workers = begun.workers;
  const double doublings = std::max(1.0, std::log2(workers));
  const double idle = kBaseTasks * (1 - 1 / workers) + 1.5 * (doublings - 1);
  const double teams = most_processes == 1 ? 0 : 2 + doublings / 2;
  return idle * begun.seconds_each * workers + 2 * teams * begun.fork_seconds <=
         most_sample_seconds(begun, left, limits);
}

Choice choose_shape(const core::Topology& topology, std::size_t n, Experiment& experiment,
                    const Limits& limits) {
  Machine machine(topology);
  return choose_on(machine, n, experiment, limits);
}

}  // namespace tabane::team
