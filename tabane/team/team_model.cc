#include "tabane/team/team_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "tabane/team/fork.h"

namespace tabane::team {
namespace {

// exp(-Euler's constant): the mean maximum of W samples is where 0.5615 / W is above it.
constexpr double kMeanOfMaximum = 0.5614594835668851;

double normal_above(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }

// P(X > x) of a gamma distribution with this shape and scale. source: Wilson and Hilferty, 1931.
double gamma_above(double x, double shape, double scale) {
  const double third = std::cbrt(x / (shape * scale));
  return normal_above((third - 1 + 1 / (9 * shape)) * 3 * std::sqrt(shape));
}

// Solves above(x) = p for a falling function, to nine digits: by false position, since the
// logarithm of a tail is nearly a line. An end that stays twice counts half (Illinois).
template <class F>
double solve_falling(F above, double p) {
  const auto off = [&](double x) { return std::log(std::max(above(x), 1e-300) / p); };
  double low = 0, high = 1, off_low = off(low), off_high = off(high);
  for (; off_high > 0 && high < 1e6; off_high = off(high)) {
    low = std::exchange(high, 2 * high);
    off_low = off_high;
  }
  if (off_high > 0) return high;
  double x = high;
  for (int i = 0, stayed = 0; i < 60 && high - low > 1e-9 * high; ++i) {
    x = (low * off_high - high * off_low) / (off_high - off_low);
    const double here = off(x);
    if (std::abs(here) < 1e-10) break;
    if (here > 0) {
      low = x, off_low = here;
      if (stayed == 1) off_high /= 2;
      stayed = 1;
    } else {
      high = x, off_high = here;
      if (stayed == -1) off_low /= 2;
      stayed = -1;
    }
  }
  return x;
}

// Expected largest of `count` task times of mean 1.
double largest_task(double count, double variation) {
  if (variation < 1e-3 || count <= 1) return 1;
  const double shape = 1 / (variation * variation);
  const auto above = [&](double x) { return gamma_above(x, shape, 1 / shape); };
  return std::max(1.0, solve_falling(above, kMeanOfMaximum / count));
}

// Expected seconds until all have ended what they are doing at a random moment.
double last_rest(std::span<const WorkerClass> workers, double count, double slowest,
                 double variation) {
  const double square = variation * variation;
  if (count <= 1) return (1 + square) / 2 / slowest;
  if (variation < 1e-3) return count / (count + 1) / slowest;
  const double shape = 1 / square;
  const auto above = [&](double x) {
    return gamma_above(x, shape + 1, square) - x * gamma_above(x, shape, square);
  };
  const auto any_above = [&](double x) {
    double sum = 0;
    for (const WorkerClass& w : workers) sum += w.count * above(x * w.rate / slowest);
    return sum;
  };
  return std::max((1 + square) / 2, solve_falling(any_above, kMeanOfMaximum)) / slowest;
}

// Greedy scheduling of equal tasks: the last one begins at the first time by which n have begun.
double equal_tasks(double n, std::span<const WorkerClass> workers, double rate) {
  const auto begun = [&](double time) {
    double sum = 0;
    for (const WorkerClass& w : workers) sum += w.count * (std::floor(time * w.rate + 1e-9) + 1);
    return sum;
  };
  double high = 0;
  if (begun(0) < n) {
    double low = 0;
    high = n / rate;
    for (int i = 0; i < 48; ++i) {
      const double middle = (low + high) / 2;
      (begun(middle) >= n ? high : low) = middle;
    }
  }
  double end = 0;
  for (const WorkerClass& w : workers) {
    end = std::max(end, (std::floor(high * w.rate + 1e-9) + 1) / w.rate);
  }
  return end;
}

}  // namespace

double expected_makespan(double n, std::span<const WorkerClass> workers, double variation) {
  double rate = 0, count = 0, slowest = std::numeric_limits<double>::infinity();
  for (const WorkerClass& w : workers) {
    rate += w.count * w.rate;
    count += w.count;
    slowest = std::min(slowest, w.rate);
  }
  const double rounds = n / count;
  const double square = variation * variation;
  // Phases that are still together after `rounds` rounds: the first harmonic of their spread.
  const double together = std::exp(-2 * M_PI * M_PI * square * rounds);
  double equal = 0;
  if (together > 1e-3 && rounds < 1e4) {
    const double last = n - count * (std::ceil(rounds) - 1);
    equal = equal_tasks(n, workers, rate) + (largest_task(last, variation) - 1) / slowest;
  }
  if (rounds <= 1 || (variation < 1e-3 && equal > 0)) {
    return equal > 0 ? equal : largest_task(n, variation) / slowest;
  }
  const double begun = std::max(0.0, n - count * (1 + square) / 2);
  const double drifted =
      std::max(n / rate, begun / rate + last_rest(workers, count, slowest, variation));
  return equal > 0 ? together * equal + (1 - together) * drifted : drifted;
}

namespace {

// Throughput of a core with two workers on two PUs. Fitting it gains nothing
// (tabane/team/chooser.md).
constexpr double kCoreYield = 1.2;
constexpr double kNoise = 0.05;  // relative, of a point

constexpr std::size_t kParameters = 5;
using Parameters = std::array<double, kParameters>;

// The search runs over square roots, so that 0 is an inner point and nothing gets negative.
SpeedModel model_of(const Parameters& x) {
  SpeedModel model{.in_process = {.contention = x[0] * x[0], .coherency = x[1] * x[1]},
                   .of_node = {.contention = x[2] * x[2], .coherency = 0},
                   .node_penalty = x[3] * x[3]};
  const double inverse = std::abs(x[4]);
  if (inverse > 1e-6) model.of_node.ceiling = 1 / inverse;
  return model;
}

template <class F>
void descend(F& error, std::array<Parameters, kParameters + 1>& simplex,
             std::array<double, kParameters + 1>& height, int steps) {
  for (int step = 0; step < steps; ++step) {
    std::size_t best = 0, worst = 0;
    for (std::size_t i = 1; i < simplex.size(); ++i) {
      if (height[i] < height[best]) best = i;
      if (height[i] > height[worst]) worst = i;
    }
    if (height[worst] - height[best] < 1e-4 * (0.1 + height[best])) return;
    Parameters centre{};
    double second = height[best];
    for (std::size_t i = 0; i < simplex.size(); ++i) {
      if (i == worst) continue;
      second = std::max(second, height[i]);
      for (std::size_t k = 0; k < kParameters; ++k) centre[k] += simplex[i][k] / kParameters;
    }
    const auto at = [&](double distance) {
      Parameters x;
      for (std::size_t k = 0; k < kParameters; ++k) {
        x[k] = centre[k] + distance * (simplex[worst][k] - centre[k]);
      }
      return x;
    };
    const auto accept = [&](const Parameters& x, double h) {
      simplex[worst] = x;
      height[worst] = h;
    };
    const Parameters reflected = at(-1);
    const double h = error(reflected);
    if (h < height[best]) {
      const Parameters expanded = at(-2);
      const double further = error(expanded);
      further < h ? accept(expanded, further) : accept(reflected, h);
    } else if (h < second) {
      accept(reflected, h);
    } else {
      const Parameters inside = at(h < height[worst] ? -0.5 : 0.5);
      const double nearer = error(inside);
      if (nearer < std::min(h, height[worst])) {
        accept(inside, nearer);
      } else {
        for (std::size_t i = 0; i < simplex.size(); ++i) {
          if (i == best) continue;
          for (std::size_t k = 0; k < kParameters; ++k) {
            simplex[i][k] = (simplex[i][k] + simplex[best][k]) / 2;
          }
          height[i] = error(simplex[i]);
        }
      }
    }
  }
}

// Minimises by Nelder and Mead's simplex.
template <class F>
Parameters minimise(F error, Parameters start) {
  constexpr Parameters kStep{0.1, 0.02, 0.05, 0.3, 0.02};
  std::array<Parameters, kParameters + 1> simplex;
  std::array<double, kParameters + 1> height;
  simplex.fill(start);
  for (std::size_t k = 0; k < kParameters; ++k) simplex[k + 1][k] += kStep[k];
  for (std::size_t i = 0; i < simplex.size(); ++i) height[i] = error(simplex[i]);
  descend(error, simplex, height, 250);
  return simplex[static_cast<std::size_t>(std::ranges::min_element(height) - height.begin())];
}

double square(double x) { return x * x; }

// The most that a node with independent processes was seen to do.
double greatest_node_speed(const Machine& machine, std::span<const SlowdownPoint> points) {
  double most = 1;
  for (const SlowdownPoint& point : points) {
    const double nodes = std::min(machine.nodes(), point.shape.workers());
    most = std::max(most, point.shape.workers() / point.slowdown / nodes);
  }
  return most;
}

// The law of the threads on one node, as if they shared nothing but their process.
core::ScalabilityLaw law_in_one_node(const Machine& machine,
                                     std::span<const SlowdownPoint> points) {
  std::vector<core::TimePoint> in_one_node;
  for (const SlowdownPoint& point : points) {
    if (point.shape.processes > 1 || point.shape.threads > machine.node_cores()) continue;
    in_one_node.push_back({.workers = static_cast<double>(point.shape.threads),
                           .seconds = point.slowdown / point.shape.threads});
  }
  return core::fit_scalability(in_one_node);
}

}  // namespace

double StartCost::seconds(Shape shape) const {
  double sum = shape.threads > 1 ? per_thread * shape.threads : 0;
  if (shape.processes > 1) {
    sum += per_level * fork_depth(shape.processes, ForkOrder::tree) + per_process * shape.processes;
  }
  return sum;
}

std::vector<WorkerClass> SpeedModel::workers(const ShapeLoad& load, int threads) const {
  const double efficiency = in_process.efficiency(threads);
  std::vector<WorkerClass> classes;
  for (const NodeLoad& node : load) {
    const std::size_t first = classes.size();
    double wanted = 0;
    for (const WorkerGroup& group : node.groups) {
      const double core = waiting ? group.pus_of_core * group.on_pu
                          : group.pus_of_core > 1
                              ? 1 + (kCoreYield - 1) * std::log2(group.pus_of_core)
                              : 1;
      const double spanned = group.nodes_spanned;
      const double rate = core / group.pus_of_core / group.on_pu * efficiency /
                          (1 + node_penalty * (spanned - 1) / spanned);
      wanted += rate * group.count;
      classes.push_back({.rate = rate, .count = static_cast<double>(group.count) * node.nodes});
    }
    const double given = of_node.efficiency(wanted);
    for (std::size_t i = first; i < classes.size(); ++i) classes[i].rate *= given;
  }
  return classes;
}

double predict_slowdown(const SpeedModel& model, Machine& machine, const SlowdownPoint& point) {
  double count = 0, rate = 0, time = 0;
  for (const WorkerClass& w : model.workers(machine.load(point.shape), point.shape.threads)) {
    count += w.count;
    rate += w.count * w.rate;
    time += w.count / w.rate;
  }
  return point.one_round ? time / count : count / rate;
}

SpeedModel fit_speed(Machine& machine, std::span<const SlowdownPoint> points, bool waiting) {
  const double most = greatest_node_speed(machine, points);
  const auto error = [&](const Parameters& x) {
    SpeedModel model = model_of(x);
    model.waiting = waiting;
    // Weak beliefs decide only what no point shows.
    double sum = 0.01 * (square(x[0]) + square(x[1] * 10) + square(x[2]) + square(x[3])) +
                 0.5 * square(x[4] * most);
    for (const SlowdownPoint& point : points) {
      const double predicted = predict_slowdown(model, machine, point);
      sum += square(std::log(predicted / point.slowdown) / kNoise);
    }
    return sum;
  };
  // The search ends in the valley where it begins: threads that share much, or a node with a
  // ceiling.
  const core::ScalabilityLaw law = law_in_one_node(machine, points);
  const double contention = std::sqrt(law.contention);
  const Parameters threads = minimise(error, {contention, std::sqrt(law.coherency), 0, 0, 0});
  const Parameters node = minimise(error, {0, 0, contention, 0, 1 / most});
  SpeedModel model = model_of(error(threads) <= error(node) ? threads : node);
  model.waiting = waiting;
  return model;
}

}  // namespace tabane::team
