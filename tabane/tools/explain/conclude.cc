#include "tabane/tools/explain/conclude.h"

#include <cmath>
#include <functional>
#include <utility>

namespace tabane::lab::explain {
namespace {

constexpr double kLeastNoise = 0.005;  // of a slow-down: clocks and starts of processes
constexpr double kOfBandwidth = 0.25;  // of it, that a thief of the cache takes at most
constexpr double kHeld = 0.7;          // of its own speed, at which a thief holds the cache
constexpr double kClearly = 4;         // squared standard errors
constexpr double kOfMedian = 1.25;     // how many times as much as a mean it scatters

// From repeated samples of a level, and from undisturbed runs, whose ratios to each other scatter
// as slow-downs do.
Noise noise_of(const Evidence& evidence) {
  double squares = 0, freedom = 0;
  const auto add = [&](const std::vector<double>& samples, double scale) {
    if (samples.size() < 2) return;
    const double n = static_cast<double>(samples.size()) - 1;
    squares += n * std::pow(scale * core::standard_deviation(samples) / core::mean(samples), 2);
    freedom += n;
  };
  add(evidence.observed.seconds, std::sqrt(2));
  for (const Trial& trial : evidence.trials)
    for (const Level& level : trial.levels)
      if (std::ranges::any_of(level.slowdowns, [](double x) { return x != 1; }))
        add(level.slowdowns, 1);
  if (freedom < 1) return {.deviation = 0.05, .measured = false};
  return {.deviation = std::max(kLeastNoise, std::sqrt(squares / freedom)), .freedom = freedom};
}

class Conclusion {
 public:
  explicit Conclusion(const Evidence& evidence)
      : evidence_(evidence), waits_(waits_of(evidence.observed, evidence.machine.pus)) {
    out_.noise = noise_of(evidence);
    for (const Trial& one : evidence.trials)
      if (one.resource >= Resource::threads) out_.given += static_cast<double>(one.levels.size());
    if (!evidence.observed.seconds.empty()) seconds_ = core::median(evidence.observed.seconds);
  }

  Explanation explain() {
    see_threads();
    see_waits();
    see_faults();
    see_memory();
    see_computing();
    std::ranges::stable_sort(out_.shares, std::greater(), &Cause::won);
    const auto rest = std::ranges::stable_partition(out_.shares, [](const Cause& cause) {
      // Bandwidth and single loads look alike: the likelier of them is named.
      const bool chosen = cause.kind <= Kind::latency || cause.kind == Kind::computing;
      return cause.share >= kWorthAWord && (chosen || !cause.interval || cause.interval->low > 0);
    });
    out_.causes.assign(out_.shares.begin(), rest.begin());
    return std::move(out_);
  }

 private:
  const Trial* trial(Resource resource) const { return find_trial(evidence_, resource); }
  double processor_seconds() const { return evidence_.observed.user + evidence_.observed.system; }

  void add(Kind kind, double share, core::Interval interval) {
    const auto in_time = [](double x) { return std::clamp(x, 0.0, 1.0); };
    out_.shares.push_back(
        {kind, in_time(share), core::Interval{in_time(interval.low), in_time(interval.high)}});
  }
  void add(Kind kind, double share, double half) { add(kind, share, {share - half, share + half}); }

  void see_faults() {
    if (seconds_ <= 0 || !evidence_.machine.fault_seconds) return;
    const Observed& seen = evidence_.observed;
    const double faults = seen.minor_faults * *evidence_.machine.fault_seconds;
    // PUs that it keeps busy while it works.
    const double parallel = std::max(1.0, processor_seconds() / seconds_);
    faults_ = std::min(1.0, std::min(seen.system, faults) / seconds_ / parallel);
    out_.shares.push_back({Kind::faults, faults_});
  }

  // The trial relative to runs with thieves on the same PUs that take nothing of the memory: while
  // thieves run, other programs may have to share a PU with the command.
  std::optional<Trial> beside_others(Resource resource) const {
    const Trial* const tried = trial(resource);
    if (tried == nullptr) return std::nullopt;
    const Trial* const units = trial(Resource::units);
    const bool comparable = units != nullptr && units->levels[0].setting.empty();
    const Effect neighbours = comparable ? out_.effect_of(units->levels[0]) : Effect{};
    Trial relative = *tried;
    if (neighbours.slower())
      for (Level& level : relative.levels)
        for (double& slowdown : level.slowdowns) slowdown /= neighbours.slowdown;
    return relative;
  }

  void see_memory() {
    const MachineLimits& machine = evidence_.machine;
    const auto cache = beside_others(Resource::cache);
    const auto bandwidth = beside_others(Resource::bandwidth);
    std::optional<WorkingSet> set;
    if (cache) set = working_set(*cache, machine, out_.noise);
    if (bandwidth) {
      const BandwidthLaw law =
          bandwidth_law(*bandwidth, machine, out_.noise, left(), faults_,
                        set ? std::optional(set->slowdown.value - 1) : std::nullopt);
      add(Kind::bandwidth, law.bandwidth.value, law.bandwidth.interval);
      if (law.tells_latency) add(Kind::latency, law.latency.value, law.latency.interval);
      // Thieves of the cache also take some bandwidth.
      const bool streams = set && set->slowdown.value - 1 < kOfBandwidth * law.bandwidth.value;
      if (streams) set.reset();
      out_.bandwidth = law;
    }
    if (!set) return;
    const auto& [value, interval] = set->slowdown;
    const double over = memory_over_cache(machine) - 1;
    add(Kind::cache, (value - 1) / over, {(interval.low - 1) / over, (interval.high - 1) / over});
    if (value > 1) out_.working_set = set;
  }

  void see_threads() {
    const Trial* const threads = trial(Resource::threads);
    if (threads == nullptr) return;
    for (const Level& level : threads->levels)
      for (const double slowdown : level.slowdowns) points_.push_back({level.taken, slowdown});
    if (threads->levels.size() >= 3) out_.threads = core::fit_scalability_and_time(points_);
  }

  // A share p of n looks has the deviation sqrt(p (1 - p) / n), and of none at all is seen rarely
  // what has a share above 3 / n.
  double half_of_looks(double share) const {
    return std::max(1.96 * std::sqrt(std::max(0.0, share * (1 - share)) / waits_->looks),
                    3.0 / waits_->looks);
  }

  void see_waits() {
    if (!waits_) return;
    Waits waits = *waits_;
    if (waits.width > 1) {
      // Looks cannot tell one long part of a thread from work before the others begin.
      const double uneven = out_.threads ? unevenness(points_, out_.noise) : 0;
      out_.one_or_unequal = std::abs(uneven) <= kClearly;
      double& from = waits(uneven > 0 ? Kind::serial : Kind::imbalance);
      double& to = waits(uneven > 0 ? Kind::imbalance : Kind::serial);
      if (std::abs(uneven) > kClearly && waits(Kind::locks) < from + to)
        to += std::exchange(from, 0);
    }
    for (const Kind kind : {Kind::serial, Kind::imbalance, Kind::locks, Kind::disk, Kind::pipe,
                            Kind::network, Kind::sleep, Kind::others})
      add(kind, waits(kind), half_of_looks(waits(kind)));
  }

  double busy() const {
    if (waits_) return waits_->busy;
    return seconds_ > 0 ? std::min(1.0, processor_seconds() / seconds_) : 0;
  }
  // What the causes that are known leave of the time in which it runs; together they may claim more
  // than all of it.
  double left() const {
    double left = busy();
    for (const Cause& cause : out_.shares)
      if (cause.kind < Kind::disk || cause.kind == Kind::others) left -= cause.share;
    return std::max(0.0, left);
  }

  void see_computing() {
    double above = waits_ ? half_of_looks(busy()) : 0.1, below = above;
    const auto unsure = [&](double share, const core::Interval& interval) {
      above = std::hypot(above, share - interval.low);
      below = std::hypot(below, interval.high - share);
    };
    for (const auto& [kind, share, interval] : out_.shares)
      if (interval && kind > Kind::latency) unsure(share, *interval);
    if (out_.bandwidth) unsure(out_.bandwidth->both.value, out_.bandwidth->both.interval);
    add(Kind::computing, left(), {left() - below, left() + above});
  }

  const Evidence& evidence_;
  std::optional<Waits> waits_;
  double seconds_ = 0;  // of an undisturbed run
  double faults_ = 0;   // share of it
  std::vector<core::TimePoint> points_;
  Explanation out_;
};

}  // namespace

bool tells(Resource resource, const Level& level) {
  return !level.slowdowns.empty() && (resource != Resource::cache || level.own_speed >= kHeld);
}

const Trial* find_trial(const Evidence& evidence, Resource resource) {
  for (const Trial& trial : evidence.trials)
    if (trial.resource == resource &&
        std::ranges::any_of(trial.levels, [&](auto& level) { return tells(resource, level); }))
      return &trial;
  return nullptr;
}

const Cause* Explanation::find(Kind kind) const {
  const auto found = std::ranges::find(shares, kind, &Cause::kind);
  return found == shares.end() ? nullptr : &*found;
}

double Noise::half(double intervals) const {
  // The normal quantile by Hastings, Student's from it by Cornish and Fisher.
  const double s = std::sqrt(-2 * std::log(0.025 / intervals)), f = freedom;
  const double z = s - (2.515517 + s * (0.802853 + s * 0.010328)) /
                           (1 + s * (1.432788 + s * (0.189269 + s * 0.001308)));
  const double x = z * z;
  return z * (1 + (x + 1) / (4 * f) + (x * (5 * x + 16) + 3) / (96 * f * f) +
              (x * (x * (3 * x + 19) + 17) - 15) / (384 * f * f * f));
}

Effect Explanation::effect_of(const Level& level, double intervals) const {
  const double slowdown = core::median(level.slowdowns), n = double(level.slowdowns.size());
  const double of_one = noise.half(intervals) * noise.deviation * slowdown;
  return {slowdown, of_one * (n > 2 ? kOfMedian : 1) / std::sqrt(n)};
}

Explanation conclude(const Evidence& evidence) {
  Explanation explanation = Conclusion(evidence).explain();
  put_into_words(evidence, explanation);
  return explanation;
}

}  // namespace tabane::lab::explain
