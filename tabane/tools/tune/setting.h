// What a tuned command is started with, and the words that start it so.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tabane/lab/commands/run_plan.h"
#include "tabane/lab/record/record.h"

namespace tabane::program {

using Values = std::vector<std::pair<std::string, std::string>>;  // name and value

// What one candidate changes.
struct Setting {
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
bool needs_surroundings(const Setting& setting);

// What stands for the placeholders of a command. index: of the process.
Values values_of(const Setting& setting, const std::string& index);
std::vector<std::string> filled(const std::vector<std::string>& words, const Values& values);

// The request of `tabane run` for one of the processes of a setting.
RunRequest run_request(const Setting& setting, int process);
// The options of `tabane run` that ask for a setting. part: "0/4", "launcher"; empty: none.
std::vector<std::string> run_options(const Setting& setting, const std::string& part);

// How a command with placeholders is started so. launcher, shards: as of TuneRequest. program:
// tabane.
std::vector<std::string> start_words(const Setting& setting,
                                     const std::vector<std::string>& command,
                                     const std::string& launcher, bool shards,
                                     const std::string& program);

lab::Json to_json(const Setting& setting);
// throws: core::UsageError for what is no setting.
Setting setting_from_json(const lab::Json& json);

// A line for the shell with the words, in which `variable` stands for every kIndexMark.
inline constexpr const char* kIndexMark = "\1";
std::string line_with_index(const std::vector<std::string>& words, const std::string& variable);

}  // namespace tabane::program
