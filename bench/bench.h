// Side by side with the peers: a topic asks questions, a question lets contenders take turns in one
// run.
//
// A contender that is missing or fails is named with the reason; the others are compared.
//
// Ratios are of rates, ours / peer: 1 or more means that ours is at least as fast. A target is met
// if the ratio reaches it; "never slower" (1) also if its 95 % interval contains 1. A target of 0
// asks for nothing: the peer only explains the others.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "tabane/core/clock.h"
#include "tabane/core/measurement.h"
#include "tabane/core/statistics.h"
#include "tabane/lab/record/record.h"

namespace tabane::bench {

struct Contender {
  std::string name;
  core::Work work;
  double amount = 0;        // of the question's unit, done by one iteration
  double target = 1.0;      // of ours against this peer
  bool roof = false;        // a limit; of several, only the lowest is compared
  std::string limits = {};  // what a roof limits: of several for one thing the highest counts
  std::string missing;      // why it cannot take part; empty: it can
  std::function<void()> before = {};  // called before each epoch, outside its time
  std::string how = {};               // what it is, how it was started, its version
  // In place of `work`: see core::Contender.
  std::function<double(std::uint64_t iterations)> timed = {};
};

struct Question {
  std::string name;  // "sum, 1024 doubles in L1"
  std::string unit;  // of a rate, for example "B/s"
  Contender ours;
  std::vector<Contender> peers;
  std::optional<core::MeasureOptions> measure = std::nullopt;  // otherwise the settings'
  std::string group = {};  // shown in one chart; empty: the name up to its first comma
};

// What a figure is to reach. limit: null: nothing.
struct Goal {
  std::optional<double> limit = std::nullopt;
  bool at_least = false;
};

class Panel;

struct Settings {
  core::MeasureOptions measure;
  bool quick = false;
  std::string directory = "/dev/shm";  // questions about files work below it
  std::string program;                 // tabane; empty: not found
  std::string command_line;
  bool list_only = false;  // topics hand in questions but need not prepare data
  // Whether the user wants this question.
  std::function<bool(const std::string& question)> wanted = [](const std::string&) { return true; };
};

// How runs that take seconds are measured: once each, `epochs` of them or more while `seconds`
// last.
core::MeasureOptions long_runs(const Settings& settings, int epochs, double seconds);

struct Topic {
  std::string name, title;
  std::function<void(Panel&)> run;
  // How often it is run: with several passes an interval covers the whole run instead of the moment
  // in which a question was asked. From six on it is one of 95 %.
  int passes = 1;
};

// Makes a topic known: one object in each file that asks. Files whose topics have the same name ask
// one after the other, in the order of their paths.
struct RegisteredTopic {
  explicit RegisteredTopic(Topic topic,
                           const char* file = std::source_location::current().file_name());
};
// By name.
std::vector<Topic> registered_topics();

// Takes the questions of a topic and asks them at once, so that their data may go afterwards. A
// question that is asked again, in a later pass, is joined with its earlier answers.
class Panel {
 public:
  Panel(const Topic& topic, Settings settings) : topic_(topic), settings_(std::move(settings)) {}

  const Settings& settings() const { return settings_; }
  // Runs the topic, in all its passes.
  void run();
  // Whether the question is to be measured. With list_only prints the name and returns false.
  bool wants(const std::string& question) const;
  // Measures and, in the last pass, prints one line per peer; returns the comparisons. With
  // list_only prints the name.
  std::vector<lab::Comparison> ask(Question question);
  // Names a question, or one of its peers, that is not measured, and why.
  void skip(const std::string& question, const std::string& reason,
            const std::string& peer = "all");
  // Asks several questions. If that throws, the rest of them fails; what comes after is asked.
  void part(const std::string& name, const std::function<void()>& questions);
  // Whether a peer or a question was left out; whether tabane itself failed.
  bool skipped() const { return skipped_; }
  bool failed() const { return failed_; }
  // Keeps a figure, the median of its samples, and prints one line.
  void tell(const std::string& question, const std::string& unit, const std::string& figure,
            std::vector<double> samples, const Goal& goal = {});
  void tell(lab::Comparison figure);
  // Keeps a table for the page, after the others, and prints it. view: has Rows.
  void show(lab::View view);
  // Comparisons, raw samples and charts, as a record of this machine.
  lab::Record record() const;

 private:
  // One comparison, over the passes so far.
  struct PooledComparison {
    lab::Comparison joined;
    std::vector<core::Ratio> ratios;  // one a pass
    std::vector<double> ours, peers;  // rates, one a pass
    void add(const lab::Comparison& pass);
  };
  PooledComparison& pooled(const Question& question, const lab::Comparison& comparison);
  void note(const Question& question, const lab::Comparison& comparison);
  void keep(lab::Result result);
  void print(const lab::Comparison& comparison);
  void print_header();
  std::vector<lab::Comparison> comparisons() const;

  Topic topic_;
  Settings settings_;
  std::vector<PooledComparison> pooled_;
  std::vector<std::string> groups_;  // of the comparisons
  std::vector<lab::Result> results_;
  std::vector<lab::View> shown_;
  bool header_printed_ = false, skipped_ = false, failed_ = false;
  int pass_ = 0;
  core::Clock& clock_ = core::tick_clock();
  double start_ = clock_.now();
};

// Writes DIRECTORY/TOPIC.json and the page DIRECTORY/TOPIC/report.html, whose path it returns.
// throws: core::SystemError.
std::string write(const lab::Record& record, const std::string& directory);

// ---- what a topic found, as parts of a record ----

// Results are named TOPIC.QUESTION.PEER. costs: seconds per unit of the question.
lab::Result rates_result(const std::string& topic, const Question& question,
                         const std::string& contender, const std::vector<double>& costs);
lab::Result figure_result(const std::string& topic, const lab::Comparison& figure);

// Of this machine, without comparisons.
lab::Record begin_panel_record(const Topic& topic, const Settings& settings);

// groups: of the record's comparisons; a chart each.
void add_panel_views(lab::Record& record, const std::vector<std::string>& groups);

}  // namespace tabane::bench
