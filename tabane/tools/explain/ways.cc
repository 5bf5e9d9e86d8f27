// The ways in which a command is run to explain its time: each with one thing taken away or given.
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
#include <functional>
#include <map>
#include <utility>

#include "tabane/core/binding.h"
#include "tabane/core/cgroup.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/program/run_options.h"
#include "tabane/tools/explain/experiments.h"

namespace tabane::lab::explain {
namespace {

using core::format_cpu_list;
using namespace std::string_literals;

constexpr double kNewRoom = 0.1;    // of the cache
constexpr double kNoticed = 0.1;    // of the bandwidth or of a load's time: what less says is noise
constexpr double kPartOfAPu = 0.1;  // that a command may use more than it keeps
constexpr double kOfEachPu = 0.25;  // of its time, for thieves of processor time
constexpr const char* kThreads = "threads";
// Of `tabane run`, to change nothing but what is given.
constexpr const char* kAsItIs = "--own-threads --placement none ";

std::string within_quota(int usable, const char* need) {
  return fmt::format("a control group gives processor time for {}, which {}",
                     core::counted(static_cast<std::uint64_t>(usable), "PU"), need);
}

// How many of so many cores a command that could use all of them gives up.
std::size_t of_thieves(std::size_t cores) {
  return cores == 1 ? 0 : std::max<std::size_t>(1, cores / 4);
}

}  // namespace

DividedPus divide_pus(const core::Topology& topology, double busy, int usable) {
  DividedPus divided;
  std::map<unsigned, std::vector<core::Pu>> by_core;
  for (const core::Pu& pu : topology.pus()) by_core[pu.core].push_back(pu);
  const std::size_t cores = by_core.size();
  const auto wanted = static_cast<std::size_t>(std::max(1.0, std::ceil(busy - kPartOfAPu)));
  const std::size_t kept = std::min(wanted, cores - of_thieves(cores));
  const bool with_siblings = wanted > kept && cores > 1;
  // The first PUs often serve interrupts: thieves mind less. They get some of the cores of each
  // last-level cache, so that they can take from it.
  std::map<unsigned, std::vector<unsigned>, std::greater<>> by_cache;
  for (const auto& [core, pus] : by_core) by_cache[pus.front().last_level_cache].push_back(core);
  std::set<unsigned> victims, caches, nodes;
  for (const bool all : {false, true})
    for (const auto& [cache, of_cache] : by_cache)
      for (std::size_t i = of_cache.size(); i > (all ? 0 : of_thieves(of_cache.size())); --i)
        if (victims.size() < kept) victims.insert(of_cache[i - 1]);
  std::vector<core::Pu> others;
  for (const auto& [core, pus] : by_core) {
    if (!victims.contains(core)) {
      others.push_back(pus.front());
      continue;
    }
    caches.insert(pus.front().last_level_cache);
    nodes.insert(pus.front().numa_node);
    for (const core::Pu& pu : pus) {
      const bool keeps = with_siblings || &pu == &pus.front();
      (keeps ? divided.victim : divided.siblings).push_back(pu.os_index);
    }
  }
  const auto keep_if_any = [&](const auto& near) {
    if (std::ranges::any_of(others, near)) std::erase_if(others, std::not_fn(near));
  };
  keep_if_any([&](const core::Pu& pu) { return nodes.contains(pu.numa_node); });
  keep_if_any([&](const core::Pu& pu) { return caches.contains(pu.last_level_cache); });
  for (const core::Pu& pu : others) divided.thieves.push_back(pu.os_index);
  const int room = std::max(0, usable - static_cast<int>(divided.victim.size()));
  if (topology.pus().size() == 1)
    divided.impossible = "there is one PU: a thief there would take processor time, too";
  else if (cores == 1)
    divided.impossible = "there is one core: a thief there would take its own caches, too";
  else if (room == 0)
    divided.impossible = within_quota(usable, "the command needs");
  const auto most = std::min<std::size_t>(kMostThieves, static_cast<std::size_t>(room));
  const std::size_t thieves = divided.impossible.empty() ? most : 0;
  if (divided.thieves.size() > thieves) divided.thieves.resize(thieves);
  if (divided.siblings.size() > most) divided.siblings.resize(most);
  return divided;
}

std::string cpu_time_reason(double busy, std::size_t pus, int usable) {
  const auto all = static_cast<double>(pus);
  // Without a quota thieves and command are to compete.
  if (usable >= static_cast<int>(pus) || busy + kOfEachPu * all <= usable) return "";
  return within_quota(usable, "thieves on all PUs and the command exceed");
}

// Helpers of it may work now and then.
bool may_have_threads(double busy, double threads) { return busy <= 1.2 * threads + kPartOfAPu; }

// ---- the command ----

namespace {

std::optional<int> threads_of_variables() {
  for (const char* const name : program::thread_variables())
    if (const auto value = program::own_variable(name))
      if (const int threads = std::atoi(value->c_str()); threads > 0) return threads;
  return std::nullopt;
}

}  // namespace

int Subject::own_threads() const {
  return threads_of_variables().value_or(static_cast<int>(topology.pus().size()));
}

bool Subject::takes_threads() const {
  return std::ranges::any_of(request.command, [](const std::string& word) {
    return std::ranges::count(placeholders_of(word), kThreads) > 0;
  });
}

bool Subject::follows_numbers() const {
  return takes_threads() || threads_of_variables() || !request.threads.empty() || !works_alone;
}

ChildCommand Subject::command(int threads) const {
  const std::pair<std::string, std::string> values[] = {{kThreads, std::to_string(threads)}};
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

namespace {

program::RunRequest by_variables(int threads) {
  return {.placement = "none", .threads = threads, .force_environment = true};
}

class WaysBuilder {
 public:
  WaysBuilder(const Subject& subject, Ways& ways)
      : subject_(subject),
        ways_(ways),
        pus_(subject.topology.pu_os_indices()),
        threads_(subject.own_threads()),
        usable_(core::busy_pus_within(core::read_cgroup_limits(core::SystemFiles()),
                                      static_cast<int>(pus_.size()))) {
    for (int i = 0; i <= static_cast<int>(Resource::local); ++i)
      ways.trials.push_back({.resource = static_cast<Resource>(i)});
  }

  void build(double most_seconds, const std::function<void(double)>& show) {
    divide();
    add_thieves(most_seconds, show);
    add_disk();
    add_threads();
    add_memory();
    add_nodes();
    add_cold();
    std::ranges::stable_sort(ways_.all, {}, &Way::rank);
  }

 private:
  Trial& trial(Resource resource) { return ways_.trials[static_cast<std::size_t>(resource)]; }
  void untried(Resource resource, const std::string& why) { trial(resource).untried = why; }

  // Takes no effect where the way is impossible, as on a machine without such an allocator.
  void give(double rank, Resource what, Level level, program::RunRequest way) {
    way.placement = "none";
    way.own_threads = true;
    try {
      ways_.all.push_back({.rank = rank,
                           .resource = what,
                           .level = std::move(level),
                           .command = subject_.command(threads_, way)});
      trial(what).untried.clear();
    } catch (const core::UsageError& error) {
      if (std::ranges::count(ways_.all, what, &Way::resource) == 0) untried(what, error.what());
    }
  }

  // With the variables for its threads where it would start more than it has PUs.
  void divide() {
    divided_ = divide_pus(subject_.topology, subject_.busy_pus, usable_);
    const int left = static_cast<int>(divided_.victim.size());
    ways_.limits = {.pus = static_cast<int>(pus_.size()),
                    .victim_pus = left,
                    .fault_seconds = seconds_of_a_fault()};
    program::RunRequest there{
        .cpus = format_cpu_list(divided_.victim), .placement = "none", .own_threads = true};
    int threads = threads_;
    if (subject_.busy_pus > left + kPartOfAPu) {
      there.own_threads = false;
      there.force_environment = true;
      there.threads = threads = std::min(left, threads_);
      if (divided_.impossible.empty())
        ways_.note = fmt::format(
            "The command keeps {:.1f} of {} PUs (cores or hardware threads) busy. With less "
            "bandwidth or cache, or with neighbours, it had {}, as in the runs it is compared "
            "with.",
            subject_.busy_pus, pus_.size(), left);
    }
    ways_.undisturbed.command = subject_.command(threads_);
    ways_.undisturbed_given_up = {.command = subject_.command(threads, there), .given_up = true};
  }

  // ---- what is taken away ----

  Thieves& hire(std::span<const unsigned> pus, std::size_t bytes) {
    ways_.crews.push_back(std::make_unique<Thieves>(pus, bytes));
    return *ways_.crews.back();
  }

  void steal(double rank, Thieves& thieves, const Theft& theft, Level level, double alone = 0) {
    const bool in_place = theft.what == Resource::cpu_time || theft.what == Resource::disk;
    Way way = in_place ? ways_.undisturbed : ways_.undisturbed_given_up;
    way.rank = rank;
    way.resource = theft.what;
    way.level = std::move(level);
    way.theft = theft;
    way.thieves = &thieves;
    way.alone = alone;
    ways_.all.push_back(std::move(way));
  }

  void add_thieves(double most_seconds, const std::function<void(double)>& show) {
    Thieves* calculating = nullptr;
    if (divided_.impossible.empty()) {
      const double room = core::usable_memory_bytes().value_or(kMostThiefBytes) / 6;
      calculating = &hire(divided_.thieves, std::min(kMostThiefBytes, std::size_t(room)));
      Calibration calibration =
          calibrate(*calculating, divided_.victim, subject_.topology, most_seconds, show);
      ways_.limits.memory_over_cache = calibration.memory_over_cache;
      ways_.sharing = std::move(calibration.sharing);
      steal_bandwidth(*calculating, calibration);
      steal_cache(*calculating, calibration);
    } else {
      for (const Resource what : {Resource::bandwidth, Resource::cache, Resource::units})
        untried(what, divided_.impossible);
    }
    const bool siblings = !divided_.siblings.empty();
    if (siblings) calculating = &hire(divided_.siblings, 0);
    if (calculating != nullptr) {
      steal(5, *calculating, {.what = Resource::units},
            {.taken = 1, .setting = siblings ? "on the same cores" : ""});
      trial(Resource::units) = {
          .resource = Resource::units,
          .how = fmt::format(
              "Threads of tabane's own on PUs {}, {}, do nothing but multiply and add.",
              format_cpu_list(siblings ? divided_.siblings : divided_.thieves),
              siblings ? "which share its cores" : "on other cores by what the system says")};
    }
    const std::string reason = cpu_time_reason(subject_.busy_pus, pus_.size(), usable_);
    if (!reason.empty()) return untried(Resource::cpu_time, reason);
    steal(7.5, hire(pus_, 0), {.what = Resource::cpu_time, .amount = kOfEachPu},
          {.taken = kOfEachPu});
    trial(Resource::cpu_time).how =
        "A thread of tabane's own on each PU calculates for a part of the time, all at once.";
  }

  void steal_bandwidth(Thieves& thieves, const Calibration& calibration) {
    constexpr double kRanks[] = {12, 7, 1};  // of the least that is taken … the most
    const auto& found = calibration.bandwidth;
    if (found.empty()) return untried(Resource::bandwidth, calibration.no_memory);
    const double alone = found[0].left;
    ways_.limits.bandwidth = alone;
    if (std::ranges::none_of(found, [&](const Leftover& each) {
          return each.left < (1 - kNoticed) * alone || each.latency.value_or(1) > 1 + kNoticed;
        }))
      return untried(Resource::bandwidth, "other PUs take nothing of it");
    std::vector<std::string> left, loads;
    for (std::size_t i = 1; i < found.size(); ++i) {
      left.push_back(fmt::format("{:.1f}", 1e-9 * found[i].left));
      if (found[i].latency) loads.push_back(fmt::format("{:.2f}", *found[i].latency));
      steal(kRanks[i - 1], thieves, {.what = Resource::bandwidth, .amount = found[i].amount},
            {.taken = std::max(0.0, 1 - found[i].left / alone),
             .latency = found[i].latency,
             .faults = found[i].faults},
            found[i].speed);
    }
    trial(Resource::bandwidth).how = fmt::format(
        "Threads of tabane's own on PUs {} move data for a part of the time. Another program of "
        "its "
        "own, on PUs {}, then reads {} instead of {:.1f} GB/s{}.",
        format_cpu_list(divided_.thieves), format_cpu_list(divided_.victim), fmt::join(left, ", "),
        1e-9 * alone,
        loads.empty() ? ""
                      : fmt::format(", and a load takes {} times as long", fmt::join(loads, ", ")));
  }

  void steal_cache(Thieves& thieves, const Calibration& calibration) {
    constexpr double kRanks[] = {3, 4, 9};  // of the most that is taken … the least
    if (calibration.cache.empty()) return untried(Resource::cache, calibration.no_cache);
    const double all = calibration.cache[0].left;
    ways_.limits.cache = all;
    // A theft that leaves as much room as a smaller one says nothing new.
    std::vector<Leftover> kept = {calibration.cache[0]};
    for (const Leftover& each : calibration.cache)
      if (each.left < kept.back().left - kNewRoom * all) kept.push_back(each);
    if (kept.size() == 1) return untried(Resource::cache, "other PUs take nothing of it");
    std::vector<std::string> left;
    for (std::size_t i = 1; i < kept.size(); ++i) {
      left.push_back(fmt::format("{:.1f}", kept[i].left / core::kMiB));
      steal(kRanks[kept.size() - 1 - i], thieves,
            {.what = Resource::cache, .amount = kept[i].amount}, {.taken = all - kept[i].left},
            kept[i].speed);
    }
    trial(Resource::cache).how = fmt::format(
        "Threads of tabane's own on PUs {} go through data again and again. Another of its own, on "
        "PU {}, then finds room in the cache for {} instead of {:.1f} MiB.",
        format_cpu_list(divided_.thieves), divided_.victim[0], fmt::join(left, ", "),
        all / core::kMiB);
  }

  void add_disk() {
    if (!subject_.uses_disk)
      return untried(Resource::disk, "the command neither read nor wrote 1 MiB on a disk");
    core::Descriptor& folder = ways_.folder;
    for (const std::string& file : subject_.files) {
      const std::string name = std::filesystem::absolute(file).parent_path();
      struct statfs system {};
      const bool usable = statfs(name.c_str(), &system) == 0 && access(name.c_str(), W_OK) == 0;
      if (usable && !folder.valid() && system.f_type != TMPFS_MAGIC && system.f_type != RAMFS_MAGIC)
        folder.reset(open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
    if (!folder.valid())
      return untried(Resource::disk, "no folder of its files is on a disk and can be written to");
    Thieves& thief = hire(std::span(pus_).first(1), 2 * core::kMiB);
    const Theft theft{.what = Resource::disk, .folder = folder.get()};
    try {
      thief.begin(theft);
      steal(9.5, thief, theft, {.taken = 1}, thief.end());
      trial(Resource::disk).how =
          "A thread writes 1 MiB after the other to a file in the folder of one of its files, past "
          "the memory.";
    } catch (const core::SystemError& error) {
      untried(Resource::disk, error.what());
    }
  }

  // ---- what is given or changed ----

  void add_threads() {
    if (!subject_.follows_numbers())
      return untried(Resource::threads, "nothing says how many it has");
    const int most = usable_;
    std::set<int> numbers(subject_.request.threads.begin(), subject_.request.threads.end());
    if (numbers.empty()) numbers = {1, std::max(1, most / 4), std::max(1, most / 2), most};
    numbers.erase(threads_);
    if (numbers.empty()) return untried(Resource::threads, "there is one PU");
    const bool by_option = !subject_.takes_threads();
    for (const int n : numbers)
      ways_.all.push_back(
          {.rank = 5.5,
           .resource = Resource::threads,
           .level = {.taken = static_cast<double>(n)},
           .command = by_option ? subject_.command(n, by_variables(n)) : subject_.command(n)});
    if (by_option) trial(Resource::threads).option = "--placement none -t {} --force-env";
  }

  void add_memory() {
    trial(Resource::huge_pages).option = kAsItIs + "--huge-pages"s;
    trial(Resource::allocator).option = kAsItIs + "--malloc {}"s;
    if (core::huge_pages_possible())
      give(6, Resource::huge_pages, {.taken = 1}, {.huge_pages = true});
    else
      untried(Resource::huge_pages, "the system gives none on request");
    for (const char* const name : {"tcmalloc", "mimalloc", "jemalloc"})
      give(8.5, Resource::allocator, {.taken = 1, .setting = name}, {.allocator = name});
  }

  void add_nodes() {
    std::vector<const core::NumaNode*> nodes;
    for (const core::NumaNode& node : subject_.topology.numa_nodes())
      if (!node.pus.empty()) nodes.push_back(&node);
    for (const auto& [what, memory, rank] :
         {std::tuple{Resource::local, 0, 6.5}, {Resource::remote, 1, 9.8}}) {
      if (nodes.size() < 2) {
        untried(what, "there is one NUMA node");
        continue;
      }
      const std::string pus = format_cpu_list(nodes[0]->pus);
      const std::string node = std::to_string(nodes[static_cast<std::size_t>(memory)]->os_index);
      give(rank, what, {.taken = 1}, {.cpus = pus, .membind = node});
      if (what == Resource::local)
        trial(what).option = fmt::format("{}-c {} -m {}", kAsItIs, pus, node);
    }
  }

  void add_cold() {
    const std::uint64_t files = subject_.files.size();
    if (files == 0) return untried(Resource::cold, "no file was seen that the command reads");
    ways_.all.push_back({.rank = 8,
                         .resource = Resource::cold,
                         .level = {.taken = 1},
                         .command = ways_.undisturbed.command});
    trial(Resource::cold).how = fmt::format("The system was asked to forget {} that it reads.",
                                            core::counted(files, "file"));
  }

  const Subject& subject_;
  Ways& ways_;
  std::vector<unsigned> pus_;
  int threads_;  // as it is started
  int usable_;   // PUs that can be busy all the time
  DividedPus divided_;
};

}  // namespace

Ways ways_of(const Subject& subject, double most_seconds, const std::function<void(double)>& show) {
  Ways ways;
  WaysBuilder(subject, ways).build(most_seconds, show);
  return ways;
}

}  // namespace tabane::lab::explain
