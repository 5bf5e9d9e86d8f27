#include "tabane/tools/time/time_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "tabane/lab/record/text.h"
#include "tabane/lab/record_head.h"
#include "tabane/lab/study/study.h"

namespace tabane::lab {
namespace {

constexpr About kAbout = {"time", "Commands measured in turn",
                          "one run of each per round, in an order drawn anew"};

// Outliers that differ by less from the median are not worth a word.
constexpr double kWorthAWord = 1.05;
// What takes less is mostly the start of a process, or of the shell.
constexpr double kShort = 1e-3, kShortForShell = 10e-3;

std::vector<double> sum_of(const Point& point, const char* a, const char* b) {
  std::vector<double> sum = seen_with(point, a);
  const std::vector<double>& more = seen_with(point, b);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
  return sum;
}

// The median of those that are known; null if most are not.
std::optional<double> known_median(std::vector<double> values) {
  const std::size_t all = values.size();
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty() || 2 * values.size() < all) return std::nullopt;
  return core::median(values);
}

// A time of 0 is less than what the system counts in.
Entry time_cell(std::optional<double> seconds) {
  return seconds && *seconds == 0 ? Entry("0") : Entry(seconds, "s");
}

Entry ratio_cell(const core::Ratio& ratio, bool is_first) {
  if (is_first) return {1.0, "ratio"};
  return {ratio.value, "ratio", with_ends(ratio.interval)};
}

void add_figures(Record& record, const std::vector<TimeContender>& contenders,
                 const Timings& timings) {
  add_results(record, timings.points, [](const Point&) { return "wall time of a command"; });
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    Result& wall = record.results[i];
    wall.what = fmt::format("wall time of '{}'", contenders[i].name);
    wall.interval = with_ends(timings.medians[i]);
  }
  const std::size_t commands = record.results.size();
  for (std::size_t i = 1; i < contenders.size(); ++i) {
    const std::string name = record.results[i].name;
    const Factors factors = record.results[i].factors;
    Result& ratio = add_result(
        record, "",
        fmt::format("time of '{}' over that of '{}'", contenders[i].name, contenders[0].name),
        ratio_cell(timings.to_first[i], false), Better::lower);
    ratio.name = name + ".ratio";
    ratio.factors = factors;
  }
  const auto add = [&](std::size_t i, const char* part, const char* what, const char* unit,
                       std::vector<double> samples) {
    if (!known_median(samples)) return;
    std::erase_if(samples, [](double value) { return std::isnan(value); });
    Result& result = add_result(record, "", fmt::format("{} of '{}'", what, contenders[i].name),
                                {0.0, unit}, Better::lower);
    set_samples(result, std::move(samples));
    result.name = record.results[i].name + part;
    result.factors = record.results[i].factors;
  };
  for (std::size_t i = 0; i < commands; ++i) {
    const Point& point = timings.points[i];
    std::vector<double> peaks = seen_with(point, seen::kPeakBytes);
    if (!known_median(peaks) && timings.warm_peak_bytes[i]) peaks = {*timings.warm_peak_bytes[i]};
    add(i, ".user", "user time", "s", seen_with(point, seen::kUser));
    add(i, ".system", "system time", "s", seen_with(point, seen::kSystem));
    add(i, ".peak_memory", "largest resident memory of a process", "B", std::move(peaks));
    add(i, ".switches", "context switches", "1",
        sum_of(point, seen::kVoluntarySwitches, seen::kInvoluntarySwitches));
    add(i, ".faults", "page faults", "1", sum_of(point, seen::kMinorFaults, seen::kMajorFaults));
  }
}

void add_rows(Record& record, const std::vector<TimeContender>& contenders,
              const Timings& timings) {
  const bool several = contenders.size() > 1;
  const bool failed = std::ranges::any_of(timings.failures, [](int runs) { return runs > 0; });
  Rows rows{{"command", "time"}, {}};
  if (several) rows.columns.push_back("ratio");
  for (const char* column : {"user", "system", "peak memory", "switches", "faults"})
    rows.columns.push_back(column);
  if (failed) rows.columns.push_back("failed runs");
  for (const std::size_t i : timings.order) {
    const Point& point = timings.points[i];
    std::vector<Entry> row = {contenders[i].name,
                              {point.median(), "s", with_ends(timings.medians[i])}};
    if (several) row.push_back(ratio_cell(timings.to_first[i], i == 0));
    row.push_back(time_cell(known_median(seen_with(point, seen::kUser))));
    row.push_back(time_cell(known_median(seen_with(point, seen::kSystem))));
    const auto peak = known_median(seen_with(point, seen::kPeakBytes));
    row.push_back({peak ? peak : timings.warm_peak_bytes[i], "B"});
    row.push_back(
        {known_median(sum_of(point, seen::kVoluntarySwitches, seen::kInvoluntarySwitches)), "1"});
    row.push_back({known_median(sum_of(point, seen::kMinorFaults, seen::kMajorFaults)), "1"});
    if (failed) row.push_back(count_entry(timings.failures[i]));
    rows.rows.push_back(std::move(row));
  }
  add_table(record, fmt::format("{} rounds in turn", timings.rounds()), std::move(rows),
            several ? "Medians. Ratios are to the first command, of two runs of one round each; in "
                      "brackets are 95 % intervals, which all hold together, however often they "
                      "are looked at."
                    : "Medians; in brackets is a 95 % interval, which holds however often it is "
                      "looked at.");
}

// What the processor counted, if it did.
void add_counts(Record& record, const std::vector<TimeContender>& contenders,
                const Timings& timings) {
  namespace events = core::events;
  Rows rows{{"command"}, {}};
  for (const std::size_t i : timings.order) rows.rows.push_back({contenders[i].name});
  for (const auto& [head, name, scale, unit] :
       {std::tuple{"instructions, millions", events::kInstructions, 1e6, "1"},
        {"cycles, millions", events::kCycles, 1e6, "1"},
        {"cache misses, thousands", events::kCacheMisses, 1e3, "1"},
        {"TLB misses, thousands", events::kTlbMisses, 1e3, "1"},
        {"energy", events::kEnergy, 1.0, "J"}}) {
    std::vector<Entry> entries;
    for (const std::size_t i : timings.order) {
      const auto& beside = timings.points[i].beside;
      const auto found = beside.find(name);
      auto value = found == beside.end() ? std::nullopt : known_median(found->second);
      if (value) *value /= scale;
      entries.emplace_back(value, unit);
    }
    if (std::ranges::all_of(entries, &Entry::none)) continue;
    rows.columns.emplace_back(head);
    for (std::size_t row = 0; row < entries.size(); ++row) rows.rows[row].push_back(entries[row]);
  }
  if (rows.columns.size() > 1)
    add_table(record, "Counted by the processor", std::move(rows),
              "Medians over the runs. Only what the command's programs do themselves counts, not "
              "what the kernel does for them; energy is that of all packages meanwhile, whoever "
              "used it. Commands below 10 ms are not counted: counting would slow them down.");
}

std::string of_how_many(std::size_t count, std::size_t all) {
  return fmt::format("{} of {} runs", count, all);
}

void warn_of_outliers(Record& record, const TimeContender& contender, const Point& point) {
  const double median = point.median();
  const auto worth = [&](std::vector<std::size_t> found) {
    std::erase_if(found, [&](std::size_t i) {
      const double ratio = point.samples[i] / median;
      return ratio < kWorthAWord && ratio > 1 / kWorthAWord;
    });
    return found;
  };
  const auto far = worth(core::outliers_far_fence(point.samples));
  const auto above = worth(core::outliers_mean_plus(point.samples));
  if (far.empty() && above.empty()) return;
  double most = 0;
  for (const auto* found : {&far, &above}) {
    for (const std::size_t i : *found) most = std::max(most, point.samples[i] / median);
  }
  const bool first = std::ranges::find(far, 0U) != far.end() && far.size() == 1;
  std::string seen =
      fmt::format("'{}': {} {}", contender.name, of_how_many(far.size(), point.samples.size()),
                  far.size() == 1 ? "is an outlier" : "are outliers");
  if (!above.empty()) seen += fmt::format(", {} at least 1 s above the mean", above.size());
  if (most > 1) seen += fmt::format("; the slowest took {:.2f} times the median", most);
  record.warnings.push_back(
      {.id = "outliers",
       .seen = seen + (first ? "; it was the first run" : ""),
       .may_mean = first ? "files were read from disk that were in memory later"
                         : "other programs ran meanwhile, or files were written back",
       .do_this =
           first ? "take more warm-up rounds (-w 3), or empty the caches before each run "
                   "(--prepare)"
                 : "medians and ratios are hardly affected; for the times themselves measure on a "
                   "quieter machine"});
}

void warn_of_short_runs(Record& record, const std::vector<TimeContender>& contenders,
                        const TimeEffort& effort, const Timings& timings, const TimedWith& with) {
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const double median = timings.points[i].median();
    if (with.shell_seconds && median < kShortForShell) {
      record.warnings.push_back(
          {.id = "shell",
           .seen =
               fmt::format("'{}' takes {}, and a shell that does nothing {}", contenders[i].name,
                           show(median, "s"), show(*with.shell_seconds, "s")),
           .may_mean = "a good part of what is compared is the shell",
           .do_this = "start the commands without one (-N)"});
      return;
    }
    if (median < kShort && effort.repeat == 1) {
      record.warnings.push_back(
          {.id = "short",
           .seen = fmt::format("'{}' takes {}", contenders[i].name, show(median, "s")),
           .may_mean = "most of it is the start of a process",
           .do_this = "let a command do more work; --repeat 100 makes one sample of 100 runs"});
      return;
    }
  }
}

void add_warnings(Record& record, const std::vector<TimeContender>& contenders,
                  const TimeEffort& effort, const Timings& timings, const TimedWith& with) {
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    if (timings.failures[i] > 0)
      record.warnings.push_back(
          {.id = "failures",
           .seen = fmt::format(
               "'{}': {} failed", contenders[i].name,
               of_how_many(static_cast<std::size_t>(timings.failures[i]), timings.rounds())),
           .may_mean = "what was timed is not the work that was meant",
           .do_this = "look at what it prints (--show-output)"});
    if (timings.left_processes[i])
      record.warnings.push_back(
          {.id = "left_processes",
           .seen = fmt::format("'{}' left processes running when it ended", contenders[i].name),
           .may_mean =
               "work in the background that is not in its time; it was ended after each run",
           .do_this = "let the command wait for it"});
    warn_of_outliers(record, contenders[i], timings.points[i]);
  }
  warn_of_short_runs(record, contenders, effort, timings, with);
}

std::string how_it_stopped(const TimeEffort& effort, const Timings& timings) {
  const bool one = timings.to_first.size() == 1;
  std::string reached = "that is too few rounds for an interval";
  if (std::isfinite(timings.precision))
    reached = (one ? "the time is known to " : "what is not shown to differ is known to ") +
              show_percent(timings.precision);
  if (!one && timings.precision == 0) reached = "each ratio is shown to differ from 1";
  switch (timings.end) {
    case TimeEnd::known:
      return fmt::format(
          "Enough is known after {} rounds: {}.", timings.rounds(),
          one ? fmt::format("the time is known to {:.2g} %", 100 * effort.precision)
              : fmt::format("each ratio is known to {:.2g} %, or shown to differ from 1",
                            100 * effort.precision));
    case TimeEnd::budget:
      return fmt::format("The time for measuring is over after {} rounds: {} (see --max-time).",
                         timings.rounds(), reached);
    case TimeEnd::most_rounds:
      return fmt::format("{} rounds were taken: {}.", timings.rounds(), reached);
    case TimeEnd::stopped:
      break;
  }
  return fmt::format("Stopped after {} rounds: {}.", timings.rounds(), reached);
}

void add_sentences(Record& record, const std::vector<TimeContender>& contenders,
                   const TimeEffort& effort, const Timings& timings) {
  for (const std::size_t i : timings.order) {
    if (i > 0)
      record.sentences.push_back(
          ratio_sentence(contenders[i].name, contenders[0].name, timings.to_first[i]));
  }
  record.sentences.push_back(how_it_stopped(effort, timings));
}

}  // namespace

std::string ratio_sentence(const std::string& name, const std::string& first,
                           const core::Ratio& ratio) {
  const auto interval = with_ends(ratio.interval);
  if (!interval)
    return fmt::format("'{}' and '{}': too few rounds to say which is faster.", name, first);
  const int digits = std::fabs(ratio.value - 1) < 0.1 ? 3 : ratio.value < 0.1 ? 4 : 2;
  const std::string how = fmt::format("{:.{}f} [{:.{}f}, {:.{}f}]", ratio.value, digits,
                                      interval->low, digits, interval->high, digits);
  if (ratio.undecided())
    return fmt::format("No difference seen between '{}' and '{}': ratio {}.", name, first, how);
  const std::string faster = ratio.value < 1
                                 ? fmt::format(": it is {:.{}f} times as fast", 1 / ratio.value,
                                               ratio.value < 0.1 ? 1 : digits)
                                 : "";
  return fmt::format("'{}' takes {} times as long as '{}'{}.", name, how, first, faster);
}

Record time_record(const core::Topology& topology, const std::vector<TimeContender>& contenders,
                   const TimeEffort& effort, const Timings& timings, const TimedWith& with) {
  Record record = begin_record(topology, Kind::study, kAbout, with.command_line, false);
  record.complete = timings.end != TimeEnd::stopped;
  record.duration_s = timings.seconds;
  add_figures(record, contenders, timings);
  add_rows(record, contenders, timings);
  add_counts(record, contenders, timings);
  add_sentences(record, contenders, effort, timings);
  add_warnings(record, contenders, effort, timings, with);
  add_time_charts(record, contenders, effort, timings);
  return record;
}

namespace {

// Null where it is not known.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json numbers(const std::vector<double>& values) {
  Json all = Json::array();
  for (const double value : values) all.push_back(number(value));
  return all;
}

Json interval(const core::Interval& ends) { return {number(ends.low), number(ends.high)}; }

// What hyperfine reports of a command, and what tabane adds.
struct Told {
  Json first, parameters = Json::object(), then;
};

Told told(const TimeContender& contender, const Timings& timings, std::size_t i) {
  const Point& point = timings.points[i];
  const core::Summary summary = core::summarize(point.samples);
  Told all;
  all.first = {{"command", contender.name},
               {"mean", summary.mean},
               {"stddev", summary.count > 1 ? Json(summary.standard_deviation) : Json(nullptr)},
               {"median", summary.median},
               {"user", core::mean(seen_with(point, seen::kUser))},
               {"system", core::mean(seen_with(point, seen::kSystem))},
               {"min", summary.min},
               {"max", summary.max}};
  for (const Factor& factor : contender.factors) {
    if (factor.name != kCommandFactor) all.parameters[factor.name] = factor.level.text();
  }
  const core::Ratio& ratio = timings.to_first[i];
  all.then = {{"median_interval", interval(timings.medians[i])},
              {"ratio", ratio.value},
              {"ratio_interval", interval(ratio.interval)},
              {"context_switches",
               core::median(sum_of(point, seen::kVoluntarySwitches, seen::kInvoluntarySwitches))},
              {"page_faults", core::median(sum_of(point, seen::kMinorFaults, seen::kMajorFaults))},
              {"rounds", timings.rounds()}};
  return all;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string csv_cell(const Json& value) {
  if (value.is_null()) return "";
  return csv_cell(value.is_string() ? value.get<std::string>() : value.dump());
}

// How a table is written; bar: what a bar in a cell becomes.
struct MarkupText {
  std::string begin, row_begin, between, row_end, rule, end, quote, bar;
};

const MarkupText& markup_text(Markup markup) {
  static const MarkupText kTexts[] = {
      {"", "| ", " | ", " |", "|:---|---:|---:|---:|---:|\n", "", "`", "\\|"},
      {"[cols=\"<,>,>,>,>\",options=\"header\"]\n|===\n", "| ", " | ", "", "", "|===\n", "`",
       "\\|"},
      {"", "| ", " | ", " |", "|---+---+---+---+---|\n", "", "=", "\\vert{}"}};
  return kTexts[static_cast<int>(markup)];
}

std::string table_cell(const std::string& text, const std::string& bar) {
  std::string out;
  for (const char c : text) out += c == '|' ? bar : c == '\n' ? " " : std::string(1, c);
  return out;
}

// Adds a row of names or of values; an interval has two columns.
void add_columns(std::vector<std::string>& names, std::vector<std::string>& values,
                 const Json& from, const std::string& prefix) {
  for (const auto& [name, value] : from.items()) {
    if (value.is_array()) {
      for (std::size_t end = 0; end < 2; ++end) {
        names.push_back(prefix + name + (end == 0 ? "_low" : "_high"));
        values.push_back(csv_cell(value[end]));
      }
    } else {
      names.push_back(csv_cell(prefix + name));
      values.push_back(csv_cell(value));
    }
  }
}

}  // namespace

std::string export_json(const std::vector<TimeContender>& contenders, const Timings& timings) {
  Json results = Json::array();
  for (const std::size_t i : timings.order) {
    const Point& point = timings.points[i];
    Told all = told(contenders[i], timings, i);
    Json result = std::move(all.first);
    result["times"] = point.samples;
    Json codes = Json::array();
    for (const double code : seen_with(point, seen::kExitCode))
      codes.push_back(static_cast<int>(code));
    result["exit_codes"] = std::move(codes);
    if (!all.parameters.empty()) result["parameters"] = std::move(all.parameters);
    result["memory_usage_byte"] = numbers(seen_with(point, seen::kPeakBytes));
    result.update(all.then);
    results.push_back(std::move(result));
  }
  return Json{{"results", std::move(results)}}.dump(2, Json::Invalid::replaced) + "\n";
}

std::string export_csv(const std::vector<TimeContender>& contenders, const Timings& timings) {
  std::string out;
  // Contenders may have different factors: each column is that of any of them.
  Json all_parameters = Json::object();
  for (const TimeContender& contender : contenders) {
    for (const Factor& factor : contender.factors) {
      if (factor.name != kCommandFactor) all_parameters[factor.name] = nullptr;
    }
  }
  for (const std::size_t i : timings.order) {
    const Told all = told(contenders[i], timings, i);
    Json parameters = all_parameters;
    parameters.update(all.parameters);
    std::vector<std::string> names, values;
    add_columns(names, values, all.first, "");
    add_columns(names, values, parameters, "parameter_");
    add_columns(names, values, all.then, "");
    if (out.empty()) out += fmt::format("{}\n", fmt::join(names, ","));
    out += fmt::format("{}\n", fmt::join(values, ","));
  }
  return out;
}

std::string export_table(const std::vector<TimeContender>& contenders, const Timings& timings,
                         Markup markup) {
  const MarkupText& text = markup_text(markup);
  const auto line = [&](const std::vector<std::string>& cells) {
    return fmt::format("{}{}{}\n", text.row_begin, fmt::join(cells, text.between), text.row_end);
  };
  std::string out = text.begin + line({"Command", "Median", "Min", "Max", "Ratio"}) + text.rule;
  for (const std::size_t i : timings.order) {
    const core::Summary summary = core::summarize(timings.points[i].samples);
    const core::Ratio& ratio = timings.to_first[i];
    out += line({text.quote + table_cell(contenders[i].name, text.bar) + text.quote,
                 text_of(Entry(summary.median, "s", timings.medians[i])),
                 text_of(Entry(summary.min, "s")), text_of(Entry(summary.max, "s")),
                 i == 0 ? "1.00" : text_of(Entry(ratio.value, "ratio", ratio.interval))});
  }
  return out + text.end;
}

}  // namespace tabane::lab
