#include "tabane/tools/time/time.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "tabane/core/units.h"
#include "tabane/lab/record/text.h"

namespace tabane::lab {
namespace {

constexpr std::size_t kMostCombinations = 10'000;
constexpr std::size_t kMostDigits = 15;

// The digits behind the point. throws: core::UsageError for what is no decimal number.
int decimals_of(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string digits(text);
  digits.erase(point, 1);
  if (!core::number_in<std::int64_t>(digits) || digits.size() > kMostDigits)
    throw core::UsageError("'{}' is not a decimal number of at most {} digits", text, kMostDigits);
  return static_cast<int>(digits.size() - point);
}

void check_name(const std::string& name) {
  const bool fits = std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
  });
  if (name.empty() || !fits)
    throw core::UsageError("'{}' is not a name of a parameter: use letters, digits, _ and -", name);
}

}  // namespace

Parameter number_parameter(std::string name, std::string_view first, std::string_view last,
                           std::string_view step) {
  check_name(name);
  const int shown = std::max(decimals_of(first), decimals_of(step));
  const int decimals = std::max(shown, decimals_of(last));
  if (decimals > 6) throw core::UsageError("parameters have at most 6 decimal places");
  const double scale = std::pow(10, decimals);
  const auto scaled = [&](std::string_view text) {
    return std::llround(*core::number_in<double>(text) * scale);
  };
  const std::int64_t begin = scaled(first), end = scaled(last), add = scaled(step);
  if (add <= 0) throw core::UsageError("'{}' is not a step above 0", step);
  if (end < begin)
    throw core::UsageError("parameter {} from {} to {} has no values", name, first, last);
  if (static_cast<std::size_t>((end - begin) / add) >= kMostCombinations)
    throw core::UsageError("parameter {} has more than {} values", name, kMostCombinations);
  Parameter parameter{std::move(name), {}};
  for (std::int64_t value = begin; value <= end; value += add)
    parameter.values.push_back(fmt::format("{:.{}f}", static_cast<double>(value) / scale, shown));
  return parameter;
}

Parameter list_parameter(std::string name, std::string_view values) {
  check_name(name);
  Parameter parameter{std::move(name), {""}};
  for (std::size_t at = 0; at < values.size(); ++at) {
    if (values[at] == ',') {
      parameter.values.emplace_back();
      continue;
    }
    if (values[at] == '\\' && at + 1 < values.size() && values[at + 1] == ',') ++at;
    parameter.values.back() += values[at];
  }
  return parameter;
}

std::vector<Values> combinations_of(const std::vector<Parameter>& parameters) {
  std::vector<Values> all = {{}};
  for (const Parameter& parameter : parameters) {
    if (all.size() * parameter.values.size() > kMostCombinations)
      throw core::UsageError("the parameters have more than {} combinations", kMostCombinations);
    std::vector<Values> longer;
    for (const Values& one : all) {
      for (const std::string& value : parameter.values) {
        longer.push_back(one);
        longer.back().emplace_back(parameter.name, value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

Level level_of(const std::string& value) {
  const auto number = core::number_in<double>(value);
  return number && Level(*number).text() == value ? Level(*number) : Level(value);
}

namespace {

constexpr double kTimesTheFirst = 10, kLeastTimeout = 10;
constexpr int kSignalBase = 128;
constexpr double kShowSeconds = 0.1, kLongSeconds = 10;

// What is counted of each run beside its time; of several runs of a sample the mean.
constexpr std::pair<const char*, double ChildRun::*> kCounts[] = {
    {seen::kUser, &ChildRun::user_seconds},
    {seen::kSystem, &ChildRun::system_seconds},
    {seen::kVoluntarySwitches, &ChildRun::voluntary_switches},
    {seen::kInvoluntarySwitches, &ChildRun::involuntary_switches},
    {seen::kMinorFaults, &ChildRun::minor_faults},
    {seen::kMajorFaults, &ChildRun::major_faults}};

struct Turn : Sample {
  bool failed = false, left_processes = false;
};

double half_width(const core::Interval& interval, double value) {
  return (interval.high - interval.low) / 2 / value;
}

class Turns {
 public:
  Turns(const std::vector<TimeContender>& contenders, const TimeEffort& effort, core::Clock& clock,
        const Hooks& hooks)
      : contenders_(contenders),
        effort_(effort),
        clock_(clock),
        hooks_(hooks),
        start_(clock.now()),
        timeouts_(contenders.size(), effort.timeout_seconds) {
    for (const TimeContender& contender : contenders)
      timings_.points.add({.factors = contender.factors});
    timings_.failures.resize(contenders.size());
    timings_.left_processes.resize(contenders.size());
    timings_.warm_peak_bytes.resize(contenders.size());
    timings_.order.resize(contenders.size());
    std::iota(timings_.order.begin(), timings_.order.end(), std::size_t{0});
  }

  Timings run() {
    try {
      measure();
    } catch (const Stopped&) {
      timings_.end = TimeEnd::stopped;
    }
    if (timings_.rounds() > 0) judge();
    timings_.seconds = clock_.now() - start_;
    return std::move(timings_);
  }

 private:
  void measure() {
    for (int round = 0; round < effort_.rounds.warmups; ++round) {
      for (std::size_t i = 0; i < contenders_.size(); ++i) {
        show(i);
        auto& peak = timings_.warm_peak_bytes[i];
        peak = std::max(peak, run_once(i).peak_bytes);
      }
    }
    measuring_ = true;
    measuring_since_ = clock_.now();
    tell_plan();
    const core::RoundsEnd end = core::in_rounds(
        contenders_.size(), effort_.rounds, clock_, measuring_since_,
        [this](std::size_t i) { return take(i); },
        [this](const std::vector<Turn>& samples) { keep(samples); },
        [this](int) { return enough(); });
    timings_.end = end == core::RoundsEnd::enough   ? TimeEnd::known
                   : end == core::RoundsEnd::budget ? TimeEnd::budget
                                                    : TimeEnd::most_rounds;
  }

  Turn take(std::size_t i) {
    show(i);
    Turn sample;
    ChildRun all;
    for (int k = 0; k < effort_.repeat; ++k) {
      const ChildRun run = run_once(i);
      all.seconds += run.seconds;
      for (const auto& [name, count] : kCounts) all.*count += run.*count;
      if (run.peak_bytes) all.peak_bytes = std::max(all.peak_bytes.value_or(0), *run.peak_bytes);
      if (!run.ok()) all.exit_code = run.signal != 0 ? kSignalBase + run.signal : run.exit_code;
      sample.beside.insert(sample.beside.end(), run.counts.begin(), run.counts.end());
      sample.left_processes = sample.left_processes || run.left_processes;
    }
    const auto each = [&](double sum) { return sum / effort_.repeat; };
    sample.failed = all.exit_code != 0;
    sample.seconds = each(all.seconds);
    for (const auto& [name, count] : kCounts) sample.beside.emplace_back(name, each(all.*count));
    sample.beside.insert(sample.beside.end(),
                         {{seen::kPeakBytes, all.peak_bytes.value_or(std::nan(""))},
                          {seen::kExitCode, all.exit_code},
                          {seen::kOrder, order_++}});
    return sample;
  }

  ChildRun run_once(std::size_t i) {
    const TimeContender& contender = contenders_[i];
    contender.prepare();
    const bool limited = timeouts_[i] > 0;
    const ChildRun run = contender.run(
        limited ? timeouts_[i] : std::numeric_limits<double>::infinity(), !measuring_);
    if (!limited) timeouts_[i] = std::max(kLeastTimeout, kTimesTheFirst * run.seconds);
    contender.conclude();
    // A time-out that was not asked for is no result of the command.
    const bool counts = !run.timed_out || effort_.timeout_seconds > 0;
    if (run.ok() || (effort_.ignore_failure && counts)) return run;
    std::string text = fmt::format("'{}': {}", contender.name, how_it_ended(run));
    if (run.timed_out && effort_.timeout_seconds <= 0)
      text += ", ten times its first run; see --timeout";
    throw CommandFailed(text, run.errors);
  }

  void keep(const std::vector<Turn>& samples) {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      add_sample(timings_.points[i], samples[i]);
      timings_.failures[i] += samples[i].failed;
      if (samples[i].left_processes) timings_.left_processes[i] = true;
    }
  }

  // Looking costs a sort of all: after each further fiftieth of the rounds.
  bool enough() {
    if (timings_.rounds() < next_look_) return false;
    next_look_ = timings_.rounds() + timings_.rounds() / 50 + 1;
    judge();
    return spent() >= effort_.least_seconds && timings_.precision <= effort_.precision;
  }

  void judge() {
    const std::size_t others = contenders_.size() - 1;
    const double each = confidence_of_each(effort_.confidence, std::max<std::size_t>(others, 1));
    const std::vector<double>& first = timings_.points[0].samples;
    timings_.to_first.assign(1, {.value = 1, .interval = {1, 1}, .pairs = first.size()});
    timings_.medians.clear();
    for (const Point& point : timings_.points)
      timings_.medians.push_back(core::running_median_interval(point.samples, each));
    timings_.precision = others == 0 ? half_width(timings_.medians[0], core::median(first)) : 0;
    for (std::size_t i = 1; i <= others; ++i) {
      const core::Ratio ratio = core::running_ratio(timings_.points[i].samples, first, each);
      timings_.to_first.push_back(ratio);
      if (ratio.undecided())
        timings_.precision = std::max(timings_.precision, half_width(ratio.interval, ratio.value));
    }
  }

  // Of commands so long that the fewest rounds take longer than most people wait without a word.
  void tell_plan() {
    if (effort_.rounds.warmups == 0) return;
    const double round = (measuring_since_ - start_) / effort_.rounds.warmups * effort_.repeat;
    const double all = round * effort_.rounds.fewest;
    if (all < kLongSeconds) return;
    const double most = effort_.rounds.most_seconds;
    hooks_.on_plan(fmt::format(
        "a round takes {}: {} rounds {} {}; {}", core::format_seconds(round), effort_.rounds.fewest,
        all > most ? "would take" : "take", core::format_seconds(all),
        all > most ? fmt::format("--max-time ends after {}", core::format_seconds(most))
                   : "--max-time and --runs make it shorter"));
  }

  void show(std::size_t i) {
    if (hooks_.stop_requested()) throw Stopped();
    // Very short commands do not wait for what nobody can read.
    if (measuring_ && clock_.now() - shown_ < kShowSeconds) return;
    shown_ = clock_.now();
    const auto rounds = static_cast<double>(timings_.rounds());
    if (!measuring_) return hooks_.progress("warm-up: " + contenders_[i].name, 0, -1);
    // It may be known sooner.
    const double by_rounds = rounds / effort_.rounds.most;
    const double budget = std::min(effort_.rounds.budget_seconds, effort_.rounds.most_seconds);
    const double by_time = std::min(spent() / budget, rounds / effort_.rounds.fewest);
    const double done = std::clamp(std::max(by_rounds, by_time), 0.0, 1.0);
    const std::string known = std::isfinite(timings_.precision) && timings_.precision > 0
                                  ? ", known to " + show_percent(timings_.precision)
                                  : "";
    hooks_.progress(fmt::format("round {}{}: {}", rounds + 1, known, contenders_[i].name), done,
                    done > 0 ? spent() * (1 / done - 1) : -1);
  }

  double spent() const { return clock_.now() - measuring_since_; }

  const std::vector<TimeContender>& contenders_;
  const TimeEffort& effort_;
  core::Clock& clock_;
  const Hooks& hooks_;
  double start_, measuring_since_ = 0, shown_ = 0;
  std::vector<double> timeouts_;  // 0: not known yet
  double order_ = 0;
  std::size_t next_look_ = 0;  // rounds
  bool measuring_ = false;
  Timings timings_;
};
}  // namespace

double confidence_of_each(double confidence, std::size_t intervals) {
  return 1 - (1 - confidence) / static_cast<double>(intervals);
}

Timings time_in_turn(const std::vector<TimeContender>& contenders, const TimeEffort& effort,
                     core::Clock& clock, const Hooks& hooks) {
  TABANE_ASSERT(!contenders.empty());
  return Turns(contenders, effort, clock, hooks).run();
}

void sort_by_time(Timings& timings) {
  std::ranges::stable_sort(timings.order, {},
                           [&](std::size_t i) { return timings.points[i].median(); });
}

const std::vector<double>& seen_with(const Point& point, const char* what) {
  return point.beside.find(what)->second;
}

std::optional<core::Interval> with_ends(const core::Interval& interval) {
  if (!std::isfinite(interval.low) || !std::isfinite(interval.high)) return std::nullopt;
  return interval;
}

}  // namespace tabane::lab
