#include "tabane/tools/tune/tuned_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "tabane/core/cgroup.h"
#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/lab/campaign/campaign.h"
#include "tabane/lab/commands/child.h"
#include "tabane/lab/survey/disturbances.h"
#include "tabane/program/output.h"

namespace tabane::program {
namespace {

std::optional<double> finite_number(std::string_view text) {
  double value = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool found = code == std::errc() && stop != text.data() && std::isfinite(value);
  return found ? std::optional(value) : std::nullopt;
}

std::optional<double> last_in_line(const regex_t& expression, std::string_view line) {
  std::optional<double> last;
  for (std::size_t at = 0; at <= line.size();) {
    std::array<regmatch_t, 2> match{};
    match[0] = {.rm_so = static_cast<regoff_t>(at), .rm_eo = static_cast<regoff_t>(line.size())};
    const int flags = REG_STARTEND | (at > 0 ? REG_NOTBOL : 0);
    if (regexec(&expression, line.data(), match.size(), match.data(), flags) != 0) break;
    const auto [from, to] = match[1];
    if (from >= 0) {
      const auto value = finite_number(
          line.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)));
      if (value) last = value;
    }
    at = static_cast<std::size_t>(match[0].rm_eo) + (match[0].rm_eo == match[0].rm_so ? 1 : 0);
  }
  return last;
}

}  // namespace

Metric::Metric(const std::string& expression)
    : expression_(new regex_t{}, [](regex_t* made) {
        regfree(made);
        delete made;
      }) {
  const auto refuse = [&](const std::string& why) {
    throw core::UsageError("--metric '{}': {}", expression, why);
  };
  if (expression.find("\\d") != std::string::npos)
    refuse("\\d is no digit in POSIX's regular expressions: write [0-9]");
  const int failed = regcomp(expression_.get(), expression.c_str(), REG_EXTENDED);
  if (failed != 0) {
    std::array<char, 256> text{};
    regerror(failed, expression_.get(), text.data(), text.size());
    std::string why = text.data();
    why = why.substr(0, why.find(" or \\"));  // "Unmatched ( or \\(": of the basic ones
    std::erase(why, '\\');
    refuse(why);
  }
  if (expression_->re_nsub < 1)
    refuse("put the number in a group, for example 'GFLOPS: ([0-9.]+)'");
}

std::optional<double> Metric::last_in(std::string_view output) const {
  while (!output.empty()) {
    const std::size_t end = output.ends_with('\n') ? output.size() - 1 : output.size();
    const std::size_t before = end == 0 ? std::string_view::npos : output.rfind('\n', end - 1);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::string_view line = output.substr(begin, end - begin);
    const std::size_t cut = line.size() - std::min(line.size(), kLongestLine);
    if (const auto value = last_in_line(*expression_, line.substr(cut))) return value;
    output = output.substr(0, begin);
  }
  return std::nullopt;
}

namespace {

constexpr double kTimeoutFactor = 10;   // of the first run
constexpr double kLeastTimeout = 1;     // seconds
constexpr double kTooShort = 10e-3;     // seconds: starting it is most of it
constexpr double kSample = 0.1;         // seconds: shorter runs are repeated
constexpr double kFewestSamples = 100;  // that a budget is to hold for that
constexpr double kStartMatters = 1;     // seconds, of which the start of tabane is about 1 %
// Of a first run where the budget has no time.
constexpr double kLongestFirst = 300;
constexpr double kMemoryShare = 0.9;      // of what can be used without being killed
constexpr std::size_t kMostShown = 2000;  // bytes
constexpr int kMostLines = 10;
constexpr double kUnlimited = std::numeric_limits<double>::infinity();
constexpr int kFewestTries = 2;  // so that what is printed can be compared

std::string tail(const std::string& text) {
  const std::size_t size = text.ends_with('\n') ? text.size() - 1 : text.size();
  std::size_t from = size;
  for (int lines = 0; from > 0 && (text[from - 1] != '\n' || ++lines < kMostLines);) --from;
  if (size > kMostShown) from = std::max(from, size - kMostShown);
  return (from == 0 ? "" : "…") + text.substr(from, size - from);
}

// What a failing command has printed, for people.
std::string shown(const lab::ChildRun& run) {
  std::string text;
  if (!run.output.empty()) text += "it printed:\n" + tail(run.output) + "\n";
  if (!run.errors.empty()) text += "it wrote to stderr:\n" + tail(run.errors);
  return text;
}

}  // namespace

TunedCommand::TunedCommand(const TunePlan& plan, Judging judging,
                           std::function<bool()> stop_requested)
    : plan_(plan),
      judging_(std::move(judging)),
      stop_requested_(std::move(stop_requested)),
      repeat_(judging_.repeat.value_or(1)) {
  if (judging_.goal == Goal::metric) metric_.emplace(judging_.metric);
}

void TunedCommand::run_line(const std::string& line, const char* what) {
  if (line.empty()) return;
  lab::ChildCommand command = lab::command_of_line(line);
  command.output = lab::OutputTo::kept;
  const lab::ChildRun run = run_child(command, {.stop_requested = stop_requested_});
  if (!run.ok())
    throw WithLines<core::Error>(fmt::format("{} '{}': {}", what, line, how_it_ended(run)),
                                 shown(run));
}

// Several processes need several times what the first had.
std::string TunedCommand::no_memory_for(std::size_t candidate) const {
  const auto& space = plan_.space();
  const double times =
      space.processes(space.candidates()[candidate]) / space.processes(space.candidates()[0]);
  const auto usable = core::usable_memory_bytes();
  if (!first_peak_bytes_ || !usable || times <= 1) return "";
  const double needed = *first_peak_bytes_ * times;
  if (needed <= kMemoryShare * *usable) return "";
  return fmt::format("not tried: it would need about {}, and {} can be used",
                     core::format_bytes(static_cast<std::uint64_t>(needed)),
                     core::format_bytes(static_cast<std::uint64_t>(*usable)));
}

bool TunedCommand::is_better_bare(const CommandSetting& setting) const {
  return first_seconds_ < kStartMatters && needs_surroundings(setting) &&
         plan_.has_bare_equal(setting);
}

std::vector<lab::ChildCommand> TunedCommand::commands(const CommandSetting& setting,
                                                      bool as_printed) const {
  std::vector<lab::ChildCommand> all = plan_.commands(setting);
  // The system would count what tabane holds itself as the peak of the command.
  if (as_printed && !setting.as_started && judging_.goal != Goal::memory)
    all = {plan_.as_printed(setting, is_better_bare(setting))};
  const bool keep = !judging_.ignore_output || judging_.goal == Goal::metric;
  for (lab::ChildCommand& command : all) {
    command.output = keep ? lab::OutputTo::kept : lab::OutputTo::nothing;
    command.input = judging_.input;
  }
  return all;
}

TunedCommand::Measured TunedCommand::measure(std::size_t candidate, double run_limit, double limit,
                                             bool as_printed) {
  const lab::tune::Candidate& levels = plan_.space().candidates()[candidate];
  const std::vector<lab::ChildCommand> started = commands(plan_.setting(levels), as_printed);
  Measured measured;
  double seconds = 0, cpu = 0, peak = 0;
  bool peak_known = true;  // runs are not repeated for it
  for (int i = 0; i < repeat_; ++i) {
    const double left = limit - seconds;
    const lab::ChildRun run = run_children(started, {.timeout_seconds = std::min(run_limit, left),
                                                     .stop_requested = stop_requested_,
                                                     .ends_first_without_memory = true,
                                                     .small_peaks = judging_.goal == Goal::memory});
    seconds += run.seconds;
    cpu += run.user_seconds + run.system_seconds;
    peak = std::max(peak, run.peak_bytes.value_or(0));
    peak_known = run.peak_bytes.has_value();
    measured.last = run;
    measured.timed_out = run.timed_out;
    measured.stopped = run.timed_out && left <= run_limit;
    if (run.timed_out) break;
    if (run.memory_exhausted) measured.refused = "the memory was exhausted: ";
    if (!run.ok()) {
      measured.refused += how_it_ended(run);
      return measured;
    }
    measured.refused.clear();
  }
  const double n = repeat_;
  const double values[] = {seconds / n, std::max(cpu / n, 1e-6), peak,
                           seconds / n * plan_.pus(levels), 0};
  measured.value = values[static_cast<int>(judging_.goal)];
  if (judging_.goal == Goal::memory && !peak_known)
    measured.refused = "its peak memory is too small to be known";
  if (judging_.goal != Goal::metric || measured.timed_out) return measured;
  const auto value = metric_->last_in(measured.last.output);
  if (!value || *value <= 0)
    measured.refused = value ? fmt::format("its metric is {}, not above 0", *value)
                             : "nothing that it printed matches --metric";
  else
    measured.value = judging_.higher_is_better ? 1 / *value : *value;
  return measured;
}

void TunedCommand::try_out(const lab::tune::Budget& budget) {
  const double limit =
      judging_.timeout_seconds.value_or(budget.seconds > 0 ? budget.seconds : kLongestFirst);
  std::string hash;
  for (int i = 0; i < std::max(kFewestTries, judging_.warmups); ++i) {
    run_line(judging_.prepare, "--prepare");
    const Measured measured = measure(0, limit, kUnlimited, false);
    if (measured.timed_out)
      throw core::Error("the command as started is not finished after {} ({})",
                        core::format_seconds(limit),
                        judging_.timeout_seconds ? "--timeout"
                        : budget.seconds > 0     ? "all of the budget; see --budget"
                                                 : "see --timeout");
    if (judging_.goal == Goal::memory && measured.last.ok() && !measured.last.peak_bytes)
      throw core::UsageError(
          "--goal memory: the peak memory of the command is too small to be known");
    if (!measured.refused.empty())
      throw WithLines<core::Error>("the command as started does not work: " + measured.refused,
                                   shown(measured.last));
    run_line(judging_.check, "--check");
    if (i == 0) {
      hash = measured.last.output_hash;
      know_first(measured.last, budget);
    } else if (!judging_.ignore_output && hash != measured.last.output_hash) {
      hash.clear();
    }
  }
  if (!judging_.ignore_output && hash.empty())
    warnings_.push_back(
        "the command prints something else each time, so what candidates print is not compared; "
        "use --check to tell right results from wrong ones");
  if (!judging_.ignore_output) output_hash_ = hash;
  timeout_seconds_ =
      judging_.timeout_seconds.value_or(std::max(kLeastTimeout, kTimeoutFactor * first_seconds_));
}

void TunedCommand::know_first(const lab::ChildRun& run, const lab::tune::Budget& budget) {
  first_seconds_ = run.seconds;
  first_peak_bytes_ = run.peak_bytes;
  // A gain would be one of starting, which the line to use takes part in again.
  if (judging_.goal == Goal::time && first_seconds_ * repeat_ < kTooShort)
    throw core::UsageError(
        "one run takes {}, and starting it is most of that: tune a larger problem, or --repeat "
        "{:.0f}",
        core::format_seconds(first_seconds_), std::ceil(kSample / first_seconds_));
  repeat_ = judging_.repeat.value_or(repeat_for(budget));
  lab::tune::require_one_round(budget, first_seconds_ * repeat_);
}

// A short run says little: it meets other load or it does not. What is no time is not repeated: the
// metric of one run is what the command says.
int TunedCommand::repeat_for(const lab::tune::Budget& budget) const {
  if (judging_.goal == Goal::metric || judging_.goal == Goal::memory) return 1;
  double seconds = kSample;
  if (budget.seconds > 0) seconds = std::min(seconds, budget.seconds / kFewestSamples);
  return static_cast<int>(std::max(1.0, std::ceil(seconds / std::max(first_seconds_, 1e-6))));
}

// Shards print their parts each, and what is the user's own may print something else.
bool TunedCommand::prints_the_same(const lab::tune::Proposal& proposal,
                                   const Measured& measured) const {
  const CommandSetting setting = plan_.setting(plan_.space().candidates()[proposal.candidate]);
  const bool parts = plan_.request().shards && setting.processes > 1;
  return output_hash_.empty() || parts || !setting.values.empty() ||
         measured.last.output_hash == output_hash_;
}

lab::tune::RunResult TunedCommand::run(const lab::tune::Proposal& proposal) {
  core::Clock& clock = core::tick_clock();
  const double start = clock.now();
  lab::tune::RunResult outcome;
  const auto ended = [&]() -> lab::tune::RunResult& {
    outcome.seconds = clock.now() - start;
    return outcome;
  };
  outcome.refused = no_memory_for(proposal.candidate);
  if (!outcome.refused.empty()) return ended();
  run_line(judging_.prepare, "--prepare");
  // A limit of another value than time cannot be seen while the command runs.
  const double worst = judging_.goal == Goal::time ? proposal.limit * repeat_ : kUnlimited;
  const lab::OthersLoad others;
  const Measured measured = measure(proposal.candidate, timeout_seconds_, worst,
                                    proposal.phase == lab::tune::Phase::proof);
  outcome.others_pus = others.busy_pus();
  outcome.value = measured.value;
  outcome.refused = measured.refused;
  if (measured.timed_out) {
    outcome.stopped = measured.stopped;
    if (!outcome.stopped)
      outcome.refused =
          fmt::format("not finished after {}", core::format_seconds(timeout_seconds_));
    return ended();
  }
  if (outcome.refused.empty() && !prints_the_same(proposal, measured))
    outcome.refused = "it did not print the same as the command as started";
  if (outcome.refused.empty()) {
    try {
      run_line(judging_.check, "--check");
    } catch (const core::Error& error) {
      outcome.refused = error.what();
    }
  }
  return ended();
}

}  // namespace tabane::program
