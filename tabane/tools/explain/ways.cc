#include "tabane/tools/explain/ways.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <utility>

#include "tabane/core/binding.h"
#include "tabane/core/cgroup.h"
#include "tabane/core/error.h"
#include "tabane/core/memory.h"
#include "tabane/lab/probe.h"
#include "tabane/program/run_options.h"

namespace tabane::lab::explain {
namespace {

constexpr double kTooShort = 20e-3, kSample = 0.1;  // seconds: shorter runs are repeated
constexpr int kMostRounds = 7;                      // enough for an interval of a median
constexpr double kDisturbedTakes = 1.3;             // times as long as an undisturbed run, about
constexpr std::size_t kWaysPerUndisturbed = 5;
constexpr double kNewRoom = 0.1;    // of the cache
constexpr double kPartOfAPu = 0.1;  // that a command may use more than it keeps
constexpr const char* kThreads = "threads";

}  // namespace

DividedPus divide_pus(const core::Topology& topology, double busy, int usable) {
  DividedPus divided;
  std::map<unsigned, std::vector<core::Pu>> by_core;
  for (const core::Pu& pu : topology.pus()) by_core[pu.core].push_back(pu);
  const std::size_t cores = by_core.size();
  const auto wanted = static_cast<std::size_t>(std::max(1.0, std::ceil(busy - kPartOfAPu)));
  const std::size_t kept =
      std::max<std::size_t>(1, std::min(wanted, cores - std::max<std::size_t>(1, cores / 4)));
  const bool with_siblings = wanted > kept && cores > 1;
  // The first PUs often serve interrupts: thieves mind less.
  std::set<unsigned> nodes;
  std::vector<core::Pu> others;
  for (std::size_t rank = 0; const auto& [core, pus] : by_core) {
    if (rank++ < cores - kept) {
      others.push_back(pus.front());
      continue;
    }
    nodes.insert(pus.front().numa_node);
    for (const core::Pu& pu : pus) {
      const bool keeps = with_siblings || &pu == &pus.front();
      (keeps ? divided.victim : divided.siblings).push_back(pu.os_index);
    }
  }
  const auto near = [&](const core::Pu& pu) { return nodes.contains(pu.numa_node); };
  const bool any_near = std::ranges::any_of(others, near);
  for (const core::Pu& pu : others)
    if (!any_near || near(pu)) divided.thieves.push_back(pu.os_index);
  const int room = std::max(0, usable - static_cast<int>(divided.victim.size()));
  if (topology.pus().size() == 1)
    divided.impossible = "there is one PU: a thief there would take processor time, too";
  else if (cores == 1)
    divided.impossible = "there is one core: a thief there would take its own caches, too";
  else if (room == 0)
    divided.impossible =
        fmt::format("a control group gives processor time for {} {}, which the command needs",
                    usable, usable == 1 ? "PU" : "PUs");
  if (!divided.impossible.empty()) divided.thieves.clear();
  const std::size_t most = std::min<std::size_t>(kMostThieves, static_cast<std::size_t>(room));
  if (divided.thieves.size() > most) divided.thieves.resize(most);
  return divided;
}

std::size_t undisturbed_runs(std::size_t ways) {
  return (ways + kWaysPerUndisturbed - 1) / kWaysPerUndisturbed;
}

int runs_in_a_sample(double run_seconds) {
  if (run_seconds >= kTooShort) return 1;
  return static_cast<int>(std::ceil(kSample / std::max(run_seconds, 1e-4)));
}

Rounds plan_rounds(std::size_t ways, double run_seconds, double seconds) {
  const auto rounds_of = [&](std::size_t n) {
    const double runs =
        kDisturbedTakes * static_cast<double>(n) + 2 * static_cast<double>(undisturbed_runs(n));
    return static_cast<int>(std::min<double>(kMostRounds, seconds / (runs * run_seconds)));
  };
  for (const int least : {2, 1})
    for (std::size_t n = ways; n > 0; --n)
      if (rounds_of(n) >= least) return {n, rounds_of(n)};
  return {};
}

// ---- the command ----

int Subject::own_threads() const {
  for (const char* const name : program::thread_variables())
    if (const auto value = program::own_variable(name))
      if (const int threads = std::atoi(value->c_str()); threads > 0) return threads;
  return static_cast<int>(topology.pus().size());
}

bool Subject::takes_threads() const {
  return std::ranges::any_of(request.command, [](const std::string& word) {
    const auto names = placeholders_of(word);
    return std::ranges::find(names, kThreads) != names.end();
  });
}

ChildCommand Subject::command(int threads) const {
  const std::vector<std::pair<std::string, std::string>> values = {
      {kThreads, std::to_string(threads)}};
  ChildCommand made{.input = request.input};
  for (const std::string& word : request.command) made.arguments.push_back(filled_in(word, values));
  return made;
}

ChildCommand Subject::command(int threads, const program::RunRequest& way) const {
  ChildCommand made = command(threads);
  program::apply(program::plan_run(way, topology, program::own_variable, true), made);
  return made;
}

// ---- the ways ----

Ways::Ways(const Subject& subject, double most_seconds, const std::function<void(double)>& show)
    : subject_(subject), pus_(subject.topology.pu_os_indices()) {
  const int usable = core::busy_pus_within(core::read_cgroup_limits(core::SystemFiles()),
                                           static_cast<int>(pus_.size()));
  divided_ = divide_pus(subject.topology, subject.busy_pus, usable);
  limits = {.pus = static_cast<int>(pus_.size()),
            .victim_pus = static_cast<int>(divided_.victim.size()),
            .fault_seconds = seconds_of_a_fault()};
  if (divided_.impossible.empty() && subject.busy_pus > limits.victim_pus + kPartOfAPu)
    note = fmt::format(
        "The command keeps {:.1f} of {} PUs busy. While thieves have {} of them, it has the "
        "others, and is compared with itself there.",
        subject.busy_pus, pus_.size(), divided_.thieves.size());
  add_thefts(most_seconds, show);
  add_disk();
  add_threads();
  add_memory();
  add_nodes();
  add_cold();
}

Trial& Ways::trial(Resource resource) {
  const auto at = std::ranges::find(trials, resource, &Trial::resource);
  if (at != trials.end()) return *at;
  trials.push_back({.resource = resource});
  return trials.back();
}

void Ways::add(double rank, Way way) {
  trial(*way.resource);
  ways_.emplace(rank, std::move(way));
}

std::vector<Way> Ways::by_importance() {
  std::vector<Way> all;
  for (auto& [rank, way] : ways_) all.push_back(std::move(way));
  return all;
}

// With the variables for its threads where it would start more than it has PUs.
Way Ways::undisturbed(bool given_up) const {
  const int threads = subject_.own_threads();
  if (!given_up) return {.command = subject_.command(threads)};
  program::RunRequest way{
      .cpus = core::format_cpu_list(divided_.victim), .placement = "none", .own_threads = true};
  const bool fewer = subject_.busy_pus > limits.victim_pus + kPartOfAPu;
  if (!fewer) return {.command = subject_.command(threads, way), .given_up = true};
  way.own_threads = false;
  way.threads = std::min(limits.victim_pus, threads);
  return {.command = subject_.command(*way.threads, way), .given_up = true};
}

// ---- what is taken away ----

void Ways::add_theft(double rank, const Theft& theft, Thieves& thieves, Level level, double alone) {
  Way way = undisturbed(theft.what != Resource::cpu_time && theft.what != Resource::disk);
  way.resource = theft.what;
  way.level = std::move(level);
  way.theft = theft;
  way.thieves = &thieves;
  way.alone = alone;
  add(rank, std::move(way));
}

void Ways::add_thefts(double most_seconds, const std::function<void(double)>& show) {
  const auto hire = [&](std::span<const unsigned> pus, std::size_t bytes) -> Thieves& {
    crews_.push_back(std::make_unique<Thieves>(pus, bytes));
    return *crews_.back();
  };
  Thieves* calculating = nullptr;
  if (divided_.impossible.empty()) {
    const double room = core::usable_memory_bytes().value_or(kMostThiefBytes) / 6;
    calculating = &hire(divided_.thieves, std::min(kMostThiefBytes, std::size_t(room)));
    const Calibration calibration =
        calibrate(*calculating, divided_.victim, subject_.topology, most_seconds, show);
    limits.memory_over_cache = calibration.memory_over_cache;
    add_bandwidth(calibration);
    add_cache(calibration);
  } else {
    for (const Resource what : {Resource::bandwidth, Resource::cache, Resource::units})
      untried(what, divided_.impossible);
  }
  const auto& places = divided_.siblings.empty() ? divided_.thieves : divided_.siblings;
  if (!divided_.siblings.empty()) calculating = &hire(divided_.siblings, 0);
  if (calculating != nullptr) {
    trial(Resource::units) = {
        .resource = Resource::units,
        .how = fmt::format("Threads on PUs {}, {}, do nothing but multiply and add.",
                           core::format_cpu_list(places),
                           divided_.siblings.empty() ? "which are other cores as far as is known"
                                                     : "which share its cores")};
    add_theft(5, {.what = Resource::units}, *calculating, {.taken = 1});
  }
  Thieves& everywhere = hire(pus_, 0);
  for (const auto& [share, rank] : {std::pair{0.25, 2.0}, std::pair{0.1, 11.0}})
    add_theft(rank, {.what = Resource::cpu_time, .amount = share}, everywhere, {.taken = share});
  trial(Resource::cpu_time).how =
      "A thread on each PU calculates for a part of the time, all of them at the same time.";
}

void Ways::add_bandwidth(const Calibration& calibration) {
  const auto& found = calibration.bandwidth;
  if (found.empty()) return untried(Resource::bandwidth, calibration.no_memory);
  limits.bandwidth = found[0].left;
  std::vector<std::string> left;
  for (std::size_t i = 1; i < found.size(); ++i) {
    constexpr double kRanks[] = {1, 7, 12};  // from the most that is taken
    left.push_back(fmt::format("{:.1f}", 1e-9 * found[i].left));
    add_theft(
        kRanks[found.size() - 1 - i], {.what = Resource::bandwidth, .amount = found[i].amount},
        *crews_[0],
        {.taken = std::max(0.0, 1 - found[i].left / found[0].left), .latency = found[i].latency},
        found[i].speed);
  }
  trial(Resource::bandwidth).how = fmt::format(
      "Threads on PUs {} move data of their own for a part of the time. A stream of tabane's own "
      "on PUs {} then gets {} instead of {:.1f} GB/s.",
      core::format_cpu_list(divided_.thieves), core::format_cpu_list(divided_.victim),
      fmt::join(left, ", "), 1e-9 * found[0].left);
}

void Ways::add_cache(const Calibration& calibration) {
  const auto& found = calibration.cache;
  if (found.empty()) return untried(Resource::cache, calibration.no_cache);
  limits.cache = found[0].left;
  // A theft that leaves as much room as a smaller one says nothing new.
  std::vector<Leftover> kept;
  for (const Leftover& each : found) {
    const double before = kept.empty() ? found[0].left : kept.back().left;
    if (each.left < before - kNewRoom * found[0].left) kept.push_back(each);
  }
  if (kept.empty())
    return untried(Resource::cache, "other PUs take nothing of it: they seem to have their own");
  std::vector<std::string> left;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    constexpr double kRanks[] = {3, 4, 9, 10};  // from the most that is taken
    left.push_back(fmt::format("{:.1f}", kept[i].left / (1 << 20)));
    add_theft(kRanks[kept.size() - 1 - i], {.what = Resource::cache, .amount = kept[i].amount},
              *crews_[0], {.taken = found[0].left - kept[i].left}, kept[i].speed);
  }
  trial(Resource::cache).how = fmt::format(
      "Threads on PUs {} go through data of their own again and again. A chain of loads of "
      "tabane's own on PU {} then finds room for {} instead of {:.1f} MiB.",
      core::format_cpu_list(divided_.thieves), divided_.victim[0], fmt::join(left, ", "),
      found[0].left / (1 << 20));
}

void Ways::add_disk() {
  if (!subject_.uses_disk)
    return untried(Resource::disk, "the command neither read nor wrote 1 MiB on a disk");
  for (const std::string& file : subject_.files) {
    const std::string folder = std::filesystem::absolute(file).parent_path();
    struct statfs system {};
    const bool known = statfs(folder.c_str(), &system) == 0 && access(folder.c_str(), W_OK) == 0;
    if (known && system.f_type != TMPFS_MAGIC && system.f_type != RAMFS_MAGIC)
      folder_.reset(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder_.valid()) break;
  }
  if (!folder_.valid())
    return untried(Resource::disk, "no folder of its files is on a disk and can be written to");
  crews_.push_back(std::make_unique<Thieves>(std::span(pus_).first(1), std::size_t{2} << 20));
  const Theft theft{.what = Resource::disk, .folder = folder_.get()};
  try {
    crews_.back()->begin(theft);
    const double alone = crews_.back()->end();
    add_theft(9.5, theft, *crews_.back(), {.taken = 1}, alone);
    trial(Resource::disk).how =
        "A thread writes 1 MiB after the other to a file in the folder of one of its files, past "
        "the memory.";
  } catch (const core::SystemError& error) {
    untried(Resource::disk, error.what());
  }
}

// ---- what is given or changed ----

void Ways::add_threads() {
  const int most = limits.pus, own = subject_.own_threads();
  std::set<int> numbers(subject_.request.threads.begin(), subject_.request.threads.end());
  if (numbers.empty()) numbers = {1, std::max(1, most / 4), std::max(1, most / 2), most};
  numbers.erase(own);
  if (numbers.empty()) return untried(Resource::threads, "there is one PU");
  for (const int n : numbers)
    add(5.5, {.resource = Resource::threads,
              .level = {.taken = static_cast<double>(n)},
              .command = subject_.command(n, {.threads = n})});
  if (!subject_.takes_threads()) trial(Resource::threads).option = "-t {}";
}

void Ways::add_memory() {
  const int threads = subject_.own_threads();
  const auto give = [&](double rank, Resource what, program::RunRequest way,
                        const std::string& setting) {
    way.placement = "none";
    way.own_threads = true;
    add(rank, {.resource = what,
               .level = {.taken = 1, .setting = setting},
               .command = subject_.command(threads, way)});
  };
  trial(Resource::huge_pages).option = "--huge-pages";
  if (core::huge_pages_possible())
    give(6, Resource::huge_pages, {.huge_pages = true}, "");
  else
    untried(Resource::huge_pages, "the system gives none on request");
  trial(Resource::allocator).option = "--malloc {}";
  std::string missing;
  for (const char* const name : {"tcmalloc", "mimalloc", "jemalloc"}) {
    try {
      give(8.5, Resource::allocator, {.allocator = name}, name);
    } catch (const core::UsageError& error) {
      missing = error.what();
    }
  }
  const bool any = std::ranges::any_of(
      ways_, [](const auto& way) { return way.second.resource == Resource::allocator; });
  if (!any) untried(Resource::allocator, missing);
}

void Ways::add_nodes() {
  std::vector<const core::NumaNode*> nodes;
  for (const core::NumaNode& node : subject_.topology.numa_nodes())
    if (!node.pus.empty()) nodes.push_back(&node);
  for (const Resource what : {Resource::local, Resource::remote}) {
    if (nodes.size() < 2) {
      untried(what, "there is one NUMA node");
      continue;
    }
    const bool remote = what == Resource::remote;
    const program::RunRequest way{.cpus = core::format_cpu_list(nodes[0]->pus),
                                  .membind = std::to_string(nodes[remote ? 1 : 0]->os_index),
                                  .placement = "none",
                                  .own_threads = true};
    try {
      add(remote ? 9.8 : 6.5, {.resource = what,
                               .level = {.taken = 1},
                               .command = subject_.command(subject_.own_threads(), way)});
      if (!remote) trial(what).option = fmt::format("-c {} -m {}", *way.cpus, *way.membind);
    } catch (const core::UsageError& error) {
      untried(what, error.what());
    }
  }
}

void Ways::add_cold() {
  const auto& files = subject_.files;
  if (files.empty()) return untried(Resource::cold, "no file was seen that the command reads");
  Way way = undisturbed(false);
  way.resource = Resource::cold;
  way.level.taken = 1;
  way.before = [&files] {
    for (const std::string& name : files) {
      const core::Descriptor file(open(name.c_str(), O_RDONLY | O_CLOEXEC));
      if (file.valid()) posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
    }
  };
  add(8, std::move(way));
  trial(Resource::cold).how = fmt::format("The system was asked to forget {} {} that it reads.",
                                          files.size(), files.size() == 1 ? "file" : "files");
}

}  // namespace tabane::lab::explain
