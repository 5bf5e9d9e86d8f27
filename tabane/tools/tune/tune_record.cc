#include "tabane/tools/tune/tune_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/record_head.h"
#include "tabane/lab/study/study.h"

namespace tabane::lab::tune {
namespace {

constexpr std::size_t kMostShown = 12;   // candidates of a table
constexpr double kWorthMoreRuns = 1.03;  // a gain that is not sure
constexpr double kLoadToTell = 0.1;      // PUs that are busy with other programs
constexpr const char* kWhatToUse = "tune.table.1";

TuneData data_of(const Space& space, const Tuning& tuning, const TuningHeader& header) {
  TuneData data{space, tuning, header};
  data.values.resize(space.candidates().size());
  for (const TunedRun& run : tuning.runs)
    if (run.outcome.refused.empty() && !run.outcome.stopped)
      data.values[run.proposal.candidate].push_back(data.shown(run.outcome.value));
  return data;
}

Entry median_of(const TuneData& data, std::size_t candidate) {
  const std::vector<double>& values = data.values[candidate];
  if (values.empty()) return {};
  const bool enough = values.size() >= core::kFewestForInterval;
  return {core::median(values), data.header.unit,
          enough ? std::optional(core::median_interval(values)) : std::nullopt};
}

// ---- what was found ----

Entry gain_entry(const core::Ratio& ratio) {
  if (ratio.pairs == 0) return {};
  const bool enough = ratio.pairs >= core::kFewestForInterval;
  return {ratio.value, "ratio", enough ? std::optional(ratio.interval) : std::nullopt};
}

std::string gain_text(const core::Ratio& ratio) { return text_of(gain_entry(ratio)); }

const char* more(const TuningHeader& header) {
  return header.goal == "wall time" ? "faster than" : "better than";
}

// "1.42 [1.38, 1.47] times as fast"
std::string times_as(const TuningHeader& header, const core::Ratio& ratio) {
  return fmt::format("{} times as {}", gain_text(ratio),
                     header.goal == "wall time" ? "fast" : "good");
}

struct LoadOfOthers {
  double mean = 0, most = 0;  // PUs, over the time of all runs, and during one
};

// Null if the system did not say.
std::optional<LoadOfOthers> others_load(std::span<const TunedRun> runs) {
  LoadOfOthers load;
  double seconds = 0;
  for (const TunedRun& run : runs) {
    if (!run.outcome.others_pus) continue;
    load.mean += *run.outcome.others_pus * run.outcome.seconds;
    load.most = std::max(load.most, *run.outcome.others_pus);
    seconds += run.outcome.seconds;
  }
  if (seconds <= 0) return std::nullopt;
  load.mean /= seconds;
  return load;
}

// What load did to the proof.
std::vector<std::string> notes_of_load(const Tuning& tuning) {
  std::vector<std::string> notes;
  if (!tuning.proof || !tuning.proof->fresh) return notes;
  if (tuning.proof->left_out > 0)
    notes.push_back(fmt::format(
        "{} of {} rounds of the proof do not count: in them the command as you start it was slower "
        "than in the quiet rounds, by more than chance. Something else used the machine.",
        tuning.proof->left_out, tuning.proof->winner.size()));
  std::vector<TunedRun> proof;
  for (const TunedRun& run : tuning.runs)
    if (run.proposal.phase == Phase::proof) proof.push_back(run);
  const auto others = others_load(proof);
  if (others && others->mean > kLoadToTell)
    notes.push_back(fmt::format(
        "other programs kept {:.1f} PUs busy during the proof; without them the result may differ.",
        others->mean));
  return notes;
}

// All cells are text, so that each is shown as it was read.
void add_what_to_use(Record& record, const TuneData& data) {
  const Tuning& tuning = data.tuning;
  const std::size_t chosen = tuning.chosen();
  Rows rows{{"what", "found"}, {}};
  rows.rows.push_back({"setting", data.text(chosen)});
  rows.rows.push_back({"optimised for", data.header.goal});
  rows.rows.push_back({"as started", text_of(median_of(data, 0))});
  if (tuning.best != 0) {
    rows.rows.push_back({chosen != 0 ? "the setting" : "the best of the search",
                         text_of(median_of(data, tuning.best))});
    if (tuning.proof && tuning.proof->ratio.pairs > 0)
      rows.rows.push_back({tuning.proof->fresh ? "gain, measured again in turn"
                                               : "gain in the race (not measured again)",
                           gain_text(tuning.proof->ratio)});
  }
  rows.rows.push_back({"runs", std::to_string(tuning.runs.size())});
  if (const auto others = others_load(tuning.runs))
    rows.rows.push_back({"busy with other programs meanwhile",
                         fmt::format("{:.2f} PUs, at most {:.2f}", others->mean, others->most)});
  rows.rows.push_back({"to use", data.header.line});
  if (!data.header.other_line.empty()) rows.rows.push_back({"or", data.header.other_line});
  add_table(record, "What to use", std::move(rows), "");
}

void add_best(Record& record, const TuneData& data) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < data.values.size(); ++i)
    if (data.was_run(i) && !data.tuning.search->is_refused(i)) order.push_back(i);
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return data.tuning.search->belief(a).mean < data.tuning.search->belief(b).mean;
  });
  const std::size_t all = order.size();
  if (order.size() > kMostShown) order.resize(kMostShown);
  if (std::ranges::find(order, 0u) == order.end() && data.was_run(0)) order.push_back(0);
  const bool raced = std::ranges::any_of(
      data.tuning.runs, [](const TunedRun& r) { return r.proposal.phase == Phase::racing; });
  Rows rows{{"candidate", "runs", data.header.goal}, {}};
  if (raced) rows.columns.push_back("gain in the same rounds");
  for (const std::size_t i : order) {
    std::vector<Entry>& row = rows.rows.emplace_back();
    row = {data.text(i), Entry(double(data.values[i].size()), "1"), median_of(data, i)};
    if (raced)
      row.push_back(i == 0 ? Entry()
                           : gain_entry(rounds_of(data.tuning.runs, Phase::racing, 0, i).ratio));
  }
  add_table(
      record, "The best candidates", std::move(rows),
      fmt::format("{} of {} combinations were run to the end. They are sorted by the model's final "
                  "estimate, which also uses runs of similar settings.{}",
                  all, data.space.candidates().size(),
                  raced ? " Gains are medians of pairs of the race, taken in the same round as the "
                          "command as started."
                        : ""));
}

// ---- what was not tried ----

void add_refused(Record& record, const TuneData& data) {
  std::map<std::string, std::vector<std::size_t>> reasons;
  for (const TunedRun& run : data.tuning.runs)
    if (!run.outcome.refused.empty())
      reasons[run.outcome.refused].push_back(run.proposal.candidate);
  Rows rows{{"why", "candidates", "for example"}, {}};
  for (const auto& [reason, candidates] : reasons)
    rows.rows.push_back(
        {reason, Entry(double(candidates.size()), "1"), data.text(candidates.front())});
  add_table(record, "Not usable", std::move(rows),
            "Candidates that failed, that printed something different, or that did not fit. Where "
            "a different output is right, too, give --ignore-output.");
}

void add_not_tried(Record& record, const TuneData& data) {
  Rows rows{{"what", "why"}, {}};
  for (const auto& [what, why] : data.header.left_out) rows.rows.push_back({what, why});
  std::size_t hopeless = 0, unknown = 0, stopped = 0;
  const Search& search = *data.tuning.search;
  const double best = search.belief(search.best()).mean;
  for (std::size_t i = 0; i < data.values.size(); ++i) {
    if (data.was_run(i) || !search.possible(i)) continue;
    const Belief belief = search.belief(i);
    (belief.mean - 2 * belief.deviation() > best ? hopeless : unknown) += 1;
  }
  for (const TunedRun& run : data.tuning.runs) stopped += run.outcome.stopped;
  if (stopped > 0)
    rows.rows.push_back({"the end of " + core::counted(stopped, "run"),
                         "more than 4 times the best so far had passed"});
  if (hopeless > 0)
    rows.rows.push_back({core::counted(hopeless, "combination"),
                         "worse than the best, to judge by similar settings (97.5 %)"});
  if (unknown > 0)
    rows.rows.push_back({core::counted(unknown, "combination"),
                         "the expected gain of another run was too small, or the budget spent"});
  add_table(record, "What was not tried, and why", std::move(rows), "");
}

// ---- kept ----

Json json_of(const Space& space, const std::vector<TunedRun>& runs) {
  Json dimensions = Json::array(), all = Json::array();
  for (const Dimension& dimension : space.dimensions()) {
    Json levels = Json::array();
    for (const Level& level : dimension.levels) levels.push_back(level.text());
    dimensions.push_back({{"name", dimension.name}, {"levels", levels}});
  }
  for (const TunedRun& run : runs) {
    Json one = {{"candidate", run.proposal.candidate},
                {"phase", static_cast<int>(run.proposal.phase)},
                {"round", run.proposal.round},
                {"value", run.outcome.value},
                {"seconds", run.outcome.seconds}};
    if (run.outcome.stopped) one["stopped"] = true;
    if (run.outcome.others_pus) one["others_pus"] = *run.outcome.others_pus;
    if (!run.outcome.refused.empty()) one["refused"] = clean_utf8(run.outcome.refused);
    all.push_back(std::move(one));
  }
  return {{"dimensions", dimensions}, {"combinations", space.candidates().size()}, {"runs", all}};
}

const Json& detail_of(const Record& record) {
  const View* view = record.find_view(kWhatToUse);
  if (record.name != "tune" || view == nullptr || !view->details.contains(detail::kTuning))
    throw core::UsageError("it is no record of 'tabane tune -- command'");
  return view->details.at(detail::kTuning);
}

// Another tuning may have other candidates, so that a figure has the name of its setting.
std::string figure_name(const std::string& setting) {
  std::string name = "tune.setting." + setting;
  std::erase(name, ',');
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

Result& add_result_of(Record& record, const TuneData& data, std::size_t candidate) {
  Result& result = record.results.emplace_back();
  result.name = figure_name(data.text(candidate));
  result.what = fmt::format("{} of {}", data.header.goal, data.text(candidate));
  result.unit = data.header.unit;
  result.better = data.header.inverted ? Better::higher : Better::lower;
  result.factors = data.space.factors(data.candidate(candidate));
  set_samples(result, data.values[candidate]);
  return result;
}

void add_results(Record& record, const TuneData& data) {
  if (data.was_run(data.tuning.chosen())) {
    Result& chosen = add_result_of(record, data, data.tuning.chosen());
    chosen.name = "tune.chosen";
    chosen.what = fmt::format("{} of what was found to be best", data.header.goal);
  }
  for (std::size_t i = 0; i < data.values.size(); ++i)
    if (data.was_run(i)) add_result_of(record, data, i);
}

// Only tunings of one command for one goal are held against each other.
void hold_apart(Record& record, const TuneData& data) {
  const std::string held =
      fmt::format("the command {} for {}", clean_utf8(data.header.command), data.header.goal);
  for (Result& result : record.results) result.details[detail::kHeldFixed] = held;
  for (View& view : record.views) view.details[detail::kHeldFixed] = view.title + " of " + held;
}

// " By the model it would take 1.90 times as long without threads 2", or of what is no time, " it
// is 1.90 times as good as without": where that setting is as started; the most important one
// first. Empty for fewer than two settings.
std::string why_it_won(const Space& space, const Tuning& tuning, const TuningHeader& header) {
  const Candidate& winner = space.candidates()[tuning.best];
  std::vector<std::pair<double, std::string>> losses;
  for (std::size_t d = 0; d < winner.size(); ++d) {
    Candidate without = winner;
    without[d] = 0;
    const std::size_t index = space.index_of(without);
    if (winner[d] == 0 || index == space.candidates().size()) continue;
    const double loss =
        std::exp(tuning.search->belief(index).mean - tuning.search->belief(tuning.best).mean);
    const Dimension& dimension = space.dimensions()[d];
    const std::string setting =
        dimension.name + " " + dimension.levels[static_cast<std::size_t>(winner[d])].text();
    if (tuning.search->possible(index) && std::isfinite(loss)) losses.emplace_back(-loss, setting);
  }
  std::ranges::sort(losses);
  const bool is_time = header.goal == "wall time";
  std::vector<std::string> parts;
  for (const auto& [loss, setting] : losses)
    parts.push_back(
        fmt::format("{:.2f} times as {} without {}", -loss, is_time ? "long" : "good as", setting));
  return parts.size() < 2
             ? ""
             : fmt::format(" By the model it {} {}.", is_time ? "would take" : "is", join(parts));
}

// "6 processes, 4 threads …: 1.42 [1.38, 1.47] times as fast as you started it", or that nothing
// is.
std::string headline(const Space& space, const Tuning& tuning, const TuningHeader& header) {
  const std::string best = space.text(space.candidates()[tuning.best]);
  if (tuning.chosen() != 0)
    return fmt::format("{}: {} as you started it.{}", best, times_as(header, tuning.proof->ratio),
                       why_it_won(space, tuning, header));
  const bool loaded = tuning.proof && tuning.proof->left_out > 0;
  if (loaded && tuning.proof->ratio.pairs < kFewestPairs)
    return fmt::format(
        "No winner is named: too few rounds of the proof were quiet ({} of {}). The best of the "
        "search was {}. Tune again when less else runs, or with a larger budget.",
        tuning.proof->ratio.pairs, tuning.proof->winner.size(), best);
  if (tuning.best == 0 || !tuning.proof || tuning.proof->ratio.pairs == 0)
    return fmt::format("Nothing was found that is {} the command as you start it.", more(header));
  if (!tuning.proof->fresh)
    return fmt::format(
        "Stopped. The best so far is {}: {} as you started it in the rounds of the race, not yet "
        "measured again.",
        best, times_as(header, tuning.proof->ratio));
  return fmt::format(
      "Nothing is certainly {} the command as you start it. The best of the search was {}: {} when "
      "it was measured again{}.",
      more(header), best, times_as(header, tuning.proof->ratio),
      !tuning.proof->ratio.undecided()             ? ""
      : tuning.proof->ratio.value < kWorthMoreRuns ? ", no difference seen"
                                                   : ", no difference seen; more runs may tell");
}

}  // namespace

Record tune_record(const core::Topology& topology, const Space& space, const Tuning& tuning,
                   const TuningHeader& header) {
  const TuneData data = data_of(space, tuning, header);
  const std::string title = "Tuning of " + clean_utf8(header.command);
  const About about = {"tune", title.c_str(), ""};
  Record record = begin_record(topology, Kind::study, about, header.command_line, false);
  record.complete = tuning.complete;
  record.duration_s = tuning.seconds;
  add_what_to_use(record, data);
  Json detail = json_of(space, tuning.runs);
  detail["kept"] = header.kept;
  record.views.front().details[detail::kTuning] = std::move(detail);
  add_best(record, data);
  add_tune_charts(record, data);
  add_refused(record, data);
  add_not_tried(record, data);
  add_results(record, data);
  hold_apart(record, data);
  for (const std::string& note : notes_of_load(tuning)) record.sentences.push_back("Note: " + note);
  for (const std::string& warning : header.warnings) record.sentences.push_back("Note: " + warning);
  record.sentences.push_back(headline(space, tuning, header));
  return record;
}

const Json& kept_of(const Record& record) {
  const Json& detail = detail_of(record);
  if (!detail.contains("kept")) throw core::UsageError("it holds no tuning of a command");
  return detail.at("kept");
}

std::vector<TunedRun> runs_of(const Record& record, const Space& space) {
  const Json& detail = detail_of(record);
  const Json now = json_of(space, {});
  if (detail.value("dimensions", Json()) != now.at("dimensions") ||
      detail.value("combinations", Json()) != now.at("combinations"))
    throw core::UsageError(
        "it varied other things: give the options with which it was made, on the same machine");
  std::vector<TunedRun> runs;
  try {
    for (const Json& one : detail.at("runs")) {
      TunedRun run;
      run.proposal.candidate = one.at("candidate").get<std::size_t>();
      run.proposal.phase = static_cast<Phase>(one.at("phase").get<int>());
      run.proposal.round = one.at("round").get<int>();
      run.outcome.value = one.at("value").get<double>();
      run.outcome.seconds = one.at("seconds").get<double>();
      run.outcome.stopped = one.value("stopped", false);
      run.outcome.refused = one.value("refused", std::string());
      if (one.contains("others_pus")) run.outcome.others_pus = one.at("others_pus").get<double>();
      const bool legal =
          run.proposal.candidate < space.candidates().size() &&
          run.proposal.phase >= Phase::screening && run.proposal.phase <= Phase::proof &&
          (run.outcome.value > 0 || !run.outcome.refused.empty()) && run.outcome.seconds >= 0;
      if (!legal) throw core::UsageError("one of its runs cannot be");
      runs.push_back(std::move(run));
    }
  } catch (const Json::exception& error) {
    throw core::UsageError("its runs cannot be read: {}", error.what());
  }
  return runs;
}

std::string machine_differs(const Record& record, const core::Topology& topology) {
  const Json here = describe_machine(topology);
  for (const auto& [key, what] :
       {std::pair("cpu_model", "processor"), {"summary", "topology"}, {"pu_list", "usable PUs"}}) {
    const Json there = record.machine.value(key, Json());
    if (there == here.at(key)) continue;
    if (there.is_string() && here.at(key).is_string())
      return fmt::format("another {}: there {}, here {}", what, there.get<std::string>(),
                         here.at(key).get<std::string>());
    return fmt::format("other {}", what);
  }
  return "";
}

}  // namespace tabane::lab::tune
