#include "tabane/tools/tune/tune_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <ranges>

#include "tabane/core/binding.h"
#include "tabane/core/error.h"
#include "tabane/core/memory.h"
#include "tabane/core/units.h"
#include "tabane/program/args.h"
#include "tabane/program/output.h"
#include "tabane/program/run_options.h"

namespace tabane::program {
namespace {

using core::number_in;
using core::UsageError;
using lab::tune::Candidate;
using lab::tune::Dimension;
using lab::tune::kAsStarted;
using lab::tune::Scale;

constexpr const char* kProcesses = "processes";
constexpr const char* kThreads = "threads";
constexpr const char* kPlacement = "placement";
constexpr const char* kMemory = "memory";
constexpr const char* kAllocator = "allocator";
constexpr const char* kHugePages = "huge pages";
constexpr const char* kArenas = "arenas";
constexpr const char* kIndex = "index";
constexpr std::string_view kMallocOption = "--malloc ";  // of `tabane run`, in its errors

std::optional<int> count_of(const std::string& text) {
  const auto value = number_in<double>(text);
  if (!value || *value < 1 || *value > 1'000'000 || *value != std::floor(*value))
    return std::nullopt;
  return static_cast<int>(*value);
}

bool mentions(const std::vector<std::string>& words, const std::string& name) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    const auto names = lab::placeholders_of(word);
    return std::ranges::find(names, name) != names.end();
  });
}

bool is_in(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

Dimension counts(const char* name, Scale scale, std::optional<int> exact_start, int likely_start,
                 const std::vector<int>& steps) {
  Dimension dimension{.name = name, .scale = scale};
  dimension.levels.push_back(exact_start ? lab::Level(*exact_start) : lab::Level(kAsStarted));
  dimension.amounts.push_back(exact_start.value_or(likely_start));
  for (const int step : steps) {
    if (exact_start && step == *exact_start) continue;
    dimension.levels.emplace_back(step);
    dimension.amounts.push_back(step);
  }
  return dimension;
}

// Where cores, nodes and the machine are full.
std::vector<int> marks_of(const core::Topology& topology) {
  const auto nodes = static_cast<int>(topology.numa_nodes().size());
  const auto pus = static_cast<int>(topology.pus().size());
  const auto cores = static_cast<int>(topology.core_count());
  return {nodes, cores / nodes, pus / nodes, cores, pus, pus / 2, 3 * pus / 4, pus - 1};
}

}  // namespace

std::pair<std::string, std::vector<std::string>> parse_vary(const std::string& text) {
  const auto equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
    throw UsageError("--vary {}: use NAME=VALUE,VALUE or NAME=FROM..TO or FROM..TO:STEP", text);
  const std::string list = text.substr(equals + 1);
  std::vector<std::string> values;
  const auto dots = list.find("..");
  const auto from =
      dots == std::string::npos ? std::nullopt : number_in<double>(list.substr(0, dots));
  if (from && list.find(',') == std::string::npos) {
    const auto colon = list.find(':', dots);
    const auto to = number_in<double>(
        list.substr(dots + 2, colon == std::string::npos ? std::string::npos : colon - dots - 2));
    const auto step =
        colon == std::string::npos ? std::optional(1.0) : number_in<double>(list.substr(colon + 1));
    if (!to || !step || *step <= 0 || *to < *from || (*to - *from) / *step > 10'000)
      throw UsageError("--vary {}: use FROM..TO or FROM..TO:STEP with FROM <= TO", text);
    const int last = int(std::floor((*to - *from) / *step + 1e-9));
    for (int i = 0; i <= last; ++i) {
      const double value = *from + i * *step;  // 0.1 + 2 * 0.1 is to be 0.3
      values.push_back(fmt::format("{:.{}g}", value, value == std::floor(value) ? 17 : 15));
    }
  } else {
    for (const auto& value : std::views::split(list, ','))
      values.emplace_back(value.begin(), value.end());
  }
  return {name, values};
}

TunePlan::TunePlan(TuneRequest request, const core::Topology& topology, Lookup environment)
    : request_(std::move(request)), topology_(topology), environment_(std::move(environment)) {
  for (const std::string& text : request_.vary) own_.push_back(parse_vary(text));
  check_placeholders();
  for (const std::string& name : request_.only) {
    if (!is_own(name) && !is_in({kProcesses, kThreads, kPlacement, kMemory, kAllocator, kHugePages,
                                 "huge-pages", kArenas},
                                name))
      throw UsageError("--only " + name +
                       ": use processes, threads, placement, memory, allocator, huge-pages, "
                       "arenas or a name of --vary");
  }
  std::vector<Dimension> dimensions;
  add_workers(dimensions);
  add_places(dimensions);
  add_memory(dimensions);
  add_own(dimensions);
  if (dimensions.empty()) {
    std::string reasons;
    for (const auto& [name, reason] : left_out_) reasons += fmt::format("  {}: {}\n", name, reason);
    throw WithLines<UsageError>("nothing to vary:", reasons);
  }
  const double most = double(topology_.pus().size()) * (request_.oversubscribe ? 2 : 1);
  const auto legal = [dimensions, most](const Candidate& candidate) {
    double workers = 1;
    bool arenas = false, other_allocator = false;
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      const auto level = static_cast<std::size_t>(candidate[d]);
      if (dimensions[d].counts_workers()) workers *= dimensions[d].amounts[level];
      if (dimensions[d].name == kArenas) arenas = level != 0;
      if (dimensions[d].name == kAllocator) other_allocator = level != 0;
    }
    return workers <= most && !(arenas && other_allocator);  // arenas are glibc's
  };
  space_.emplace(std::move(dimensions), legal);
}

bool TunePlan::is_own(const std::string& factor) const {
  return std::ranges::any_of(own_, [&](const auto& one) { return one.first == factor; });
}

void TunePlan::check_placeholders() const {
  std::vector<std::string> known = {kProcesses, kThreads};
  for (const auto& [name, values] : own_) known.push_back(name);
  if (request_.shards) known.emplace_back(kIndex);
  const std::vector<std::string>& words = request_.command;
  for (const std::string& word : words) {
    for (const std::string& name : lab::placeholders_of(word)) {
      if (is_in(known, name)) continue;
      throw UsageError(
          "{{{0}}} in the command is not known: there are {{{1}}}; others need --vary {0}=…{2}. "
          "For braces that are no placeholder, write {{ {0} }}",
          name, fmt::join(known, "}, {"), name == kIndex ? ", and {index} needs --shards" : "");
    }
  }
  for (std::size_t i = 0; i < own_.size(); ++i)
    if (!mentions(words, own_[i].first))
      throw UsageError("--vary {}: the command has no {{{}}}", request_.vary[i], own_[i].first);
  if (request_.shards && !request_.launcher.empty())
    throw UsageError("--shards and --launcher exclude each other");
  if (!request_.launcher.empty()) {
    const auto launcher = lab::words_of_line(request_.launcher);
    if (launcher.empty() || !mentions(launcher, kProcesses))
      throw UsageError("--launcher '" + request_.launcher +
                       "': say where the number goes, for example 'mpirun -n {processes}'");
  }
}

// Notes the reason if it is not.
bool TunePlan::wanted(const std::string& factor) {
  std::string dashed = factor;
  std::ranges::replace(dashed, ' ', '-');
  const auto named = [&](const auto& list) { return is_in(list, factor) || is_in(list, dashed); };
  const bool only_others = !request_.only.empty() && !named(request_.only);
  if (!only_others && !named(request_.without)) return true;
  left_out_.emplace_back(factor, only_others ? "not among --only" : "left out by --without");
  return false;
}

int TunePlan::start_of(const std::string& name, int otherwise) const {
  for (const std::string& text : request_.start) {
    const auto equals = text.find('=');
    const auto value =
        equals == std::string::npos ? std::nullopt : count_of(text.substr(equals + 1));
    if (!value || !is_in({kProcesses, kThreads}, text.substr(0, equals)))
      throw UsageError("--start " + text + ": use threads=N or processes=N");
    if (text.substr(0, equals) == name) return *value;
  }
  return otherwise;
}

void TunePlan::add_workers(std::vector<Dimension>& dimensions) {
  const auto pus = static_cast<int>(topology_.pus().size());
  const int most = request_.oversubscribe ? 2 * pus : pus;
  const auto launcher = lab::words_of_line(request_.launcher);
  const bool can_start_several =
      request_.shards || !launcher.empty() || mentions(request_.command, kProcesses);
  if (!can_start_several)
    left_out_.emplace_back(
        kProcesses, "the command has no {processes}, and there is no --launcher or --shards");
  else if (wanted(kProcesses)) {
    processes_vary_ = true;
    dimensions.push_back(
        counts(kProcesses, Scale::processes, start_of(kProcesses, 1), 1,
               lab::tune::ladder(request_.most_processes.value_or(most), marks_of(topology_))));
  }
  threads_in_command_ = mentions(request_.command, kThreads) || mentions(launcher, kThreads);
  if (!wanted(kThreads)) return;
  int set = 0;
  for (const char* name : thread_variables())
    if (const auto value = environment_(name); value && set == 0)
      set = count_of(value->substr(0, value->find(','))).value_or(0);
  const int start = start_of(kThreads, set > 0 ? set : pus);
  const bool exact = threads_in_command_ || start_of(kThreads, 0) > 0;
  dimensions.push_back(
      counts(kThreads, Scale::threads, exact ? std::optional(start) : std::nullopt, start,
             lab::tune::ladder(request_.most_threads.value_or(most), marks_of(topology_))));
}

void TunePlan::add_places(std::vector<Dimension>& dimensions) {
  const bool own_processes = processes_vary_ && !request_.shards && request_.launcher.empty();
  if (topology_.pus().size() < 2) {
    left_out_.emplace_back(kPlacement, "there is one PU");
  } else if (own_processes) {
    left_out_.emplace_back(kPlacement,
                           "the command starts its processes itself; give what starts them as "
                           "--launcher, so that each can be placed");
  } else if (wanted(kPlacement)) {
    Dimension placement{.name = kPlacement, .levels = {kAsStarted, "compact"}};
    if (topology_.core_count() < topology_.pus().size() || topology_.numa_nodes().size() > 1)
      placement.levels.emplace_back("scatter");
    if (topology_.numa_nodes().size() > 1) placement.levels.emplace_back("numa");
    if (!request_.launcher.empty()) placement.levels.emplace_back("none");
    dimensions.push_back(std::move(placement));
  }
  if (topology_.numa_nodes().size() < 2)
    left_out_.emplace_back(kMemory, "there is one NUMA node");
  else if (!core::numa_calls_available())
    left_out_.emplace_back(kMemory, "the system refuses the calls for it");
  else if (wanted(kMemory))
    dimensions.push_back({.name = kMemory, .levels = {kAsStarted, "local", "interleave"}});
}

void TunePlan::add_memory(std::vector<Dimension>& dimensions) {
  Dimension allocators{.name = kAllocator, .levels = {kAsStarted}};
  std::string missing;
  for (const char* name : {"jemalloc", "mimalloc", "tcmalloc"}) {
    try {
      find_allocator(name, library_directories(environment_));
      allocators.levels.emplace_back(name);
    } catch (const UsageError& error) {
      std::string why = error.what();
      if (why.starts_with(kMallocOption)) why.erase(0, kMallocOption.size());
      missing += (missing.empty() ? "" : "; ") + why;
    }
  }
  const bool is_wanted = wanted(kAllocator);
  if (is_wanted && !missing.empty()) left_out_.emplace_back("other allocators", missing);
  if (is_wanted && allocators.levels.size() > 1) dimensions.push_back(std::move(allocators));
  if (!core::huge_pages_possible())
    left_out_.emplace_back(kHugePages, "the system gives none on request");
  else if (wanted(kHugePages))
    dimensions.push_back({.name = kHugePages, .levels = {kAsStarted, "yes"}});
  // Asked for only: it rarely matters where another allocator may be taken.
  if (is_in(request_.only, kArenas))
    dimensions.push_back({.name = kArenas,
                          .scale = Scale::amount,
                          .levels = {kAsStarted, 1, 2, 8},
                          .amounts = {8.0 * double(topology_.pus().size()), 1, 2, 8}});
  else
    left_out_.emplace_back(kArenas, "only with --only arenas");
}

void TunePlan::add_own(std::vector<Dimension>& dimensions) {
  for (const auto& [name, values] : own_) {
    Dimension dimension{.name = name};
    bool numbers = true;
    for (const std::string& value : values) {
      const auto number = number_in<double>(value);
      numbers = numbers && number && *number > 0;
      if (number) dimension.amounts.push_back(*number);
      dimension.levels.emplace_back(value);
    }
    if (numbers)
      dimension.scale = Scale::amount;
    else
      dimension.amounts.clear();
    dimensions.push_back(std::move(dimension));
  }
}

CommandSetting TunePlan::setting(const Candidate& candidate) const {
  CommandSetting setting;
  setting.processes = start_of(kProcesses, 1);
  setting.parted = request_.shards || !request_.launcher.empty();
  const auto& dimensions = space().dimensions();
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    const lab::Level& level = dimensions[d].levels[static_cast<std::size_t>(candidate[d])];
    const std::string& name = dimensions[d].name;
    if (candidate[d] != 0) setting.as_started = false;
    if (is_own(name)) {
      setting.values.emplace_back(name, level.text());
    } else if (level.is_number()) {
      const auto number = static_cast<int>(level.number());
      if (name == kProcesses)
        setting.processes = number;
      else if (name == kThreads)
        setting.threads = number;
      else if (name == kArenas)
        setting.arenas = number;
    } else if (candidate[d] != 0) {
      if (name == kPlacement)
        setting.placement = level.word();
      else if (name == kMemory)
        setting.memory = level.word();
      else if (name == kAllocator)
        setting.allocator = level.word();
      else if (name == kHugePages)
        setting.huge_pages = true;
    }
  }
  setting.threads_in_command = threads_in_command_;
  // Without a factor of that name the command may still mention it.
  if (!setting.threads && threads_in_command_)
    setting.threads = start_of(kThreads, static_cast<int>(topology_.pus().size()));
  return setting;
}

double TunePlan::pus(const Candidate& candidate) const {
  return std::min(space().workers(candidate), double(topology_.pus().size()));
}

lab::ChildCommand TunePlan::command_of(const CommandSetting& setting, int process) const {
  lab::ChildCommand child{
      .arguments = filled(request_.command, values_of(setting, std::to_string(process)))};
  if (setting.as_started) return child;
  if (setting.arenas)
    child.environment.emplace_back("MALLOC_ARENA_MAX", std::to_string(*setting.arenas));
  if (!needs_surroundings(setting)) return child;
  apply(plan_run(run_request(setting, process), topology_, environment_, true), child);
  return child;
}

std::vector<lab::ChildCommand> TunePlan::commands(const CommandSetting& setting) const {
  if (!request_.launcher.empty()) return {as_printed(setting, false)};
  std::vector<lab::ChildCommand> all;
  const int count = request_.shards ? setting.processes : 1;
  for (int i = 0; i < count; ++i) all.push_back(command_of(setting, i));
  return all;
}

lab::ChildCommand TunePlan::as_printed(const CommandSetting& setting, bool bare) const {
  if (bare) return {.arguments = bare_words(setting, 0)};
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  return {.arguments =
              start_words(setting, request_.command, request_.launcher, request_.shards, self)};
}

bool TunePlan::has_bare_equal(const CommandSetting& setting) const {
  if (!request_.launcher.empty() || request_.shards) return false;
  const std::vector<std::string> words = bare_words(setting, 0);
  return std::ranges::all_of(words, [](const std::string& word) {
    return (word != "taskset" && word != "numactl") || lab::program_file(word) != word;
  });
}

std::string TunePlan::line(const CommandSetting& setting) const {
  return shell_line(
      start_words(setting, request_.command, request_.launcher, request_.shards, "tabane"));
}

std::vector<std::string> TunePlan::bare_words(const CommandSetting& setting, int process) const {
  const lab::ChildCommand child = command_of(setting, process);
  std::vector<std::string> words;
  if (!child.environment.empty()) words.emplace_back("env");
  for (const auto& [name, value] : child.environment) words.push_back(name + "=" + value);
  if (!child.cpus.empty()) {
    words.insert(words.end(), {"taskset", "-c", core::format_cpu_list(child.cpus)});
  }
  if (setting.memory == "local") words.insert(words.end(), {"numactl", "--localalloc"});
  if (setting.memory == "interleave") words.insert(words.end(), {"numactl", "--interleave=all"});
  words.insert(words.end(), child.arguments.begin(), child.arguments.end());
  return words;
}

std::string TunePlan::bare_line(const CommandSetting& setting) const {
  if (setting.as_started)
    return shell_line(
        start_words(setting, request_.command, request_.launcher, request_.shards, ""));
  if (!request_.launcher.empty()) {
    // The launcher places its ranks; what else there is goes through the environment.
    CommandSetting one = setting;
    one.placement.clear();
    std::vector<std::string> words =
        filled(lab::words_of_line(request_.launcher), values_of(setting, "0"));
    const std::vector<std::string> bare = bare_words(one, 0);
    words.insert(words.end(), bare.begin(), bare.end());
    return shell_line(words);
  }
  if (!request_.shards) return shell_line(bare_words(setting, 0));
  std::string lines;
  for (int i = 0; i < setting.processes; ++i) lines += shell_line(bare_words(setting, i)) + " &\n";
  return lines + "wait";
}

std::string TunePlan::slurm_script(const CommandSetting& setting) const {
  const bool several = setting.parted;
  const int tasks = several ? setting.processes : 1;
  const auto all = static_cast<int>(topology_.pus().size());
  const int own = several ? 1 : setting.processes;
  const int cpus = setting.threads ? *setting.threads * own : std::max(1, all / tasks);
  std::vector<std::string> words = filled(request_.command, values_of(setting, "0"));
  std::string run;
  if (needs_surroundings(setting)) {
    std::vector<std::string> options = {"tabane", "run", "-q"};
    for (const std::string& option : run_options(setting, several ? "launcher" : ""))
      options.push_back(option);
    options.emplace_back("--");
    run = shell_line(options) + " ";
  }
  std::string command = shell_line(words);
  if (request_.shards) {
    // Only the task knows its number.
    const std::string line =
        line_with_index(filled(request_.command, values_of(setting, kIndexMark)), "$SLURM_PROCID");
    command = "sh -c " + shell_word(line);
  }
  const std::string arenas =
      setting.arenas ? fmt::format("export MALLOC_ARENA_MAX={}\n", *setting.arenas) : "";
  return fmt::format(
      "#!/bin/sh\n#SBATCH --nodes=1\n#SBATCH --exclusive\n#SBATCH --ntasks={}\n"
      "#SBATCH --cpus-per-task={}\n{}srun --ntasks={} --cpus-per-task={} --cpu-bind=none {}{}\n",
      tasks, cpus, arenas, tasks, cpus, run, command);
}

}  // namespace tabane::program
