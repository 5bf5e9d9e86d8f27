// What `tabane tune` varies of a command, and what each candidate means: the setting that a command
// is started with, the processes to start, and the lines that start it so from now on.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tabane/core/topology.h"
#include "tabane/lab/commands/child.h"
#include "tabane/lab/commands/run_plan.h"
#include "tabane/lab/record/record.h"
#include "tabane/tools/tune/space.h"

namespace tabane::program {

using Values = std::vector<std::pair<std::string, std::string>>;  // name and value

// What one candidate changes.
struct CommandSetting {
  bool as_started = true;
  int processes = 1;
  bool parted = false;                       // each process has its part of the machine
  std::optional<int> threads;                // null: as the command takes them
  bool threads_in_command = false;           // which takes their number as an argument
  std::string placement, memory, allocator;  // empty: as started
  bool huge_pages = false;
  std::optional<int> arenas;
  Values values;  // of the user's own factors
};

// Whether more than the command's own arguments differs from how it was started.
bool needs_surroundings(const CommandSetting& setting);

// Returns the values of the placeholders of a command. index: of the process.
Values values_of(const CommandSetting& setting, const std::string& index);
std::vector<std::string> filled(const std::vector<std::string>& words, const Values& values);

// The request of `tabane run` for one of the processes of a setting.
RunRequest run_request(const CommandSetting& setting, int process);
// The options of `tabane run` that ask for a setting. part: "0/4", "launcher"; empty: none.
std::vector<std::string> run_options(const CommandSetting& setting, const std::string& part);

// How a command with placeholders is started so. launcher, shards: as of TuneRequest. program:
// tabane.
std::vector<std::string> start_words(const CommandSetting& setting,
                                     const std::vector<std::string>& command,
                                     const std::string& launcher, bool shards,
                                     const std::string& program);

lab::Json to_json(const CommandSetting& setting);
// throws: core::UsageError for what is no setting.
CommandSetting setting_from_json(const lab::Json& json);

// A line for the shell with the words, in which `variable` stands for every kIndexMark.
inline constexpr const char* kIndexMark = "\1";
std::string line_with_index(const std::vector<std::string>& words, const std::string& variable);

struct TuneRequest {
  std::vector<std::string> command;        // with placeholders
  std::string launcher;                    // a line with {processes}; empty: none
  bool shards = false;                     // the command is started {processes} times
  std::vector<std::string> vary;           // "block=64,128", "level=1..9"
  std::vector<std::string> start;          // "threads=4": what "as started" means
  std::vector<std::string> only, without;  // names of factors
  std::optional<int> most_processes, most_threads;
  bool oversubscribe = false;
};

class TunePlan {
 public:
  // throws: core::UsageError for a placeholder that is not known, a launcher that is not
  // installed, nothing to vary.
  TunePlan(TuneRequest request, const core::Topology& topology, Lookup environment);

  const lab::tune::Space& space() const { return *space_; }
  const TuneRequest& request() const { return request_; }
  // Factors that could have been varied, each with the reason why it is not.
  const std::vector<std::pair<std::string, std::string>>& left_out() const { return left_out_; }

  CommandSetting setting(const lab::tune::Candidate& candidate) const;
  // The processes of one run, to be started together.
  std::vector<lab::ChildCommand> commands(const CommandSetting& setting) const;
  // What the line that is printed starts: line(), or bare_line() if that is to be.
  lab::ChildCommand as_printed(const CommandSetting& setting, bool bare) const;
  // Whether bare_line() is one command, does all that line() does, and its programs are installed.
  bool has_bare_equal(const CommandSetting& setting) const;
  // PUs that a run can use.
  double pus(const lab::tune::Candidate& candidate) const;

  // For the shell: with tabane, without it, and as a script of Slurm.
  std::string line(const CommandSetting& setting) const;
  std::string bare_line(const CommandSetting& setting) const;
  std::string slurm_script(const CommandSetting& setting) const;

 private:
  void add_workers(std::vector<lab::tune::Dimension>& dimensions);
  void add_places(std::vector<lab::tune::Dimension>& dimensions);
  void add_memory(std::vector<lab::tune::Dimension>& dimensions);
  void add_own(std::vector<lab::tune::Dimension>& dimensions);
  bool wanted(const std::string& factor);
  bool is_own(const std::string& factor) const;  // of --vary
  void check_placeholders() const;
  int start_of(const std::string& name, int otherwise) const;
  lab::ChildCommand command_of(const CommandSetting& setting, int process) const;
  std::vector<std::string> bare_words(const CommandSetting& setting, int process) const;

  TuneRequest request_;
  std::vector<std::pair<std::string, std::vector<std::string>>> own_;  // factors of --vary
  const core::Topology topology_;
  Lookup environment_;
  bool processes_vary_ = false, threads_in_command_ = false;
  std::vector<std::pair<std::string, std::string>> left_out_;
  std::optional<lab::tune::Space> space_;
};

// The values of "64,128,256", "1..9", "0..100:25" or words. throws: core::UsageError.
std::pair<std::string, std::vector<std::string>> parse_vary(const std::string& text);

}  // namespace tabane::program
