#include "tabane/tools/time/verb_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "tabane/core/error.h"
#include "tabane/program/output.h"
#include "tabane/program/run_options.h"
#include "tabane/tools/time/time.h"

namespace tabane::program {
namespace {

using core::UsageError;
using lab::Values;

struct TimedWay {
  std::string tag;      // empty: as the user runs it
  std::string options;  // of tabane run
};

TimedWay way_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0)
    throw UsageError("--with '{}': write 'TAG: OPTIONS', for example 'jemalloc: --malloc jemalloc'",
                     text);
  return {text.substr(0, colon), text.substr(colon + 1)};
}

std::string shell_of(const std::string& name) {
  if (name == "default") return "/bin/sh";
  if (name == "none") return "";
  if (lab::words_of_line(name).empty())
    throw UsageError("--shell: name a shell, or none to start commands without one");
  return name;
}

// One for all, or one each.
std::string one_of_each(const char* option, const std::vector<std::string>& lines, std::size_t i,
                        std::size_t commands) {
  if (lines.empty()) return "";
  if (lines.size() == 1) return lines.front();
  if (lines.size() == commands) return lines[i];
  throw UsageError(
      commands == 1
          ? fmt::format("{} was given {} times for one command: give it once", option, lines.size())
          : fmt::format("{} was given {} times for {} commands: give it once, or once for each",
                        option, lines.size(), commands));
}

class Planner {
 public:
  Planner(const TimeRequest& request, const core::Topology& topology)
      : request_(request), topology_(topology), shell_(shell_of(request.shell)) {}

  TimePlan plan() {
    if (request_.names.size() > request_.commands.size())
      throw UsageError("--command-name was given {} times for {} commands", request_.names.size(),
                       request_.commands.size());
    read_parameters();
    read_ways();
    check_streams();
    for (std::size_t i = 0; i < request_.commands.size(); ++i) add_command(i);
    for (const lab::Parameter& parameter : parameters_) {
      if (std::ranges::find(used_, parameter.name) == used_.end())
        throw UsageError("parameter {0}: {{{0}}} is in none of the commands", parameter.name);
    }
    plan_.shell = !shell_.empty();
    if (plan_.shell) plan_.empty_shell = lab::command_of_line(":", shell_);
    return std::move(plan_);
  }

 private:
  void read_parameters() {
    for (const auto& [name, first, last] : request_.scans)
      parameters_.push_back(lab::number_parameter(name, first, last, request_.step));
    for (const auto& [name, values] : request_.lists)
      parameters_.push_back(lab::list_parameter(name, values));
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        if (parameters_[i].name == parameters_[k].name)
          throw UsageError("parameter {} was given twice", parameters_[i].name);
      }
    }
  }

  void read_ways() {
    for (const std::string& text : request_.with) {
      TimedWay way = way_of(text);
      if (std::ranges::find(ways_, way.tag, &TimedWay::tag) != ways_.end())
        throw UsageError("--with: the tag '{}' was given twice", way.tag);
      ways_.push_back(std::move(way));
    }
  }

  void check_streams() const {
    if (request_.input != "null") require_readable_input(request_.input);
    const std::string& output = request_.output;
    if (output == "null" || output == "pipe" || output == "inherit") return;
    if (output.find('/') == std::string::npos)
      throw UsageError(
          "--output {}: where the commands' output goes is null, pipe, inherit or a file with a "
          "folder, as ./{}; the page goes to the folder of -o/--page",
          output, output);
    require_writable_file("--output ", output);
  }

  void add_command(std::size_t i) {
    const std::size_t all = request_.commands.size();
    std::string line = request_.commands[i];
    const std::vector<TimedWay> ways = ways_for(line);
    for (const TimedWay& way : ways) {
      const std::vector<lab::Parameter> parameters =
          parameters_in({line, way.options, one_of_each("--setup", request_.setup, i, all),
                         one_of_each("--prepare", request_.prepare, i, all),
                         one_of_each("--conclude", request_.conclude, i, all),
                         one_of_each("--cleanup", request_.cleanup, i, all)});
      for (const Values& values : lab::combinations_of(parameters)) add(i, line, way, values);
    }
  }

  void add(std::size_t i, const std::string& line, const TimedWay& way, const Values& values) {
    const std::string filled = lab::filled_in(line, values);
    const bool named = i < request_.names.size();
    TimedCommand timed;
    timed.command = lab::command_of_line(filled, shell_);
    connect(timed.command);
    const std::string base = named ? request_.names[i] : line;
    timed.name = lab::filled_in(base, values);
    if (named && timed.name == base) {
      for (const auto& [name, value] : values) timed.name += fmt::format(", {} {}", name, value);
    }
    lab::Factors parameters;
    for (const auto& [name, value] : values) parameters.set(name, lab::level_of(value));
    if (!way.tag.empty()) {
      parameters.set("with", way.tag);
      timed.name += fmt::format(" ({})", way.tag);
      const RunPlan plan = plan_run(run_request_of(lab::filled_in(way.options, values)), topology_,
                                    own_variable, core::huge_pages_possible());
      apply(plan, timed.command);
      for (const std::string& warning : plan.warnings)
        plan_.warnings.push_back(fmt::format("--with '{}': {}", way.tag, warning));
    }
    const auto same = [&](const TimedCommand& other) {
      return other.name == timed.name || other.factors == timed.factors;
    };
    const std::string name = timed.name;
    timed.factors = lab::Factors{{lab::kCommandFactor, base}}.with(parameters);
    for (int copy = 2; std::ranges::any_of(plan_.commands, same); ++copy) {
      timed.name = fmt::format("{} #{}", name, copy);
      timed.factors =
          lab::Factors{{lab::kCommandFactor, fmt::format("{} #{}", base, copy)}}.with(parameters);
    }
    timed.setup = around("--setup", request_.setup, i, values);
    timed.prepare = around("--prepare", request_.prepare, i, values);
    timed.conclude = around("--conclude", request_.conclude, i, values);
    timed.cleanup = around("--cleanup", request_.cleanup, i, values);
    plan_.commands.push_back(std::move(timed));
  }

  // Those that occur in one of the lines.
  std::vector<lab::Parameter> parameters_in(const std::vector<std::string>& lines) {
    std::vector<lab::Parameter> found;
    for (const lab::Parameter& parameter : parameters_) {
      const bool occurs = std::ranges::any_of(lines, [&](const std::string& line) {
        const auto names = lab::placeholders_of(line);
        return std::ranges::find(names, parameter.name) != names.end();
      });
      if (!occurs) continue;
      found.push_back(parameter);
      used_.push_back(parameter.name);
    }
    return found;
  }

  // A command that begins with a tag is run in that way; others as they are, and in all ways that
  // no command asks for.
  std::vector<TimedWay> ways_for(std::string& line) const {
    const auto tag_of = [&](const std::string& command) {
      return std::ranges::find_if(
          ways_, [&](const TimedWay& way) { return command.starts_with(way.tag + ": "); });
    };
    if (const auto way = tag_of(line); way != ways_.end()) {
      line.erase(0, way->tag.size() + 2);
      return {*way};
    }
    std::vector<TimedWay> ways = {{}};
    for (const TimedWay& way : ways_) {
      const bool asked_for = std::ranges::any_of(
          request_.commands,
          [&](const std::string& command) { return command.starts_with(way.tag + ": "); });
      if (!asked_for) ways.push_back(way);
    }
    return ways;
  }

  AroundCommand around(const char* option, const std::vector<std::string>& lines, std::size_t i,
                       const Values& values) const {
    const std::string line =
        lab::filled_in(one_of_each(option, lines, i, request_.commands.size()), values);
    if (line.empty()) return {};
    AroundCommand around{option, line, lab::command_of_line(line, shell_)};
    if (request_.output == "inherit") around.command.output = lab::OutputTo::terminal;
    return around;
  }

  void connect(lab::ChildCommand& command) const {
    using lab::OutputTo;
    if (request_.input != "null") command.input = request_.input;
    command.output = request_.output == "null"      ? OutputTo::nothing
                     : request_.output == "pipe"    ? OutputTo::kept
                     : request_.output == "inherit" ? OutputTo::terminal
                                                    : OutputTo::file;
    if (command.output == OutputTo::file) command.output_file = request_.output;
  }

  const TimeRequest& request_;
  const core::Topology& topology_;
  std::string shell_;
  std::vector<lab::Parameter> parameters_;
  std::vector<std::string> used_;  // names of parameters
  std::vector<TimedWay> ways_;
  TimePlan plan_;
};
}  // namespace

TimePlan plan_time(const TimeRequest& request, const core::Topology& topology) {
  return Planner(request, topology).plan();
}

}  // namespace tabane::program
