// Side by side with the peers: a topic asks questions, a question lets competitors take turns in
// one run.
//
// Ratios are of rates, ours / peer: 1 or more means that ours is at least as fast. A target is met
// if the ratio reaches it; "never slower" (1) also if its 95 % interval contains 1. A target of 0
// asks for nothing: the peer only explains the others.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tabane/core/measurement.h"
#include "tabane/core/statistics.h"

namespace tabane::bench {

struct Entrant {
  std::string name;
  core::Work work;
  double amount = 0;                  // of the question's unit, done by one iteration
  double target = 1.0;                // of ours against this peer
  bool roof = false;                  // a limit; of several, only the lowest is compared
  std::string missing;                // why it cannot take part; empty: it can
  std::function<void()> before = {};  // called before each epoch, outside its time
};

struct Question {
  std::string name;  // "sum, 1024 doubles in L1"
  std::string unit;  // of a rate, for example "B/s"
  Entrant ours;
  std::vector<Entrant> peers;
  std::optional<core::MeasureOptions> measure = std::nullopt;  // otherwise the settings'
};

struct Answer {
  std::string question, unit, peer_name;
  std::string skipped;  // the reason; the figures below are then not measured
  double ours = 0, peer = 0;
  core::Ratio ratio;
  double target = 0;
  bool met = false;
};

// What is measured beside the ratios: a share, a count, a peak.
struct Figure {
  std::string question, name;
  double value = 0;
  std::string unit;
  std::optional<double> limit = std::nullopt;
  bool at_least = false;             // the limit is a lower one
  std::vector<double> samples = {};  // that it was made from, for the file

  bool met() const { return !limit || (at_least ? value >= *limit : value <= *limit); }
};

struct Settings {
  core::MeasureOptions measure;
  bool quick = false;
  std::string directory = "/dev/shm";  // questions about files work below it
  std::string program;                 // tabane; empty: not found
  bool list_only = false;              // topics hand in questions but need not prepare data
  // Whether the user wants this question.
  std::function<bool(const std::string& question)> wanted = [](const std::string&) { return true; };
};

// Where topics hand in their questions: asks them at once, so that their data may go afterwards.
class Panel {
 public:
  Panel(std::string topic, Settings settings)
      : topic_(std::move(topic)), settings_(std::move(settings)) {}

  const Settings& settings() const { return settings_; }
  // Whether the question is to be measured. With list_only prints the name and returns false.
  bool wants(const std::string& question) const;
  // Measures and prints one line a peer; returns the answers. With list_only prints the name.
  std::vector<Answer> ask(const Question& question);
  // Prints one line.
  void tell(Figure figure);
  // Writes DIRECTORY/TOPIC.json. throws: core::SystemError.
  void write(const std::string& directory) const;
  const std::vector<Answer>& answers() const { return answers_; }

 private:
  void print(const Answer& answer);
  void print_header();

  std::string topic_;
  Settings settings_;
  std::vector<Answer> answers_;
  std::vector<Figure> figures_;
  bool header_printed_ = false;
};

// Measures all competitors of a question in turn.
std::vector<Answer> answer(const Question& question, const core::MeasureOptions& options);

struct Topic {
  std::string name;
  std::function<void(Panel&)> run;
};
std::vector<Topic> all_topics();

// The topics, one file each.
void ask_aes(Panel& panel);
void ask_comm(Panel& panel);
void ask_simd(Panel& panel);
void ask_team(Panel& panel);

}  // namespace tabane::bench
