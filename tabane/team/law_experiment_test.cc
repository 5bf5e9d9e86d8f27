#include "tabane/team/law_experiment_test.h"

#include <algorithm>
#include <map>
#include <queue>

#include "tabane/team/fork.h"

namespace tabane::team {
namespace {

constexpr std::size_t kPool = 1 << 16;
constexpr std::size_t kScheduled = 40;

// Gamma-distributed sizes of mean 1, drawn once for each variation.
const std::vector<double>& sizes_of(double variation) {
  static std::map<double, std::vector<double>> pools;
  std::vector<double>& pool = pools[variation];
  if (pool.empty()) {
    if (variation == 0) return pool = std::vector<double>(kPool, 1.0);
    std::mt19937_64 random(7);
    const double square = variation * variation;
    std::gamma_distribution<double> gamma(1 / square, square);
    for (std::size_t i = 0; i < kPool; ++i) pool.push_back(gamma(random));
  }
  return pool;
}

using Event = std::pair<double, std::size_t>;  // when it is free, which worker

struct Schedule {
  double end = 0;
  std::vector<double> task_seconds;
};

Schedule schedule(std::size_t n, const std::vector<double>& rates, const std::vector<double>& sizes,
                  std::size_t first, bool keep) {
  std::priority_queue<Event, std::vector<Event>, std::greater<>> free;
  for (std::size_t w = 0; w < rates.size(); ++w) free.emplace(0.0, w);
  Schedule done;
  for (std::size_t i = 0; i < n; ++i) {
    const auto [time, worker] = free.top();
    free.pop();
    const double takes = sizes[(first + i) % kPool] / rates[worker];
    done.end = std::max(done.end, time + takes);
    if (keep) done.task_seconds.push_back(takes);
    free.emplace(time + takes, worker);
  }
  return done;
}

std::vector<double> shuffled_rates(const std::vector<WorkerClass>& workers, std::uint64_t seed) {
  std::vector<double> rates;
  for (const WorkerClass& w : workers) rates.insert(rates.end(), std::size_t(w.count), w.rate);
  std::mt19937_64 random(seed);
  std::shuffle(rates.begin(), rates.end(), random);
  return rates;
}

double total_rate(const std::vector<WorkerClass>& workers) {
  double rate = 0;
  for (const WorkerClass& w : workers) rate += w.rate * w.count;
  return rate;
}

}  // namespace

double simulated_makespan(std::size_t n, const std::vector<WorkerClass>& workers, double variation,
                          std::uint64_t seed) {
  const std::vector<double> rates = shuffled_rates(workers, seed);
  // Far from the end only the mean counts.
  const std::size_t simulated = variation > 0 ? std::min(n, 12 * rates.size()) : n;
  const int draws = variation > 0 ? static_cast<int>(4 + 1500 / (simulated + 1)) : 1;
  double sum = 0;
  for (int draw = 0; draw < draws; ++draw) {
    sum += schedule(simulated, rates, sizes_of(variation), static_cast<std::size_t>(draw) * 7919,
                    false)
               .end;
  }
  return sum / draws + double(n - simulated) / total_rate(workers);
}

std::vector<WorkerClass> LawExperiment::workers(Shape shape) {
  const double more = shape.threads - 1;
  const double in_process =
      1 / (1 + law_.contention * more + law_.coherency * more * shape.threads);
  std::vector<WorkerClass> classes;
  for (const NodeLoad& node : machine_.load(shape)) {
    double cores = 0;
    for (const WorkerGroup& group : node.groups) {
      cores += double(group.count) / (group.on_pu * group.pus_of_core);
    }
    const double clock = 1 - law_.clock_drop * cores / machine_.node_cores();
    const std::size_t first = classes.size();
    double wanted = 0;
    for (const WorkerGroup& group : node.groups) {
      const double core =
          group.pus_of_core > 1 && !law_.waiting ? law_.core_yield / group.pus_of_core : 1;
      const double remote =
          machine_.nodes() > 1 ? (group.nodes_spanned - 1.0) / (machine_.nodes() - 1.0) : 0;
      const double rate = clock * core / (law_.waiting ? 1 : group.on_pu) * in_process /
                          (1 + law_.node_penalty * remote);
      wanted += rate * group.count;
      classes.push_back({.rate = rate / law_.task_seconds,
                         .count = static_cast<double>(group.count) * node.nodes});
    }
    for (std::size_t i = first; i < classes.size(); ++i) {
      classes[i].rate *= std::min(1.0, law_.ceiling / wanted);
    }
  }
  return classes;
}

double LawExperiment::noisy(double seconds) {
  if (law_.disturbed > 0 && std::bernoulli_distribution(law_.disturbed)(random_)) seconds *= 2;
  if (law_.noise == 0) return seconds;
  std::normal_distribution<double> normal(0, law_.noise);
  return seconds * std::max(0.5, 1 + normal(random_));
}

void LawExperiment::begin(int threads) {
  keeps_ = true;
  const double rate = total_rate(workers({1, threads}));
  begun_ = BegunWork{.seconds_each = 1 / rate,
                     .workers = threads,
                     .fork_seconds = law_.fork_least + law_.gib * law_.fork_seconds_per_gib};
}

SampleRun LawExperiment::run(Shape shape, std::size_t count) {
  ++runs_;
  if (keeps_) done_ += count;
  const std::vector<WorkerClass> classes = workers(shape);
  const std::vector<double> rates = shuffled_rates(classes, 3);
  SampleRun trial;
  if (count >= 32 * rates.size()) {
    const double rate = total_rate(classes);
    trial.seconds = makespan(count, classes);
    for (std::size_t i = 0; i < count; ++i) {
      trial.task_seconds.push_back(sizes_of(law_.variation)[i % kPool] * double(rates.size()) /
                                   rate);
    }
  } else {
    Schedule done = schedule(count, rates, sizes_of(law_.variation), 0, true);
    trial.seconds = done.end;
    trial.task_seconds = std::move(done.task_seconds);
  }
  const double factor = noisy(1);
  trial.seconds *= factor;
  for (double& seconds : trial.task_seconds) seconds *= factor;
  asked_seconds_ += trial.seconds + true_start(shape);
  trial.total_seconds =
      trial.seconds + true_start(shape) + (shape.processes == 1 ? law_.sample_fork_seconds : 0);
  trial.cpu_share = law_.waiting ? 0.01 : 1;
  if (begun_) {
    wasted_seconds_ += std::max(0.0, trial.total_seconds - begun_->seconds_each * double(count));
  }
  return trial;
}

double LawExperiment::true_start(Shape shape) const {
  double sum = shape.threads > 1 ? law_.thread_start * shape.threads : 0;
  if (shape.processes > 1) {
    const double fork = law_.fork_least + law_.gib * law_.fork_seconds_per_gib;
    const int levels = fork_depth(shape.processes, ForkOrder::tree);
    sum += fork * (levels + law_.teardown_share * shape.processes);
  }
  return sum;
}

double LawExperiment::start_seconds(Shape shape) {
  const double seconds = noisy(true_start(shape));
  asked_seconds_ += seconds;
  wasted_seconds_ += seconds;
  return seconds;
}

double LawExperiment::result_seconds() { return noisy(law_.result_seconds); }

double LawExperiment::outside_tasks(Shape shape) const {
  return true_start(shape) + (shape.processes > 1 ? double(law_.n) * law_.result_seconds : 0);
}

// Without variation the formula is exact; imbalance_test holds it against the simulation.
double LawExperiment::makespan(std::size_t n, const std::vector<WorkerClass>& at_work) const {
  return law_.variation > 0 ? simulated_makespan(n, at_work, law_.variation)
                            : expected_makespan(double(n), at_work, 0);
}

double LawExperiment::true_seconds(Shape shape) {
  return outside_tasks(shape) + makespan(law_.n, workers(shape));
}

Prediction LawExperiment::true_optimum(int most_workers) {
  std::vector<Prediction> estimates;
  for (int p = 1; p <= most_workers; ++p) {
    for (int t = 1; p * t <= most_workers; ++t) {
      const Shape shape{p, t};
      estimates.push_back(
          {.shape = shape,
           .seconds = outside_tasks(shape) +
                      expected_makespan(double(law_.n), workers(shape), law_.variation)});
    }
  }
  std::sort(estimates.begin(), estimates.end(),
            [](const Prediction& a, const Prediction& b) { return a.seconds < b.seconds; });
  if (law_.variation == 0) return estimates.front();
  if (estimates.size() > kScheduled) estimates.resize(kScheduled);
  for (Prediction& estimate : estimates) estimate.seconds = true_seconds(estimate.shape);
  return *std::min_element(
      estimates.begin(), estimates.end(),
      [](const Prediction& a, const Prediction& b) { return a.seconds < b.seconds; });
}

}  // namespace tabane::team
