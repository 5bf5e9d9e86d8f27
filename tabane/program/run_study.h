// What all studies share on the command line: options, progress, tables, JSON and the page; and a
// figure of a survey as a line of text.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tabane/core/topology.h"
#include "tabane/lab/campaign/campaign.h"
#include "tabane/lab/record/record.h"
#include "tabane/program/output.h"

namespace tabane::program {

struct StudyOptions {
  bool quiet = false, wide = false;
  bool tables = true;  // are printed
  JsonOption json;
  std::string output;  // directory of the page and the figures; empty: none

  // --quick, with this help, and what all studies have: -o, --json, -q, --wide.
  std::vector<Option> rows(bool& quick, const std::string& quick_help);
};

// A table of a record in at most `width` columns.
std::string table_text(const lab::Rows& rows, std::size_t width);

// Prints title, source, tables, sentences and what was not measured.
void print_study(const lab::Record& record, bool wide);

// Prints a record's warnings on stderr: what was seen, what it may mean, what to do.
void print_warnings(const lab::Record& record);

// Runs run(hooks) and shows the record that it returns, if it returns one; what was measured before
// Ctrl-C, too. print_more: prints what follows it on stdout.
void run_study(const StudyOptions& options,
               const std::function<std::optional<lab::Record>(const lab::Hooks&)>& run,
               const std::function<void()>& print_more = {});

// Rows with units: sizes "64K" and times "10s", of 1 to 3600 seconds.
Option sizes_row(const char* typed, std::vector<std::uint64_t>& bytes, const std::string& help);
Option time_row(const char* typed, double& seconds, const std::string& help, Words needs = {});

// What an option's text means: a time; "5%" or "5", which are 0.05, up to `most` per cent.
// throws: core::UsageError naming the option.
double seconds_of(const char* option, const std::string& text);
double share_of(const char* option, const std::string& text, int most, const char* example);

// The command line of a record: "tabane study ap1000 --quick --processes 4", what was asked for and
// not where it goes.
std::string command_line_of(const Given& given);

// A verb below `tabane study`. The record gets what was typed as its command line. instead: returns
// true if the verb was called for something else, and has done it.
using StudyRun =
    std::function<std::optional<lab::Record>(const core::Topology&, const lab::Hooks& hooks)>;
Definition study(std::shared_ptr<StudyOptions> options, std::vector<Option> rows, StudyRun run,
                 std::function<bool()> instead = {});

// Name, value, interval, share of the limit.
inline constexpr std::size_t kFewestNameColumns = 34;
std::string result_line(const lab::Result& result, std::size_t name_width = kFewestNameColumns);

}  // namespace tabane::program
