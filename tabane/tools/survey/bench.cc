// Whether the survey tells the truth: three surveys of this machine against each other, and against
// programs that share nothing with tabane and run between them.
#include "bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/command.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/tools/survey/bench_compare.h"

namespace tabane::bench {
namespace {

constexpr std::size_t kSurveys = 3;
constexpr std::size_t kListed = 10;
constexpr double kSecondsOfQuick = 30, kSecondsOfFull = 120;
// By how much one measurement may differ from another.
constexpr double kOverRoof = 1.03, kOff = 0.05, kPoints = 0.05;
constexpr const char* kAgree = "surveys agree";
constexpr const char* kPrograms = "independent programs";
constexpr const char* kLikwid = "likwid-bench";
constexpr const char* kDuration = "duration of a survey";

struct Survey {
  lab::Record record;
  double seconds = 0;  // of the whole process
};

// Programs, what they have found in all rounds, and why some do not take part any more.
struct Group {
  std::vector<Program> programs;
  Samples samples;
  std::map<std::string, std::string> missing;  // by the program's name

  void run_each(const lab::Record& survey) {
    for (const Program& program : programs) {
      if (missing.contains(program.name)) continue;
      // Without a figure to hold it against, a program is a waste of time.
      const auto known = [&](const Finding& each) { return survey.find(each.result) != nullptr; };
      if (std::ranges::none_of(program.findings, known)) {
        missing[program.name] = "the survey has no " + program.findings.front().result;
        continue;
      }
      try {
        run_program(program, samples);
      } catch (const core::Error& error) {
        missing[program.name] = error.what();
      }
    }
  }
};

lab::Entry yes_no(bool met) { return met ? "yes" : "NO"; }

class TruthTopic {
 public:
  explicit TruthTopic(Panel& panel) : panel_(panel), quick_(panel.settings().quick) {}

  void ask_all() {
    const bool agree = panel_.wants(kAgree), programs = panel_.wants(kPrograms),
               likwid = panel_.wants(kLikwid), duration = panel_.wants(kDuration);
    if (!agree && !programs && !likwid && !duration) return;
    if (panel_.settings().program.empty()) throw core::Error("there is no tabane to start");
    const bool likwid_here = likwid && in_path("likwid-bench");
    const core::Topology topology = core::Topology::detect();
    for (std::size_t i = 1; i <= kSurveys; ++i) {
      take_survey(i);
      if (i == 1 && programs)
        programs_.programs = independent_programs(topology, records_.front(), quick_ ? 5 : 11);
      if (i == 1 && likwid_here) likwid_.programs = likwid_programs(topology, records_.front());
      if (i < kSurveys) run_programs();
    }
    if (agree) tell_agreement();
    if (programs) tell_group(kPrograms, programs_);
    if (likwid_here) tell_group(kLikwid, likwid_);
    if (likwid && !likwid_here) panel_.skip(kLikwid, "no likwid-bench in PATH", kLikwid);
    if (duration) tell_durations();
  }

 private:
  void say(const std::string& what) const {
    fmt::print("truth: {}\n", what);
    std::fflush(stdout);
  }

  Survey survey(bool quick) const {
    const core::ScratchFolder scratch("tabane-bench", panel_.settings().directory);
    const std::string file = (scratch / "survey.json").string();
    Command command = {panel_.settings().program, "survey", "--quiet", "--json=" + file};
    if (quick) command.push_back("--quick");
    const Usage usage = run_command(command);
    return {lab::record_from_json(lab::Json::parse(core::read_file(file))), usage.wall_seconds};
  }

  void take_survey(std::size_t number) {
    say(fmt::format("survey {} of {}{}", number, kSurveys, quick_ ? ", quick" : ""));
    Survey taken = survey(quick_);
    records_.push_back(std::move(taken.record));
    seconds_.push_back(taken.seconds);
  }

  // In turn, so that a slow minute of the machine falls on all of them.
  void run_programs() {
    if (programs_.programs.empty() && likwid_.programs.empty()) return;
    const int rounds = quick_ ? 1 : 3;
    for (int round = 1; round <= rounds; ++round) {
      say(fmt::format("programs, round {} of {}", round, rounds));
      programs_.run_each(records_.front());
      likwid_.run_each(records_.front());
    }
  }

  void tell(const char* question, std::string figure, const char* unit, double value, double limit,
            bool at_least, std::vector<double> samples = {}) {
    panel_.tell({.question = question,
                 .unit = unit,
                 .figure = std::move(figure),
                 .value = value,
                 .limit = limit,
                 .at_least = at_least,
                 .samples = std::move(samples)});
  }

  void tell_agreement() {
    const auto intervals = interval_pairs(records_);
    const auto shares = share_pairs(records_);
    tell(kAgree, "intervals that overlap", "share",
         share_of(intervals, [](const IntervalPair& pair) { return pair.overlap(); }), 0.90, true);
    const auto widths = relative_half_widths(records_);
    tell(kAgree, "median half-width of intervals", "share",
         widths.empty() ? 0 : core::median(widths), 0.05, false);
    tell(kAgree, "shares of limit within 5 points", "share",
         share_of(shares, [](const SharePair& p) { return std::abs(p.a - p.b) <= kPoints; }), 0.95,
         true);
    show_intervals(intervals);
  }

  void show_intervals(const std::vector<IntervalPair>& pairs) {
    lab::Rows rows{{"figure", "surveys", "in the one", "in the other", "apart"}, {}};
    for (const IntervalPair& p : pairs) {
      if (p.overlap() || rows.rows.size() == kListed) break;
      rows.rows.push_back({p.name,
                           fmt::format("{} and {}", p.first + 1, p.second + 1),
                           {(p.a.low + p.a.high) / 2, p.unit, p.a},
                           {(p.b.low + p.b.high) / 2, p.unit, p.b},
                           {p.gap(), "share"}});
    }
    panel_.show({.name = "truth.intervals",
                 .title = "Intervals of one figure that do not overlap, the worst ten",
                 .note = "The value is the middle of the interval.",
                 .content = std::move(rows)});
  }

  void tell_group(const char* name, const Group& group) {
    lab::Rows rows{{"program", "figure of the survey", "found", "survey", "of the roof", "met",
                    "off", "met", "why they may differ"},
                   {}};
    std::vector<bool> below, near;
    for (const Program& program : group.programs) {
      const auto missing = group.missing.find(program.name);
      if (missing != group.missing.end()) panel_.skip(name, missing->second, program.name);
      for (const Finding& finding : program.findings) {
        const auto found = group.samples.find(program.name + ": " + finding.line);
        const auto said = figure_in_surveys(records_, finding.result, finding.roofs);
        if (missing != group.missing.end() || found == group.samples.end()) continue;
        if (!said) {
          panel_.skip(name, "a survey has no " + finding.result, found->first);
          continue;
        }
        add_row(rows, found->first, finding, *said, found->second);
        if (!finding.differs.empty()) continue;
        below.push_back(rows.rows.back()[5] == yes_no(true));
        near.push_back(rows.rows.back()[7] == yes_no(true));
      }
    }
    if (below.empty()) return;
    const auto is_true = [](bool met) { return met; };
    tell(name, "at most 1.03 of the roof", "share", share_of(below, is_true), 1, true);
    tell(name, "as the survey says", "share", share_of(near, is_true), 1, true);
    panel_.show({.name = std::string("truth.") + (&group == &likwid_ ? "likwid" : "programs"),
                 .title = std::string("The survey beside ") + name,
                 .note = "The survey's value is the median of three, its interval reaches over "
                         "all three. Off is 0 inside this interval, else the distance from the "
                         "median; 5 % are met.",
                 .content = std::move(rows)});
  }

  void add_row(lab::Rows& rows, const std::string& label, const Finding& finding,
               const SurveyFigure& said, std::vector<double> samples) {
    if (said.unit == "ns") {  // programs tell seconds
      for (double& sample : samples) sample *= 1e9;
    }
    const double found = core::median(samples);
    const double of_roof = said.of_roof(found), off = said.off(found);
    const bool judged = finding.differs.empty();
    rows.rows.push_back({label,
                         finding.result,
                         {found, said.unit, core::median_interval(samples)},
                         {said.median, said.unit, said.united},
                         {of_roof, "ratio"},
                         judged ? yes_no(of_roof <= kOverRoof) : "not judged",
                         {off, "share"},
                         judged ? yes_no(off <= kOff) : "not judged",
                         finding.differs});
  }

  void tell_durations() {
    const auto tell_longest = [&](const char* figure, std::vector<double> seconds, double limit) {
      const double longest = *std::ranges::max_element(seconds);
      tell(kDuration, figure, "s", longest, limit, false, std::move(seconds));
    };
    if (quick_) {
      tell_longest("--quick", seconds_, kSecondsOfQuick);
      return;
    }
    tell_longest("full", seconds_, kSecondsOfFull);
    say("one quick survey");
    tell_longest("--quick", {survey(true).seconds}, kSecondsOfQuick);
  }

  Panel& panel_;
  bool quick_;
  std::vector<lab::Record> records_;
  std::vector<double> seconds_;  // of each survey
  Group programs_, likwid_;
};

const RegisteredTopic kTopic({"truth", "surveys beside each other and beside independent programs",
                              [](Panel& panel) { TruthTopic(panel).ask_all(); }});

}  // namespace
}  // namespace tabane::bench
