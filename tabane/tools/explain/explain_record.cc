#include "tabane/tools/explain/explain_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "tabane/core/memory.h"
#include "tabane/core/units.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/record_head.h"
#include "tabane/lab/study/captions.h"

namespace tabane::lab::explain {
namespace {

constexpr std::size_t kMostThreads = 16;  // of a table
constexpr std::size_t kPlaces = 40;       // of a curve over time, or fewer
constexpr double kShownShare = 0.1;       // of its time, that it may be

constexpr const char* kFewerPus = "fewer PUs";  // of runs
constexpr std::pair<Doing, const char*> kShown[] = {
    {Doing::running, "running"}, {Doing::runnable, "waiting for a PU"},
    {Doing::lock, "locks"},      {Doing::pipe, "pipes"},
    {Doing::network, "network"}, {Doing::disk, "disks"},
    {Doing::child, "children"},  {Doing::sleep, "sleeping"}};

// "memory bandwidth, 50 % taken", "shared cache, 8 MiB taken", "4 threads", "huge pages"
std::string level_text(Resource resource, const Level& level) {
  const std::string name = name_of(resource);
  if (!level.setting.empty()) return name + ": " + level.setting;
  if (resource == Resource::threads)
    return core::counted(static_cast<std::uint64_t>(level.taken), "thread");
  if (resource == Resource::cache) return name + ", " + show(level.taken, "B") + " taken";
  if (resource == Resource::bandwidth || resource == Resource::cpu_time)
    return name + ", " + show_percent(level.taken) + " taken";
  return name;
}

class RecordBuilder {
 public:
  RecordBuilder(Record& record, const Evidence& evidence, const Explanation& found)
      : record_(record), evidence_(evidence), found_(found) {}

  void build() {
    add_shares();
    add_slowdowns();
    add_taken();
    add_threads_law();
    if (!evidence_.observed.seconds.empty()) {
      add_over_time();
      add_threads();
      add_undisturbed();
    }
    add_runs();
    add_changes();
    add_figures();
    const std::string held = "the command " + clean_utf8(evidence_.command);
    for (Result& result : record_.results) result.details[detail::kHeldFixed] = held;
    for (View& view : record_.views)
      if (!view.details.contains(detail::kHeldFixed))
        view.details[detail::kHeldFixed] = view.title + " of " + held;
  }

 private:
  void each_level(const std::function<void(const Trial&, const Level&, const Effect&)>& act) const {
    for (const Trial& trial : evidence_.trials)
      for (const Level& level : trial.levels)
        if (tells(trial.resource, level)) act(trial, level, found_.effect_of(level));
  }

  // ---- what holds it back, and what was tried ----

  void add_shares() {
    std::vector<Cause> causes = found_.shares;
    std::erase_if(causes, [](const Cause& cause) { return cause.most() < kShownShare; });
    views_.table("shares", rows_of({"cause", "share of its time", "if that took", "times as fast"},
                                   causes, [](const Cause& cause) -> std::vector<Entry> {
                                     Entry gain(cause.gain_of(cause.share), "ratio");
                                     if (cause.interval)
                                       gain.interval = {cause.gain_of(cause.interval->low),
                                                        cause.gain_of(cause.interval->high)};
                                     return {
                                         name_of(cause.kind),
                                         {cause.share, "share", cause.interval},
                                         cause.kind <= Kind::computing ? "half as long" : "no time",
                                         gain};
                                   }));
  }

  void add_slowdowns() {
    Bars bars{.unit = "ratio", .reference = 1};
    each_level([&](const Trial& trial, const Level& level, const Effect& effect) {
      bars.bars.push_back({.group = name_of(trial.resource),
                           .label = level_text(trial.resource, level),
                           .value = effect.slowdown,
                           .interval = effect.interval()});
    });
    if (!bars.bars.empty())
      views_.chart("slowdowns", std::move(bars), {{"noise", show_percent(found_.noise.deviation)}});
  }

  void add_changes() {
    views_.table(
        "changed",
        rows_of({"what", "how"}, evidence_.trials, [](const Trial& trial) -> std::vector<Entry> {
          if (trial.untried.empty() && trial.how.empty()) return {};
          return {name_of(trial.resource),
                  trial.untried.empty() ? trial.how : "not tried: " + trial.untried};
        }));
  }

  // ---- curves ----

  Curve measured(Resource resource, double scale) const {
    Curve curve{.name = name_of(resource)};
    each_level([&](const Trial& trial, const Level& level, const Effect& effect) {
      if (trial.resource != resource) return;
      if (curve.x.empty() && resource != Resource::threads) add_place(curve, 0, 1, std::nullopt);
      add_place(curve, level.taken * scale, effect.slowdown, effect.interval());
    });
    return curve;
  }

  void add_taken() {
    Curves curves{{"taken, per cent", ""}, {"time, relative", ""}, {}};
    curves.marks.push_back({.at = 1, .label = "undisturbed", .vertical = false});
    for (const Resource resource : {Resource::bandwidth, Resource::cpu_time})
      add_curve(curves, measured(resource, 100));
    if (const auto all = evidence_.machine.cache) {
      add_curve(curves, measured(Resource::cache, 100 / *all));
      if (const auto& set = found_.working_set)
        curves.marks.push_back(
            {100 * std::max(0.0, 1 - set->bytes.value / *all), "cache that it does not need"});
    }
    views_.chart("taken", std::move(curves));
  }

  void add_threads_law() {
    Curves curves{{"threads", "", true}, {"time, relative", ""}, {}};
    const Curve points = measured(Resource::threads, 1);
    add_curve(curves, points);
    CaptionValues values;
    if (found_.threads) {
      Curve law{.name = "law", .role = Role::fitted};
      for (double n = points.x.front(); n <= points.x.back() * 1.001; n *= std::pow(2, 0.25))
        add_place(law, n, found_.threads->seconds(n), std::nullopt);
      add_curve(curves, std::move(law));
      values = {{"contention", show_percent(found_.threads->law.contention)},
                {"coherency", show_percent(found_.threads->law.coherency)},
                {"misfit", show_percent(found_.threads->misfit)}};
    }
    views_.chart("threads", std::move(curves), values);
  }

  // ---- what was seen of undisturbed runs ----

  // What any of these threads was seen to do.
  static auto seen_of(const std::vector<ThreadSeen>& threads) {
    std::vector<std::pair<Doing, const char*>> seen(std::begin(kShown), std::end(kShown));
    std::erase_if(seen, [&](const auto& shown) {
      return std::ranges::none_of(
          threads, [&](const ThreadSeen& thread) { return thread.looks(shown.first) > 0; });
    });
    return seen;
  }

  // Single looks jump between whole numbers of threads, so each place is the mean of some.
  void add_over_time() {
    const std::vector<Moment>& moments = evidence_.observed.moments;
    const std::size_t looks = 1 + moments.size() / kPlaces;
    Curves curves{{"time", "s"}, {"threads", ""}, {}};
    for (const auto& [doing, name] : seen_of(evidence_.observed.threads)) {
      Curve curve{.name = name, .x = {}, .y = {}, .shape = -1};
      for (std::size_t i = 0; i + looks <= moments.size(); i += looks) {
        double sum = 0;
        for (std::size_t k = i; k < i + looks; ++k) sum += moments[k].threads(doing);
        curve.x.push_back(moments[i].seconds);
        curve.y.push_back(sum / static_cast<double>(looks));
      }
      add_curve(curves, std::move(curve));
    }
    views_.chart("over_time", std::move(curves), {{"looks", core::counted(looks, "look")}});
  }

  void add_threads() {
    std::vector<ThreadSeen> threads = evidence_.observed.threads;
    std::ranges::stable_sort(threads, std::greater(), &ThreadSeen::cpu_seconds);
    const std::size_t all = threads.size();
    threads.resize(std::min(all, kMostThreads));
    std::vector<std::string> columns = {"thread of", "PU time"};
    const auto seen = seen_of(threads);
    for (const auto& [doing, name] : seen) columns.emplace_back(name);
    views_.table(
        "each_thread",
        rows_of(std::move(columns), threads,
                [&](const ThreadSeen& thread) {
                  const double looks = std::max(1, thread.looks.all());
                  std::vector<Entry> row = {clean_utf8(thread.name), {thread.cpu_seconds, "s"}};
                  for (const auto& [doing, name] : seen)
                    row.emplace_back(thread.looks(doing) / looks, "share");
                  return row;
                }),
        {{"all", all > threads.size() ? std::to_string(all) : ""}});
  }

  void add_undisturbed() {
    const Observed& seen = evidence_.observed;
    const double seconds = core::median(seen.seconds);
    std::map<std::string_view, double> counts(seen.counts.begin(), seen.counts.end());
    const double instructions = counts[core::events::kInstructions],
                 cycles = counts[core::events::kCycles],
                 misses = counts[core::events::kCacheMisses];
    Rows rows{{"of one run", "median"}, {}};
    const auto add = [&](const char* what, std::optional<double> value, const char* unit) {
      if (value) rows.rows.push_back({what, *value == 0 ? Entry("0") : Entry(value, unit)});
    };
    add("wall time", seconds, "s");
    add("user time", seen.user, "s");
    add("system time", seen.system, "s");
    add("page faults", seen.minor_faults, "1");
    add("read and written on disks", seen.disk_bytes, "B");
    if (instructions * cycles > 0) add("instructions per cycle", instructions / cycles, "ratio");
    const double missed_bytes = misses * static_cast<double>(core::cache_line_bytes());
    if (misses > 0) add("misses of the cache, as bytes", missed_bytes / seconds, "B/s");
    views_.table("undisturbed", std::move(rows),
                 {{"counted", instructions + misses > 0 ? "counted" : ""}});
  }

  void add_runs() {
    std::vector<Curve> curves;
    for (std::size_t i = 0; i < evidence_.runs.size(); ++i) {
      const auto& [changed, seconds] = evidence_.runs[i];
      auto curve = std::ranges::find(curves, changed, &Curve::name);
      if (curve == curves.end()) curve = curves.insert(curve, {.name = changed, .x = {}, .y = {}});
      curve->x.push_back(static_cast<double>(i));
      curve->y.push_back(seconds);
    }
    const bool fewer = std::ranges::count(curves, kFewerPus, &Curve::name) > 0;
    views_.order_chart("runs", {"time", "s"}, std::move(curves),
                       {{"fewer", fewer ? kFewerPus : ""}});
  }

  // ---- figures, by which explanations are compared ----

  void add_figures() {
    if (const Level undisturbed{.slowdowns = evidence_.observed.seconds};
        !undisturbed.slowdowns.empty()) {
      Result& result =
          add_result(record_, "undisturbed", "wall time as started", {0.0, "s"}, Better::lower);
      set_samples(result, undisturbed.slowdowns);
      result.interval = found_.effect_of(undisturbed).interval();
    }
    // Levels are numbered: what exactly was taken differs from call to call.
    each_level([&](const Trial& trial, const Level& level, const Effect& effect) {
      const std::string number = trial.resource == Resource::threads
                                     ? fmt::format("{:.0f}", level.taken)
                                     : std::to_string(1 + (&level - trial.levels.data()));
      Result& result =
          add_result(record_,
                     fmt::format("slowdown.{}.{}", name_part(name_of(trial.resource)),
                                 level.setting.empty() ? number : name_part(level.setting)),
                     "time relative to undisturbed runs, " + level_text(trial.resource, level),
                     {0.0, "ratio"}, Better::neither);
      set_samples(result, level.slowdowns);
      result.interval = effect.interval();
    });
    for (const Cause& cause : found_.shares) {
      Result& result = add_result(record_, "share." + name_part(name_of(cause.kind)),
                                  fmt::format("share of its time: {}", name_of(cause.kind)),
                                  {cause.share, "share", cause.interval}, Better::neither);
      const auto named = std::ranges::find(found_.causes, cause.kind, &Cause::kind);
      if (named != found_.causes.end())
        result.details["cause"] = 1 + (named - found_.causes.begin());
    }
    if (found_.working_set)
      add_result(record_, "working_set", "shared cache that it needs",
                 {found_.working_set->bytes.value, "B", found_.working_set->bytes.interval},
                 Better::neither);
  }

  Record& record_;
  const Evidence& evidence_;
  const Explanation& found_;
  const Points no_points_ = {};
  const Record no_report_ = {};
  const StudyViews views_{record_, no_points_, no_report_};
};

}  // namespace

Record explain_record(const core::Topology& topology, const Evidence& evidence,
                      const Explanation& explanation, const std::string& command_line) {
  const std::string title = fmt::format("What holds '{}' back", clean_utf8(evidence.command));
  const About about = {"explain", title.c_str(),
                       "runs with one thing taken away or given, in turn with undisturbed ones"};
  Record record = begin_record(topology, lab::Kind::study, about, command_line, false);
  record.complete = evidence.complete;
  record.duration_s = evidence.seconds;
  record.sentences = explanation.full;
  RecordBuilder(record, evidence, explanation).build();
  return record;
}

}  // namespace tabane::lab::explain
