#include "tabane/tools/explain/conclude.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "tabane/tools/explain/waits.h"

namespace tabane::lab::explain {
namespace {

constexpr double kWorthAWord = 0.1;     // a share from which on it is a cause
constexpr double kLeastNoise = 0.005;   // of a slow-down: clocks and starts of processes
constexpr double kChaseFromMemory = 8;  // times a load from the shared cache, where not measured
constexpr double kLeastEffect = 1.08;   // of thieves of the cache: any thief costs a little
constexpr double kMostOver = 1.5;       // of that ratio, what a command may lose
constexpr double kPrice = 4;            // of a term of a law, in squared standard errors
constexpr double kOfBandwidth = 0.25;   // of it, that a thief of the cache takes at most
constexpr double kWhole = 1.1;          // of its time: calibration is not exact
constexpr double kLittle = 0.3, kLikelier = 2;  // a slope; squared standard errors
constexpr double kPolluted = 0.3;  // of the loss without cache, that is seen as a loss of it
constexpr double kStep = 1.02;     // between the knees and the sizes that are tried
constexpr double kHeld = 0.7;      // of its own speed, at which a thief holds the cache
constexpr double kLeastOver = 2;   // of a load from memory over one from the cache

// ---- noise ----

// Standard deviation of one slow-down, from repeated levels and from the undisturbed runs, whose
// ratios to each other are slow-downs by nothing.
struct Noise {
  double deviation = kLeastNoise;
  double half = 2;  // of a 95 % interval, in deviations: Student's t
};

Noise noise_of(const Evidence& evidence) {
  double squares = 0, freedom = 0;
  const auto add = [&](const std::vector<double>& samples, double scale) {
    if (samples.size() < 2) return;
    const double mean = core::mean(samples);
    for (const double x : samples) squares += std::pow(scale * (x / mean - 1), 2);
    freedom += static_cast<double>(samples.size() - 1);
  };
  add(evidence.observed.seconds, std::sqrt(2));
  for (const Trial& trial : evidence.trials) {
    for (const Level& level : trial.levels)
      if (std::ranges::any_of(level.slowdowns, [](double x) { return x != 1; }))
        add(level.slowdowns, 1);
  }
  if (freedom < 1) return {.deviation = 0.05, .half = 4};
  const double f = freedom;  // Cornish and Fisher's expansion of the quantile at 97.5 %
  return {.deviation = std::max(kLeastNoise, std::sqrt(squares / freedom)),
          .half = 1.96 + 2.37 / f + 2.82 / (f * f) + 2.56 / (f * f * f)};
}

// ---- least squares with a few terms that may not be negative ----

constexpr std::size_t kTerms = 3;
using Terms = std::array<double, kTerms>;

struct Point {
  Terms terms = {};
  double y = 0, error = 1;
};
struct Fit {
  Terms x = {}, error = {};
  double cost = std::numeric_limits<double>::infinity();  // squared errors, and a price per term
};

// The terms in `used`, two at most, by Cramer's rule for the normal equations.
Fit solve(const std::vector<Point>& points, unsigned used) {
  const auto sum = [&](std::size_t i, std::size_t k) {  // of products; kTerms: of y
    double all = 0;
    for (const Point& point : points)
      all += point.terms[i] * (k < kTerms ? point.terms[k] : point.y) / std::pow(point.error, 2);
    return all;
  };
  Fit fit;
  for (std::size_t i = 0; i < kTerms; ++i) {
    if (!(used >> i & 1)) continue;
    std::size_t other = i;
    for (std::size_t k = 0; k < kTerms; ++k)
      if (k != i && used >> k & 1) other = k;
    const double own = other == i ? 1 : sum(other, other), both = other == i ? 0 : sum(i, other);
    const double determinant = sum(i, i) * own - both * both;
    if (!(determinant > 1e-9)) return fit;
    fit.x[i] = (own * sum(i, kTerms) - both * sum(other, kTerms)) / determinant;
    fit.error[i] = std::sqrt(own / determinant);
    if (fit.x[i] < 0) return fit;
  }
  fit.cost = kPrice * std::popcount(used);
  for (const Point& point : points) {
    double y = 0;
    for (std::size_t i = 0; i < kTerms; ++i) y += fit.x[i] * point.terms[i];
    fit.cost += std::pow((y - point.y) / point.error, 2);
  }
  return fit;
}

// allowed: the terms that there can be. least: of the first, if it is there; without it the others
// add up to 1 at most, or to more by as much as they are unsure.
Fit best_fit(const std::vector<Point>& points, unsigned allowed, double least) {
  Fit best;
  for (unsigned used = 0; used < 1u << kTerms; ++used) {
    if (used & ~allowed || std::popcount(used) > 2) continue;
    const Fit fit = solve(points, used);
    const double sum = fit.x[1] + fit.x[2], unsure = std::hypot(fit.error[1], fit.error[2]);
    if (fit.x[0] == 0 && sum - 3 * unsure > kWhole) continue;
    if (fit.x[0] > 0 && fit.x[0] < least) continue;
    if (fit.cost < best.cost) best = fit;
  }
  return best;
}

double error_of(double slowdown, const Noise& noise) { return noise.deviation * slowdown; }

// ---- memory ----

// without_cache: what it loses without the cache, which thieves of bandwidth may also have taken;
// null: not known.
std::optional<BandwidthLaw> bandwidth_law(const Trial* trial, const Noise& noise,
                                          std::optional<double> without_cache) {
  if (trial == nullptr) return std::nullopt;
  struct Seen {
    double u, latency, y;
  };
  std::vector<Seen> seen;
  bool latency = true;
  for (const Level& level : trial->levels) {
    latency &= level.latency.has_value() || level.slowdowns.empty();
    for (const double slowdown : level.slowdowns)
      seen.push_back(
          {1 / (1 - std::clamp(level.taken, 0.0, 0.97)), level.latency.value_or(1), slowdown - 1});
  }
  if (seen.empty()) return std::nullopt;
  const unsigned allowed = 0b010u | (without_cache == 0 ? 0 : 0b001u) | (latency ? 0b100u : 0);
  Fit best;
  double best_knee = 1, least = HUGE_VAL, most = 1;
  for (const Seen& one : seen) least = std::min(least, one.u), most = std::max(most, one.u);
  const double least_offset = kPolluted * without_cache.value_or(0);
  // Below a knee there is a level at least.
  for (double knee = 1; knee < most; knee = std::max(knee * kStep, least)) {
    std::vector<Point> points, bound;  // the second: all of its time, from the knee on
    for (const Seen& one : seen) {
      const double more = std::max(0.0, one.u / knee - 1);
      points.push_back({{1, more, one.latency - 1}, one.y, error_of(1 + one.y, noise)});
      bound.push_back({{1, 0, one.latency - 1}, one.y - more, error_of(1 + one.y, noise)});
    }
    Fit fit = best_fit(points, knee > 1 ? allowed & 0b011u : allowed, least_offset);
    if (knee == 1 && fit.x[1] > 0 && fit.x[1] < kLittle && fit.x[2] == 0) {
      // Little that waits for bandwidth looks like much that waits for loads: that is likelier.
      const Fit loads = best_fit(points, allowed & ~0b010u, least_offset);
      if (loads.x[2] > 0 && loads.cost < fit.cost + kLikelier) fit = loads;
    }
    if (knee > 1) {
      if (Fit all = best_fit(bound, 0b001u & allowed, least_offset); all.cost < fit.cost)
        fit = all, fit.x[1] = 1;
      if (fit.x[1] > 0) fit.cost += kPrice;
    }
    if (fit.cost < best.cost) best = fit, best_knee = knee;
  }
  return BandwidthLaw{.offset = best.x[0],
                      .bandwidth = best.x[1],
                      .latency = best.x[2],
                      .knee = best.x[1] > 0 ? best_knee : 1,
                      .bandwidth_error = best.error[1],
                      .latency_error = best.error[2]};
}

double over(const Evidence& evidence) {
  return std::max(kLeastOver, evidence.machine.memory_over_cache.value_or(kChaseFromMemory));
}

// Two shapes: each load is equally likely anywhere in the working set, so what does not fit is
// lost; or it is run through in order, so all is lost when a little does not fit.
double lost(double left, double bytes, bool in_order) {
  if (in_order) return left < bytes ? 1 : 0;
  return std::clamp(1 - left / bytes, 0.0, 1.0);
}

std::optional<WorkingSet> working_set(const Trial* trial, const Evidence& evidence,
                                      const Noise& noise) {
  if (trial == nullptr || !evidence.machine.cache) return std::nullopt;
  const double cache = *evidence.machine.cache;
  std::vector<std::pair<double, double>> seen;  // bytes left, slow-down - 1
  double least = cache, effect = 1;             // effect: what all runs of a level show
  for (const Level& level : trial->levels) {
    if (!tells(Resource::cache, level)) continue;
    effect = std::max(effect, std::ranges::min(level.slowdowns));
    const double left = std::max(1.0, cache - level.taken);
    for (const double slowdown : level.slowdowns) seen.emplace_back(left, slowdown - 1);
    least = std::min(least, left);
  }
  if (effect < kLeastEffect) return std::nullopt;
  // bytes 0: of nothing.
  const auto fit = [&](double bytes, bool in_order) {
    std::vector<Point> points;
    for (const auto& [left, y] : seen)
      points.push_back({{lost(left, bytes, in_order)}, y, error_of(1 + y, noise)});
    return solve(points, bytes > 0 ? 1 : 0);
  };
  struct Shape {
    double bytes, cost, slowdown;
  };
  std::vector<Shape> shapes;
  for (const bool in_order : {false, true}) {
    for (double bytes = least * kStep; bytes < 2 * cache; bytes *= kStep) {
      const Fit found = fit(bytes, in_order);
      if (found.x[0] < kMostOver * (over(evidence) - 1))
        shapes.push_back({bytes, found.cost, 1 + found.x[0]});
    }
  }
  if (shapes.empty()) return std::nullopt;
  const auto best = std::ranges::min_element(shapes, {}, &Shape::cost);
  if (!(best->cost + kPrice < fit(0, true).cost)) return std::nullopt;
  WorkingSet found;
  double sizes = 0, losses = 0, count = 0;
  found.interval = {best->bytes, best->bytes};
  for (const Shape& shape : shapes) {
    if (shape.cost < best->cost + 1) {
      sizes += std::log(shape.bytes);
      losses += std::log(shape.slowdown - 1);
      ++count;
    }
    if (shape.cost > best->cost + kPrice) continue;
    found.interval.low = std::min(found.interval.low, shape.bytes);
    found.interval.high = std::max(found.interval.high, shape.bytes);
  }
  found.interval = {found.interval.low / kStep, found.interval.high * kStep};
  found.bytes = std::exp(sizes / count);
  found.slowdown = 1 + std::exp(losses / count);
  return found;
}

// ---- threads ----

std::vector<core::TimePoint> time_points(const Trial* trial) {
  std::vector<core::TimePoint> points;
  if (trial != nullptr) {
    for (const Level& level : trial->levels)
      for (const double slowdown : level.slowdowns) points.push_back({level.taken, slowdown});
  }
  return points;
}

// By how many squared standard errors the times follow "t / n, with a constant factor for more than
// one" better than a law with a part that is not shared out: the first is so if threads have
// unequal work, whatever their number.
double unevenness(const std::vector<core::TimePoint>& points, const Noise& noise) {
  const auto cost = [&](auto term) {  // of the best straight line through (1 / n, term) / t
    std::vector<Point> relative;
    for (const core::TimePoint& point : points)
      relative.push_back(
          {{1 / point.workers / point.seconds, term(point) / point.seconds}, 1, noise.deviation});
    return solve(relative, 0b11).cost;
  };
  const double serial = cost([](const core::TimePoint&) { return 1.0; });
  const double uneven = cost(
      [](const core::TimePoint& point) { return point.workers > 1 ? 1 / point.workers : 0.0; });
  return std::isfinite(serial) && std::isfinite(uneven) ? serial - uneven : 0;
}

// ---- all together ----

class Conclusion {
 public:
  explicit Conclusion(const Evidence& evidence)
      : evidence_(evidence),
        noise_(noise_of(evidence)),
        waits_(waits_of(evidence.observed, evidence.machine.pus)) {}

  Explanation explain() {
    out_.noise = noise_.deviation;
    out_.half_of_one = noise_.half * noise_.deviation;
    see_memory();
    see_threads();
    see_waits();
    see_faults();
    see_computing();
    for (const Cause& cause : out_.shares)
      if (cause.share >= kWorthAWord &&
          (!cause.interval || cause.interval->low > 0 || cause.kind == Kind::computing))
        out_.causes.push_back(cause);
    std::ranges::stable_sort(out_.causes, std::greater(), &Cause::won);
    return std::move(out_);
  }

 private:
  const Trial* trial(Resource resource) const { return find_trial(evidence_, resource); }
  double seconds() const {
    return evidence_.observed.seconds.empty() ? 0 : core::median(evidence_.observed.seconds);
  }
  // PUs' time per wall time while it works.
  double parallel() const {
    const double cpu = evidence_.observed.user + evidence_.observed.system;
    return seconds() > 0 ? std::max(1.0, cpu / seconds()) : 1;
  }

  void add(Kind kind, double share, double error) { add_with(kind, share, noise_.half * error); }
  // half: of a 95 % interval.
  void add_with(Kind kind, double share, double half) {
    share = std::clamp(share, 0.0, 1.0);
    out_.shares.push_back(
        {.kind = kind,
         .share = share,
         .interval = core::Interval{std::max(0.0, share - half), std::min(1.0, share + half)}});
  }

  void see_memory() {
    auto set = working_set(trial(Resource::cache), evidence_, noise_);
    const Trial* const cache = trial(Resource::cache);
    std::optional<double> without_cache;
    if (cache != nullptr) without_cache = set ? set->slowdown - 1 : 0;
    out_.bandwidth = bandwidth_law(trial(Resource::bandwidth), noise_, without_cache);
    // Thieves of the cache also take some bandwidth.
    const bool streams =
        set && out_.bandwidth && set->slowdown - 1 < kOfBandwidth * out_.bandwidth->bandwidth;
    if (streams) set.reset();
    out_.working_set = set;
    const double over = explain::over(evidence_);
    if (cache != nullptr && !streams) {
      // Thieves that also take the cache take all of it.
      const double offset = out_.bandwidth ? out_.bandwidth->offset : 0;
      const double lost = offset > 0 ? offset : set ? set->slowdown - 1 : 0;
      add(Kind::cache, lost / (over - 1), noise_.deviation * (1 + lost) / (over - 1));
    }
    if (!out_.bandwidth) return;
    const BandwidthLaw& law = *out_.bandwidth;
    if (law.bandwidth > 0 && evidence_.machine.bandwidth)
      out_.needs_bandwidth = *evidence_.machine.bandwidth / law.knee;
    // Where the thieves also took the cache, what was in it now comes from memory, in long streams
    // or load by load: only what is more is certainly the command's own.
    const double own = law.bandwidth - law.offset;
    add(Kind::bandwidth, law.knee > 1 ? 0 : own, law.bandwidth_error);
    const bool known = std::ranges::all_of(
        trial(Resource::bandwidth)->levels,
        [](const Level& level) { return level.latency || level.slowdowns.empty(); });
    if (known) add(Kind::latency, law.latency - law.offset * over / (over - 1), law.latency_error);
  }

  // A share p of n looks has the deviation sqrt(p (1 - p) / n), and of none at all is seen rarely
  // what has a share above 3 / n.
  double half_of_looks(double share) const {
    return std::max(1.96 * std::sqrt(share * std::max(0.0, 1 - share) / waits_->looks),
                    3 / waits_->looks);
  }

  void see_threads() {
    const Trial* const threads = trial(Resource::threads);
    points_ = time_points(threads);
    if (threads != nullptr && threads->levels.size() >= 3)
      out_.threads = core::fit_scalability_and_time(points_);
  }

  void see_waits() {
    if (!waits_) return;
    Waits waits = *waits_;
    if (out_.threads && waits.width > 1) {
      // Looks cannot tell one long part of a thread from work before the others begin.
      const double uneven = unevenness(points_, noise_);
      double& from = uneven > 0 ? waits.serial : waits.imbalance;
      double& to = uneven > 0 ? waits.imbalance : waits.serial;
      if (std::abs(uneven) > kPrice && waits.locks < waits.serial + waits.imbalance)
        to += std::exchange(from, 0);
    }
    for (const auto& [kind, share] : {std::pair{Kind::serial, waits.serial},
                                      {Kind::imbalance, waits.imbalance},
                                      {Kind::locks, waits.locks},
                                      {Kind::disk, waits.disk},
                                      {Kind::pipe, waits.pipe},
                                      {Kind::network, waits.network},
                                      {Kind::sleep, waits.sleep},
                                      {Kind::others, waits.others}})
      add_with(kind, share, half_of_looks(share));
  }

  void see_faults() {
    const Observed& seen = evidence_.observed;
    if (seconds() <= 0 || !evidence_.machine.fault_seconds) return;
    const double faults = seen.minor_faults * *evidence_.machine.fault_seconds;
    out_.shares.push_back({.kind = Kind::faults,
                           .share = std::min({1.0, seen.system / seconds() / parallel(),
                                              faults / seconds() / parallel()})});
  }

  // What remains of the time in which it runs.
  void see_computing() {
    const Observed& seen = evidence_.observed;
    double busy = 0, half = 0.1;
    if (waits_) {
      busy = waits_->busy, half = half_of_looks(busy);
    } else if (seconds() > 0) {
      busy = std::min(1.0, (seen.user + seen.system) / seconds());
    }
    for (const Cause& cause : out_.shares) {
      const bool waits = cause.kind == Kind::disk || cause.kind == Kind::pipe ||
                         cause.kind == Kind::network || cause.kind == Kind::sleep;
      if (!waits) busy -= cause.share;
      half = std::hypot(half, cause.most() - cause.share);
    }
    add_with(Kind::computing, busy, half);
  }

  const Evidence& evidence_;
  Noise noise_;
  std::optional<Waits> waits_;
  std::vector<core::TimePoint> points_;
  Explanation out_;
};

}  // namespace

bool tells(Resource resource, const Level& level) {
  return !level.slowdowns.empty() && (resource != Resource::cache || level.own_speed >= kHeld);
}

const Trial* find_trial(const Evidence& evidence, Resource resource) {
  for (const Trial& trial : evidence.trials) {
    const bool tried = std::ranges::any_of(
        trial.levels, [&](const Level& level) { return tells(resource, level); });
    if (trial.resource == resource && tried) return &trial;
  }
  return nullptr;
}

const Cause* Explanation::find(Kind kind) const {
  const auto found = std::ranges::find(shares, kind, &Cause::kind);
  return found == shares.end() ? nullptr : &*found;
}

Effect Explanation::effect_of(const Level& level) const {
  const double slowdown = core::median(level.slowdowns);
  return {slowdown, half_of_one * slowdown / std::sqrt(double(level.slowdowns.size()))};
}

Explanation conclude(const Evidence& evidence, std::size_t columns) {
  Explanation explanation = Conclusion(evidence).explain();
  put_into_words(evidence, columns, explanation);
  return explanation;
}

}  // namespace tabane::lab::explain
