// Commands of the user, run and measured: one process or several that together are one run. Each
// has a session of its own, without a terminal, and nothing of it outlives the run. If this process
// is killed, so is each command, but not what it has started.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tabane/core/counters.h"
#include "tabane/core/memory.h"

namespace tabane::lab {

enum class OutputTo {
  nothing,   // /dev/null
  terminal,  // the standard output and error of this process
  kept,      // read, through a pipe: ChildRun::output, and its hash
  file,      // ChildCommand::output_file, made or replaced
};

struct ChildCommand {
  std::vector<std::string> arguments;  // program first; not empty
  // Added to the environment of this process, or in place of what is set there.
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::vector<unsigned> cpus = {};                           // empty: those of this process
  std::optional<core::MemoryOptions> memory = std::nullopt;  // null: as this process
  std::string input = {};  // the file that is standard input; empty: /dev/null
  OutputTo output = OutputTo::nothing;
  std::string output_file = {};
  std::string folder = {};  // where it works; empty: where this process does
};

struct ChildLimits {
  double timeout_seconds = std::numeric_limits<double>::infinity();
  // Looked at some times a second, and when a signal arrives.
  std::function<bool()> stop_requested = [] { return false; };
  // Where the system runs out of memory, it ends these commands first and this process last.
  bool ends_first_without_memory = false;
  // Starts the commands in a way that takes longer, so that also peaks of a few MiB are known.
  bool small_peaks = false;
  // Of each output, the last ones; 0: none, and no hash, so that reading it costs little.
  std::size_t most_kept_bytes = std::size_t{1} << 20;
  // Of programs; null: nothing is counted.
  core::Counters* counters = nullptr;
};

// What one run took: of all its processes together and of those they have waited for.
struct ChildRun {
  // By the monotonic clock, from before the first start to the last end, or to the time-out.
  double seconds = 0;
  double user_seconds = 0, system_seconds = 0;
  // Sum over the commands of the largest process of each. Null where it is not above what this
  // process has itself: the system counts from there; with ChildLimits::small_peaks, from about
  // 2 MiB.
  std::optional<double> peak_bytes;
  double voluntary_switches = 0, involuntary_switches = 0;
  double minor_faults = 0, major_faults = 0;
  core::Counts counts;  // by ChildLimits::counters
  // Of the first command that did not end with 0, else 0.
  int exit_code = 0;
  int signal = 0;               // that ended it; 0: none
  bool timed_out = false;       // it was ended after ChildLimits::timeout_seconds
  bool left_processes = false;  // some had to be ended after the command itself
  // It failed while the system ended a process for want of memory; only looked at with
  // ChildLimits::ends_first_without_memory.
  bool memory_exhausted = false;
  std::string output;       // OutputTo::kept: the last bytes, command by command
  std::string output_hash;  // OutputTo::kept: of all bytes, in hexadecimal
  std::string errors;       // the last bytes of standard error, unless on the terminal

  bool ok() const { return exit_code == 0 && signal == 0 && !timed_out; }
};

// The file that is started by this name: PATH is searched. The name itself if none is found.
std::string program_file(const std::string& name);

// "exit code 3", "ended by signal 11 (Segmentation fault)", "not finished after 10.0 s".
std::string how_it_ended(const ChildRun& run);

// Runs the commands at once until all have ended; if one fails, the others are ended.
// throws: core::SystemError if one cannot be started (code() ENOENT: not found) or a file cannot be
// opened; Stopped if stop_requested; core::UsageError for NUMA nodes that do not exist.
ChildRun run_children(std::span<const ChildCommand> commands, const ChildLimits& limits = {});
ChildRun run_child(const ChildCommand& command, const ChildLimits& limits = {});

// ---- command lines as people type them: words, placeholders, and whether a shell reads them ----

// Splits a line into words as a shell does that knows nothing but blanks, '…', "…" and \.
// throws: core::UsageError for a quote that is not closed.
std::vector<std::string> words_of_line(std::string_view line);

// Replaces every {name} by its value; other braces stay.
std::string filled_in(std::string_view line,
                      std::span<const std::pair<std::string, std::string>> values);

// The names in {name}, each once, in order; "${name}" is the shell's and none of them.
std::vector<std::string> placeholders_of(std::string_view line);

// The line as a command of `shell -c`; an empty shell: none reads it, its words are the arguments.
// throws: core::UsageError if there are no words, or as words_of_line().
ChildCommand command_of_line(const std::string& line, const std::string& shell = "/bin/sh");

}  // namespace tabane::lab
