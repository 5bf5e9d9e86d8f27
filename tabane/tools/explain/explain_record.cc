#include "tabane/tools/explain/explain_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "tabane/lab/record/text.h"
#include "tabane/lab/record_head.h"
#include "tabane/lab/study/study.h"
#include "tabane/lab/study/views.h"

namespace tabane::lab::explain {
namespace {

constexpr std::size_t kMostThreads = 16;  // of a table
constexpr double kLineBytes = 64;         // that one counted miss brings

// "memory bandwidth, 50 % taken", "shared cache, 8 MiB taken", "4 threads", "huge pages"
std::string level_text(Resource resource, const Level& level) {
  const std::string name = name_of(resource);
  if (!level.setting.empty()) return fmt::format("{}: {}", name, level.setting);
  switch (resource) {
    case Resource::bandwidth:
    case Resource::cpu_time:
    case Resource::disk:
      return fmt::format("{}, {} taken", name, show_percent(level.taken));
    case Resource::cache:
      return fmt::format("{}, {} taken", name, show(level.taken, "B"));
    case Resource::threads:
      return fmt::format("{:.0f} {}", level.taken, level.taken == 1 ? "thread" : "threads");
    default:
      return name;
  }
}

core::Interval interval_of(const Effect& effect) {
  return {effect.slowdown - effect.half, effect.slowdown + effect.half};
}

template <class Do>
void each_level(const Evidence& evidence, const Do& act) {
  for (const Trial& trial : evidence.trials)
    for (const Level& level : trial.levels)
      if (tells(trial.resource, level)) act(trial, level);
}

// ---- what holds it back, and what was tried ----

Entry gain_cell(const Cause& cause) {
  const double gain = cause.most_gain();
  return gain < 20 ? fmt::format("{:.2f} times as fast", gain) : "much faster";
}

void add_shares(Record& record, const Explanation& found) {
  Rows rows{{"cause", "share of its time", "without, at most"}, {}};
  std::vector<Cause> causes = found.shares;
  std::ranges::stable_sort(causes, std::greater(), &Cause::share);
  for (const Cause& cause : causes)
    rows.rows.push_back(
        {name_of(cause.kind), {cause.share, "share", cause.interval}, gain_cell(cause)});
  add_table(record, "What it spends its time on", std::move(rows),
            "The share is what goes away if this costs nothing: the slope of its time over what a "
            "use of the resource takes, or what was seen of its threads. Intervals are of 95 %, "
            "from the scatter of the runs or the number of looks; the last column uses their upper "
            "end. The share of computing is what the others leave.");
}

void add_slowdowns(Record& record, const Evidence& evidence, const Explanation& found) {
  Bars bars{.unit = "ratio", .reference = 1};
  each_level(evidence, [&](const Trial& trial, const Level& level) {
    const Effect effect = found.effect_of(level);
    bars.bars.push_back({.group = name_of(trial.resource),
                         .label = level_text(trial.resource, level),
                         .value = effect.slowdown,
                         .interval = interval_of(effect),
                         .remark = trial.how});
  });
  if (!bars.bars.empty())
    add_chart(record, "slowdowns", "Its time with one thing changed, relative to undisturbed runs",
              fmt::format("Medians of runs in turn; a bar that ends right of the line is slower. "
                          "The scatter of one run is {}, and the intervals follow from it.",
                          show_percent(found.noise)),
              std::move(bars));
}

void add_trials(Record& record, const Evidence& evidence) {
  Rows rows{{"what", "how"}, {}};
  for (const Trial& trial : evidence.trials) {
    const std::string how = trial.untried.empty() ? trial.how : "not tried: " + trial.untried;
    if (!how.empty()) rows.rows.push_back({name_of(trial.resource), how});
  }
  add_table(record, "How each thing was changed", std::move(rows), "");
}

// ---- curves ----

Curve measured(const Trial& trial, const Explanation& found, double scale) {
  Curve curve{.name = name_of(trial.resource)};
  if (trial.resource != Resource::threads) add_place(curve, 0, 1, std::nullopt);
  for (const Level& level : trial.levels) {
    if (!tells(trial.resource, level)) continue;
    const Effect effect = found.effect_of(level);
    add_place(curve, level.taken * scale, effect.slowdown, interval_of(effect));
  }
  return curve;
}

void add_taken(Record& record, const Evidence& evidence, const Explanation& found) {
  Curves curves{{"taken, per cent", ""}, {"time, relative", ""}, {}};
  curves.marks.push_back({.at = 1, .label = "undisturbed", .vertical = false});
  for (const Resource resource : {Resource::bandwidth, Resource::cpu_time, Resource::disk})
    if (const Trial* const trial = find_trial(evidence, resource))
      add_curve(curves, measured(*trial, found, 100));
  add_chart(record, "taken", "Time over the share that was taken away",
            "What depends on a resource for all of its time takes twice as long with half of it "
            "gone. A curve that is flat at first does not need what was taken there.",
            std::move(curves));
}

void add_cache(Record& record, const Evidence& evidence, const Explanation& found) {
  const Trial* const trial = find_trial(evidence, Resource::cache);
  if (trial == nullptr || !evidence.machine.cache) return;
  const double all = *evidence.machine.cache;
  const Shown shown = shown_in(all, "B");
  Curve curve{.name = "measured"};
  const Curve taken = measured(*trial, found, 1);
  for (std::size_t i = 0; i < taken.x.size(); ++i)
    add_place(curve, (all - taken.x[i]) * shown.factor, taken.y[i],
              core::Interval{taken.low[i], taken.high[i]});
  Curves curves{{"cache left, " + shown.unit, ""}, {"time, relative", ""}, {}};
  if (found.working_set)
    curves.marks.push_back(
        {found.working_set->bytes * shown.factor, "needs " + show(found.working_set->bytes, "B")});
  add_curve(curves, std::move(curve));
  add_chart(record, "cache", "Time over the shared cache that is left",
            found.working_set
                ? fmt::format("The line marks what it needs; with 95 % it is between {} and {}.",
                              show(found.working_set->interval.low, "B"),
                              show(found.working_set->interval.high, "B"))
                : "Taking the cache away makes no difference that was seen.",
            std::move(curves));
}

void add_threads_law(Record& record, const Evidence& evidence, const Explanation& found) {
  const Trial* const trial = find_trial(evidence, Resource::threads);
  if (trial == nullptr) return;
  Curves curves{{"threads", "", true}, {"time, relative", ""}, {}};
  add_curve(curves, measured(*trial, found, 1));
  std::string note = "Relative to the command as it was started.";
  if (found.threads) {
    Curve law{.name = "law", .role = Role::fitted};
    for (double n = trial->levels.front().taken; n <= trial->levels.back().taken * 1.001;
         n *= std::pow(2, 0.25))
      add_place(law, n, found.threads->seconds(n), std::nullopt);
    add_curve(curves, std::move(law));
    note += fmt::format(
        " The law is Gunther's: contention {:.2g}, coherency {:.2g}; it misses the points by {}.",
        found.threads->law.contention, found.threads->law.coherency,
        show_percent(found.threads->misfit));
  }
  add_chart(record, "threads", "Time over the number of threads", std::move(note),
            std::move(curves));
}

// ---- what was seen of undisturbed runs ----

constexpr std::pair<Doing, const char*> kShown[] = {
    {Doing::running, "running"}, {Doing::runnable, "waiting for a PU"},
    {Doing::lock, "locks"},      {Doing::pipe, "pipes"},
    {Doing::network, "network"}, {Doing::disk, "disks"},
    {Doing::child, "children"},  {Doing::sleep, "sleeping"}};

void add_over_time(Record& record, const Observed& observed) {
  Curves curves{{"time", "s"}, {"threads", ""}, {}};
  for (const auto& [doing, name] : kShown) {
    Curve curve{.name = name, .x = {}, .y = {}, .shape = -1};
    bool any = false;
    for (const Moment& moment : observed.moments) {
      curve.x.push_back(moment.seconds);
      curve.y.push_back(moment(doing));
      any |= moment(doing) > 0;
    }
    if (any) add_curve(curves, std::move(curve));
  }
  add_chart(record, "over_time", "What its threads do, over undisturbed runs",
            "Looks at all threads of all its processes. Where fewer run than at other times, "
            "threads have nothing to do, or wait for what the other curves name.",
            std::move(curves));
}

void add_threads(Record& record, const Observed& observed) {
  std::vector<ThreadSeen> threads = observed.threads;
  std::ranges::stable_sort(threads, std::greater(), &ThreadSeen::cpu_seconds);
  Rows rows{{"thread of", "PU time", "looks"}, {}};
  for (const auto& [doing, name] : kShown) rows.columns.emplace_back(name);
  for (std::size_t i = 0; i < std::min(threads.size(), kMostThreads); ++i) {
    const ThreadSeen& thread = threads[i];
    std::vector<Entry> row = {
        clean_utf8(thread.name), {thread.cpu_seconds, "s"}, count_entry(thread.seen())};
    for (const auto& [doing, name] : kShown)
      row.emplace_back(thread(doing) / std::max(1.0, double(thread.seen())), "share");
    rows.rows.push_back(std::move(row));
  }
  add_table(record, "Its threads", std::move(rows),
            threads.size() > kMostThreads
                ? fmt::format("The {} with most PU time, of {}.", kMostThreads, threads.size())
                : "");
}

void add_observed(Record& record, const Observed& observed) {
  if (observed.seconds.empty()) return;
  Rows rows{{"of an undisturbed run", "median"}, {}};
  const std::tuple<const char*, std::optional<double>, const char*> all[] = {
      {"wall time", core::median(observed.seconds), "s"},
      {"user time", observed.user, "s"},
      {"system time", observed.system, "s"},
      {"page faults", observed.minor_faults, "1"},
      {"read and written on disks", observed.disk_bytes, "B"}};
  for (const auto& [what, value, unit] : all)
    if (value) rows.rows.push_back({what, *value == 0 ? Entry("0") : Entry(value, unit)});
  add_table(record, "Undisturbed", std::move(rows), "");
}

// Where counters are allowed.
void add_counts(Record& record, const Evidence& evidence) {
  std::map<std::string, double> counts;
  for (const auto& [name, count] : evidence.observed.counts) counts[name] = count;
  const double seconds =
      evidence.observed.seconds.empty() ? 0 : core::median(evidence.observed.seconds);
  const double instructions = counts[core::events::kInstructions];
  const double cycles = counts[core::events::kCycles];
  const double bytes = counts[core::events::kCacheMisses] * kLineBytes;
  if (!(instructions > 0) || !(seconds > 0)) return;
  Rows rows{{"counted", "figure"}, {}};
  if (cycles > 0) rows.rows.push_back({"instructions per cycle", {instructions / cycles, "ratio"}});
  if (bytes > 0) rows.rows.push_back({"misses of the cache, as bytes", {bytes / seconds, "B/s"}});
  add_table(record, "Counted by the processor", std::move(rows),
            "For comparison: no conclusion uses it.");
}

void add_runs(Record& record, const Evidence& evidence) {
  Curves curves{{"run", ""}, {"time", "s"}, {}};
  double number = 0;
  for (const Run& run : evidence.runs) {
    const std::string name =
        !run.resource ? run.given_up ? "fewer PUs" : "undisturbed" : name_of(*run.resource);
    auto curve = std::ranges::find(curves.series, name, &Curve::name);
    if (curve == curves.series.end())
      curve = curves.series.insert(curve, {.name = name, .x = {}, .y = {}, .joined = false});
    curve->x.push_back(++number);
    curve->y.push_back(run.seconds);
  }
  add_chart(record, "runs", "Every run, in the order in which they were taken",
            "Undisturbed runs that differ show how much the machine changed meanwhile.",
            std::move(curves));
}

// ---- figures, by which explanations are compared ----

void add_figures(Record& record, const Evidence& evidence, const Explanation& found) {
  if (!evidence.observed.seconds.empty()) {
    Result& result =
        add_result(record, "undisturbed", "wall time as started", {0.0, "s"}, Better::lower);
    set_samples(result, evidence.observed.seconds);
    const Effect effect = found.effect_of({.slowdowns = evidence.observed.seconds});
    result.interval = interval_of(effect);
  }
  // Levels are numbered: what exactly was taken differs from call to call.
  each_level(evidence, [&](const Trial& trial, const Level& level) {
    const bool counts = trial.resource == Resource::threads;
    const std::string part = counts ? fmt::format("{:.0f}", level.taken)
                             : !level.setting.empty()
                                 ? level.setting
                                 : std::to_string(1 + (&level - trial.levels.data()));
    Result& result = add_result(
        record, fmt::format("slowdown.{}.{}", name_part(name_of(trial.resource)), name_part(part)),
        "time relative to undisturbed runs, " + level_text(trial.resource, level), {0.0, "ratio"},
        Better::neither);
    set_samples(result, level.slowdowns);
    result.interval = interval_of(found.effect_of(level));
  });
  for (const Cause& cause : found.shares)
    add_result(record, "share." + name_part(name_of(cause.kind)),
               fmt::format("share of its time: {}", name_of(cause.kind)),
               {cause.share, "share", cause.interval}, Better::neither);
  if (found.working_set)
    add_result(record, "working_set", "shared cache that it needs",
               {found.working_set->bytes, "B", found.working_set->interval}, Better::neither);
  const std::string held = "the command " + clean_utf8(evidence.command);
  for (Result& result : record.results) result.details[detail::kHeldFixed] = held;
  for (View& view : record.views) view.details[detail::kHeldFixed] = view.title + " of " + held;
}

}  // namespace

Record explain_record(const core::Topology& topology, const Evidence& evidence,
                      const Explanation& explanation, const std::string& command_line) {
  const std::string title = fmt::format("What holds '{}' back", clean_utf8(evidence.command));
  const About about = {"explain", title.c_str(),
                       "runs with one thing taken away or given, in turn with undisturbed ones"};
  Record record = begin_record(topology, lab::Kind::study, about, command_line, false);
  record.complete = evidence.complete;
  record.duration_s = evidence.seconds;
  record.sentences = explanation.sentences;
  add_shares(record, explanation);
  add_slowdowns(record, evidence, explanation);
  add_taken(record, evidence, explanation);
  add_cache(record, evidence, explanation);
  add_threads_law(record, evidence, explanation);
  add_over_time(record, evidence.observed);
  add_threads(record, evidence.observed);
  add_observed(record, evidence.observed);
  add_counts(record, evidence);
  add_runs(record, evidence);
  add_trials(record, evidence);
  add_figures(record, evidence, explanation);
  return record;
}

}  // namespace tabane::lab::explain
