// The laws that times follow when memory is taken away. A law's unknowns are tried on a grid; each
// hypothesis weighs exp(-cost / 2), with the sum of its squared errors as cost. Hypotheses with and
// without a term are families: the one with the greatest mean weight is chosen, so that a term has
// to explain more than its freedom does, and an unknown is the mean over its family.
#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "tabane/tools/explain/conclude.h"

namespace tabane::lab::explain {
namespace {

constexpr double kChaseFromMemory = 8;  // times a load from the shared cache, where not measured
constexpr double kLeastOver = 2;        // the same, at least
constexpr double kLeastEffect = 1.08;   // of thieves of the cache: any thief costs a little
constexpr double kMostOver = 1.5;       // of that ratio, what a command may lose
constexpr double kCalibration = 0.1;    // relative error of what thieves take
constexpr double kUnsure = 0.1;         // of its time, for the same reason
constexpr double kOne = 20, kTwo = 40;  // how many times as likely as none such terms have to be
constexpr double kFar = 50;             // of a cost, above which a hypothesis weighs nothing
constexpr double kStep = 0.02;          // of shares
constexpr double kRatioStep = 1.04;     // of knees, sizes and losses

struct Hypothesis {
  std::array<double, 4> unknowns;
  double cost;
};
struct Family {
  double odds = 1;  // to be chosen: how many times as likely as one without a term it has to be
  std::vector<Hypothesis> all = {};
};

// The interval is over all families, which weigh the same before: what is not likely enough to be
// chosen may be so all the same. It holds the value in any case.
Estimate estimate(std::span<const Family> families, std::size_t unknown) {
  double least = HUGE_VAL, likeliest = 0, all = 0, below = 0;
  for (const Family& family : families)
    for (const Hypothesis& one : family.all) least = std::min(least, one.cost);
  Estimate found;
  std::vector<std::pair<double, double>> values;  // with weights
  for (const Family& family : families) {
    double sum = 0, weights = 0;
    for (const auto& [unknowns, cost] : family.all) {
      if (cost > least + kFar) continue;
      const double weight = std::exp((least - cost) / 2) / double(family.all.size());
      values.emplace_back(unknowns[unknown], weight);
      sum += weight * unknowns[unknown], weights += weight;
    }
    all += weights;
    if (weights / family.odds > likeliest) {
      likeliest = weights / family.odds;
      found.value = sum / weights;
    }
  }
  std::ranges::sort(values);
  found.interval = {found.value, found.value};
  for (const auto& [value, weight] : values) {
    if ((below += weight) >= 0.025 * all && value < found.interval.low) found.interval.low = value;
    if (below - weight < 0.975 * all && value > found.interval.high) found.interval.high = value;
  }
  return found;
}

// What a level showed: the mean of its runs. What its thieves took is the same in all of them, so
// that error does not become less with more runs.
struct Seen {
  Seen(const Level& level, const Noise& noise)
      : slowdown(core::mean(level.slowdowns)),
        error(std::hypot(noise.deviation * noise.half() / 1.96 * slowdown /
                             std::sqrt(double(level.slowdowns.size())),
                         kCalibration * (slowdown - 1))) {}
  double squared_error(double expected) const { return std::pow((slowdown - expected) / error, 2); }

  double slowdown, error;
};

// Two shapes: each load is equally likely anywhere in the working set, so what does not fit is
// lost; or it is run through in order, so all is lost when a little does not fit.
double lost(double left, double bytes, bool in_order) {
  if (in_order) return left < bytes ? 1 : 0;
  return std::clamp(1 - left / bytes, 0.0, 1.0);
}

}  // namespace

double memory_over_cache(const MachineLimits& machine) {
  return std::max(kLeastOver, machine.memory_over_cache.value_or(kChaseFromMemory));
}

std::optional<WorkingSet> working_set(const Trial& cache, const MachineLimits& machine,
                                      const Noise& noise) {
  if (!machine.cache) return std::nullopt;
  std::vector<std::pair<double, Seen>> seen;  // with bytes left
  double least = *machine.cache, effect = 1;  // effect: what all runs of a level show
  for (const Level& level : cache.levels) {
    if (!tells(Resource::cache, level)) continue;
    effect = std::max(effect, std::ranges::min(level.slowdowns));
    const double left = std::max(1.0, *machine.cache - level.taken);
    seen.emplace_back(left, Seen(level, noise));
    least = std::min(least, left);
  }
  // Without a loss, and with one.
  Family families[] = {{}, {.odds = effect < kLeastEffect ? HUGE_VAL : kOne}};
  const auto add = [&](Family& family, double bytes, double loss, bool in_order) {
    double cost = 0;
    for (const auto& [left, one] : seen)
      cost += one.squared_error(1 + loss * lost(left, bytes, in_order));
    family.all.push_back({{std::log(bytes), std::log(1 + loss), 0, 0}, cost});
  };
  add(families[0], 1, 0, true);
  const double most = kMostOver * (memory_over_cache(machine) - 1);
  for (const bool in_order : {false, true})
    for (double bytes = least * kRatioStep; bytes < 2 * *machine.cache; bytes *= kRatioStep)
      for (double loss = kLeastEffect - 1; loss < most; loss *= kRatioStep)
        add(families[1], bytes, loss, in_order);
  const auto of = [&](std::span<const Family> some, std::size_t unknown) {
    const auto [value, interval] = estimate(some, unknown);
    return Estimate{std::exp(value),
                    {std::exp(interval.low) / kRatioStep, std::exp(interval.high) * kRatioStep}};
  };
  return WorkingSet{of(std::span(families).last(1), 0), of(families, 1)};
}

BandwidthLaw bandwidth_law(const Trial& bandwidth, const MachineLimits& machine, const Noise& noise,
                           double whole, double faults, std::optional<double> without_cache) {
  struct Curve {
    double u, l, without_share;  // the last: with no share at all
    Seen seen;
  };
  std::vector<Curve> curve;
  BandwidthLaw law{.tells_latency = true};
  double first = HUGE_VAL, last = 1;  // of the levels, as u
  for (const Level& level : bandwidth.levels) {
    if (level.slowdowns.empty()) continue;
    law.tells_latency &= level.latency.has_value();
    const double u = 1 / (1 - std::clamp(level.taken, 0.0, 0.97));
    first = std::min(first, u), last = std::max(last, u);
    curve.push_back(
        {u, level.latency.value_or(1), 1 + faults * (level.faults - 1), Seen(level, noise)});
  }
  // Losses where the thieves also take the cache: what was in it comes from memory.
  const double over = memory_over_cache(machine);
  std::vector<std::vector<double>> losses = {{0.0}};
  if (without_cache.value_or(1) > 0) {
    losses.emplace_back();
    for (double part = 0.05; part < 1.4; part *= 1.3)
      losses[1].push_back(part * without_cache.value_or(1));
  }
  // The law that waits for nothing is always tried.
  const double most = std::max(0.0, whole) + kUnsure;
  // b, l: shares that wait for bandwidth and for loads.
  const auto add = [&](Family& family, const std::vector<double>& taken, double b, double l,
                       double knee) {
    const double share = knee > 1 ? 0 : b;  // that goes away with a little more of it
    for (const double loss : taken) {
      if (b / knee + l + loss / (over - 1) > most) continue;
      double cost = 0;
      for (const auto& [u, load, without_share, one] : curve)
        cost += one.squared_error(without_share + b * std::max(0.0, u / knee - 1) + l * (load - 1) +
                                  loss * (1 + over / (over - 1) * (u - 1)));
      family.all.push_back({{share, l, share + l, knee}, cost});
    }
  };
  std::vector<Family> families;
  for (const std::vector<double>& taken : losses) {
    Family none, loads{kOne}, streams{kOne}, knees{kOne}, both{kTwo};
    add(none, taken, 0, 0, 1);
    for (double b = kStep; b < 1 + kUnsure; b += kStep) {
      add(streams, taken, b, 0, 1);
      if (law.tells_latency) add(loads, taken, 0, b, 1);
      for (double l = kStep; b + l < 1 + kUnsure && law.tells_latency; l += kStep)
        add(both, taken, b, l, 1);
    }
    // From a knee on it waits for nothing else.
    for (double knee = first; knee < last; knee *= kRatioStep) add(knees, taken, 1, 0, knee);
    for (Family* family : {&none, &loads, &streams, &both, &knees})
      families.push_back(std::move(*family));
  }
  const auto of = [&](std::size_t share) {
    const auto [value, interval] = estimate(families, share);
    return Estimate{value, {interval.low - kStep / 2, interval.high + kStep / 2}};
  };
  law.bandwidth = of(0), law.latency = of(1), law.both = of(2);
  law.knee = estimate(families, 3);
  return law;
}

double unevenness(const std::vector<core::TimePoint>& points, const Noise& noise) {
  // Of the best time with one thread.
  const auto cost = [&](const auto& shape) {
    double sum = 0, squares = 0, all = 0;
    for (const core::TimePoint& point : points) {
      const double part = shape(point.workers) / point.seconds;
      sum += part, squares += part * part;
    }
    for (const core::TimePoint& point : points)
      all +=
          std::pow((sum / squares * shape(point.workers) / point.seconds - 1) / noise.deviation, 2);
    return all;
  };
  double serial = HUGE_VAL, uneven = HUGE_VAL;
  for (double part = 0; part <= 1; part += kStep)
    serial = std::min(serial, cost([&](double n) { return part + (1 - part) / n; }));
  for (double factor = 1; factor < 100; factor *= kRatioStep)
    uneven = std::min(uneven, cost([&](double n) { return n > 1 ? factor / n : 1; }));
  return points.empty() ? 0 : serial - uneven;
}

}  // namespace tabane::lab::explain
