#include "tabane/team/team_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tabane/team/fork_order.h"

namespace tabane::team {
namespace {

constexpr std::size_t kParameters = 7;
using Parameters = std::array<double, kParameters>;

// The search runs over square roots, so that 0 is an inner point and nothing gets negative.
SpeedModel model_of(const Parameters& x) {
  SpeedModel model;
  model.in_process.contention = x[0] * x[0];
  model.in_process.coherency = x[1] * x[1];
  model.node_penalty = x[2] * x[2];
  model.core_yield = std::clamp(x[3], 0.5, 2.0);
  model.of_node.contention = x[4] * x[4];
  const double inverse = std::abs(x[5]);
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

// Minimises by Nelder and Mead's simplex, begun anew twice from where it ended, for a simplex can
// collapse at the kink of the ceiling.
template <class F>
Parameters minimise(F error, Parameters start) {
  constexpr Parameters kStep{0.1, 0.02, 0.3, 0.1, 0.05, 0.02, 0.01};
  std::array<Parameters, kParameters + 1> simplex;
  std::array<double, kParameters + 1> height;
  for (int round = 0; round < 3; ++round) {
    simplex.fill(start);
    for (std::size_t k = 0; k < kParameters; ++k) simplex[k + 1][k] += kStep[k];
    for (std::size_t i = 0; i < simplex.size(); ++i) height[i] = error(simplex[i]);
    descend(error, simplex, height, 250);
    const auto best = std::min_element(height.begin(), height.end()) - height.begin();
    start = simplex[static_cast<std::size_t>(best)];
  }
  return start;
}

double square(double x) { return x * x; }

// The square of what is near, so that a point that something disturbed does not bend the rest.
double robust_square(double off) { return off < 4 ? square(off) : 8 * off - 16; }

// The most that a node with independent processes was seen to do.
double greatest_node_speed(Machine& machine, std::span<const SlowdownPoint> points) {
  double most = 0;
  for (const SlowdownPoint& point : points) {
    const double nodes = std::min(machine.nodes(), point.shape.workers());
    most = std::max(most, point.shape.workers() / point.slowdown / nodes);
  }
  return most;
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
      const double core =
          group.pus_of_core > 1 ? 1 + (core_yield - 1) * std::log2(group.pus_of_core) : 1;
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

double predict_slowdown(const SpeedModel& model, const ShapeLoad& load, int threads,
                        bool one_round) {
  double count = 0, rate = 0, time = 0;
  for (const WorkerClass& w : model.workers(load, threads)) {
    count += w.count;
    rate += w.count * w.rate;
    time += w.count / w.rate;
  }
  return one_round ? time / count : count / rate;
}

SpeedModel fit_speed(Machine& machine, std::span<const SlowdownPoint> points, double base_error,
                     double* base, const SpeedModel* before) {
  std::vector<SpeedupPoint> in_one_node;
  for (const SlowdownPoint& point : points) {
    if (point.shape.processes > 1 || point.shape.threads > machine.node_cores()) continue;
    in_one_node.push_back({.workers = static_cast<double>(point.shape.threads),
                           .speedup = point.shape.threads / point.slowdown});
  }
  const ScalabilityLaw rough = fit_scalability(in_one_node);
  const double most = std::max(1.0, greatest_node_speed(machine, points));
  const auto error = [&](const Parameters& x) {
    const SpeedModel model = model_of(x);
    // Weak beliefs decide only what no point tells.
    double sum = robust_square(std::abs(x[6]) / base_error) + 0.1 * square((x[3] - 1.2) / 0.2) +
                 0.01 * (square(x[0]) + square(x[1] * 10) + square(x[2]) + square(x[4])) +
                 0.5 * square(x[5] * most);
    for (const SlowdownPoint& point : points) {
      const double predicted =
          predict_slowdown(model, machine.load(point.shape), point.shape.threads, point.one_round);
      const double off = std::abs(std::log(predicted / point.slowdown) + x[6]) / point.error;
      sum += robust_square(off);
    }
    return sum;
  };
  std::vector<Parameters> starts;
  if (before) {
    starts.push_back({std::sqrt(before->in_process.contention),
                      std::sqrt(before->in_process.coherency), std::sqrt(before->node_penalty),
                      before->core_yield, std::sqrt(before->of_node.contention),
                      1 / before->of_node.ceiling, std::log(*base)});
  } else {
    for (const double inverse_ceiling : {0.0, 1 / most}) {
      for (const double share : {1.0, 0.0}) {
        starts.push_back({std::sqrt(share * rough.contention), std::sqrt(share * rough.coherency),
                          0, 1.2, std::sqrt((1 - share) * rough.contention), inverse_ceiling, 0});
      }
    }
  }
  Parameters best{};
  double least = std::numeric_limits<double>::infinity();
  for (const Parameters& start : starts) {
    const Parameters found = minimise(error, start);
    if (const double height = error(found); height < least) {
      least = height;
      best = found;
    }
  }
  *base = std::exp(best[6]);
  return model_of(best);
}

}  // namespace tabane::team
