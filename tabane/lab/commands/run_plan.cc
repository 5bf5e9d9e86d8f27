#include "tabane/lab/commands/run_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "tabane/core/binding.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"

namespace tabane::program {
namespace {

struct Allocator {
  const char* name;
  const char* package;
  std::vector<const char*> files;
};

const std::vector<Allocator>& allocators() {
  static const std::vector<Allocator> known = {
      {"jemalloc", "libjemalloc2", {"libjemalloc.so.2", "libjemalloc.so"}},
      {"mimalloc", "libmimalloc2.0", {"libmimalloc.so.2", "libmimalloc.so.2.0", "libmimalloc.so"}},
      {"tcmalloc", "libtcmalloc-minimal4", {"libtcmalloc_minimal.so.4", "libtcmalloc.so.4"}}};
  return known;
}

// Class, byte order and instruction set of an ELF file; a library of another kind cannot be
// preloaded.
std::optional<std::array<char, 4>> elf_kind(const std::string& path) {
  std::array<char, 20> head{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(head.data(), head.size()) || std::string(head.data(), 4) != "\177ELF") return {};
  return std::array<char, 4>{head[4], head[5], head[18], head[19]};
}

void read_directories(const std::filesystem::path& file, std::vector<std::string>& directories) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with('/'))
      directories.push_back(line.substr(0, line.find_last_not_of(" \t") + 1));
}

// Adds item to a list that the program reads, unless the list already decides about key.
Assignment extend(const std::string& name, const std::string& key, const std::string& item,
                  char separator, const Lookup& environment) {
  const auto old = environment(name);
  if (!old || old->empty()) return {.name = name, .value = item};
  if (old->find(key) != std::string::npos) return {.name = name, .value = *old, .kept = true};
  return {.name = name, .value = *old + separator + item};
}

}  // namespace

std::vector<std::string> library_directories(const Lookup& environment) {
  std::vector<std::string> directories;
  std::istringstream own(environment("LD_LIBRARY_PATH").value_or(""));
  for (std::string directory; std::getline(own, directory, ':');)
    if (!directory.empty()) directories.push_back(directory);
  std::error_code ignored;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("/etc/ld.so.conf.d", ignored))
    if (entry.path().extension() == ".conf") files.push_back(entry.path());
  std::ranges::sort(files);
  for (const auto& file : files) read_directories(file, directories);
  directories.insert(directories.end(),
                     {"/usr/local/lib64", "/usr/local/lib", "/usr/lib64", "/usr/lib", "/lib"});
  return directories;
}

std::string find_allocator(const std::string& name, const std::vector<std::string>& directories) {
  if (name == "glibc") return "";
  for (const Allocator& allocator : allocators()) {
    if (name != allocator.name) continue;
    const auto own = elf_kind("/proc/self/exe");
    for (const std::string& directory : directories) {
      for (const char* file : allocator.files) {
        const std::string path = directory + "/" + file;
        const auto kind = elf_kind(path);
        if (kind && (!own || kind == own)) return path;
      }
    }
    throw core::UsageError("--malloc {}: {} is not installed: apt-get install {}", name,
                           allocator.files.front(), allocator.package);
  }
  throw core::UsageError("--malloc {}: use glibc, jemalloc, mimalloc or tcmalloc", name);
}

std::optional<Assignment> huge_page_switch(const std::string& name, const Lookup& environment) {
  if (name.empty() || name == "glibc") {
    const std::string key = "glibc.malloc.hugetlb";
    return extend("GLIBC_TUNABLES", key, key + "=1", ':', environment);
  }
  if (name == "jemalloc") return extend("MALLOC_CONF", "thp:", "thp:always", ',', environment);
  if (name == "mimalloc") {
    const std::string variable = "MIMALLOC_LARGE_OS_PAGES";
    if (const auto old = environment(variable)) return Assignment{variable, *old, true};
    return Assignment{variable, "1", false};
  }
  return std::nullopt;
}

namespace {

using core::MemoryPolicy;
using core::PlacementPolicy;
using core::UsageError;

constexpr std::size_t kMostLines = 32;

std::string limit_text(const core::Topology& topology) {
  const std::string restriction = topology.restriction();
  return restriction.empty() ? ", all that the machine has" : ", limited by " + restriction;
}

std::vector<unsigned> parse_option(const char* option, const std::string& text,
                                   const std::vector<unsigned>& all) {
  try {
    return core::parse_cpu_list(text, all);
  } catch (const UsageError& error) {
    throw UsageError(std::string(option) + ": " + error.what());
  }
}

std::vector<unsigned> chosen_cpus(const std::string& text, const core::Topology& topology) {
  const std::vector<unsigned> usable = topology.pu_os_indices();
  const std::vector<unsigned> cpus = parse_option("-c/--cpus", text, usable);
  for (const unsigned cpu : cpus) {
    if (topology.find_pu(cpu)) continue;
    throw UsageError("-c/--cpus {}: CPU {} is not usable: usable are {}{}", text, cpu,
                     core::format_cpu_list(usable), limit_text(topology));
  }
  return cpus;
}

std::vector<unsigned> chosen_nodes(const char* option, const std::string& text,
                                   const core::Topology& topology) {
  std::vector<unsigned> usable;
  for (const core::NumaNode& node : topology.numa_nodes())
    if (node.bytes > 0 || topology.numa_nodes().size() == 1) usable.push_back(node.os_index);
  const std::vector<unsigned> nodes = parse_option(option, text, usable);
  for (const unsigned node : nodes) {
    if (std::ranges::find(usable, node) != usable.end()) continue;
    throw UsageError("{} {}: NUMA node {} is not usable: usable are {}{}", option, text, node,
                     core::format_cpu_list(usable), limit_text(topology));
  }
  return nodes;
}

std::optional<core::MemoryOptions> chosen_memory(const RunRequest& request,
                                                 const core::Topology& topology) {
  for (const auto& [nodes, policy, option] :
       {std::tuple(&request.membind, MemoryPolicy::bind, "-m/--membind"),
        {&request.interleave, MemoryPolicy::interleave, "-i/--interleave"},
        {&request.preferred, MemoryPolicy::preferred, "--preferred"}})
    if (*nodes)
      return core::MemoryOptions{.policy = policy,
                                 .nodes = chosen_nodes(option, **nodes, topology)};
  return request.localalloc ? std::optional(core::MemoryOptions{}) : std::nullopt;
}

// The whole number that the text begins with, and what follows it; null: there is none.
std::optional<std::pair<int, std::string>> leading_int(const std::string& text) {
  int number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, code] = std::from_chars(text.data(), last, number);
  if (code != std::errc()) return std::nullopt;
  return std::pair(number, std::string(end, last));
}

// OMP_NUM_THREADS may hold one number for each level of nesting; the first counts here.
std::optional<int> threads_of_user(const Lookup& environment) {
  const auto threads = leading_int(environment("OMP_NUM_THREADS").value_or(""));
  return threads && threads->first >= 1 ? std::optional(threads->first) : std::nullopt;
}

// The chosen CPUs in the order in which the policy would fill the whole machine.
std::vector<unsigned> in_order_of(PlacementPolicy policy, const std::vector<unsigned>& cpus,
                                  const core::Topology& topology) {
  const auto all = static_cast<int>(topology.pus().size());
  std::vector<unsigned> order;
  for (const core::WorkerPlace& place : core::plan_placement(topology, policy, 1, all).places) {
    if (std::ranges::find(cpus, place.pus.front()) != cpus.end())
      order.push_back(place.pus.front());
  }
  return order;
}

// One CPU of each core before the second of any, otherwise in their order.
std::vector<unsigned> cores_first(const std::vector<unsigned>& cpus,
                                  const core::Topology& topology) {
  std::map<unsigned, int> taken;  // of a core
  std::vector<std::pair<int, unsigned>> turns;
  for (const unsigned cpu : cpus) turns.emplace_back(taken[topology.find_pu(cpu)->core]++, cpu);
  std::ranges::stable_sort(turns, {}, &std::pair<int, unsigned>::first);
  std::vector<unsigned> order;
  for (const auto& [turn, cpu] : turns) order.push_back(cpu);
  return order;
}

// What one process of several has of a placement.
core::Placement part_of(core::Placement all, int process) {
  std::erase_if(all.places,
                [&](const core::WorkerPlace& place) { return place.process != process; });
  for (core::WorkerPlace& place : all.places) place.process = 0;
  all.processes = 1;
  return all;
}

core::Placement chosen_placement(const RunRequest& request, const core::Topology& topology,
                                 const std::vector<unsigned>& cpus, int threads) {
  const PlacementPolicy policy =
      core::parse_placement_policy(request.placement.value_or("compact"));
  const bool compact = policy == PlacementPolicy::compact;
  if (policy == PlacementPolicy::none || (!request.cpus && !compact))
    return part_of(core::plan_placement(topology, policy, request.processes, threads),
                   request.process);
  std::vector<unsigned> order =
      request.cpus && request.placement ? in_order_of(policy, cpus, topology) : cpus;
  const auto workers = static_cast<double>(request.processes) * threads;
  if (workers < static_cast<double>(cpus.size())) order = cores_first(order, topology);
  core::Placement plan = core::plan_placement(topology, order, request.processes, threads);
  plan.policy = policy;
  return part_of(std::move(plan), request.process);
}

std::string omp_places(const core::Placement& placement) {
  std::string text;
  std::vector<unsigned> seen;
  for (const core::WorkerPlace& place : placement.places) {
    const unsigned pu = place.pus.front();
    if (std::ranges::find(seen, pu) != seen.end()) break;
    seen.push_back(pu);
    text += (text.empty() ? "{" : ",{") + std::to_string(pu) + "}";
  }
  return text;
}

void set(RunPlan& plan, const Lookup& environment, const std::string& name,
         const std::string& value) {
  const auto old = environment(name);
  plan.environment.push_back({name, old.value_or(value), old.has_value()});
}

// The last are of runtimes that use all PUs by themselves: set where a number of threads is wanted.
constexpr const char* kThreadVariables[] = {
    "OMP_NUM_THREADS",   "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",   "BLIS_NUM_THREADS",
    "RAYON_NUM_THREADS", "GOMAXPROCS",           "JULIA_NUM_THREADS", "NUMBA_NUM_THREADS"};
constexpr std::size_t kAlwaysSet = 4;

void choose_environment(RunPlan& plan, const RunRequest& request, const Lookup& user) {
  const Lookup nothing = [](const std::string&) { return std::optional<std::string>(); };
  const Lookup& environment = request.force_environment ? nothing : user;
  const std::string threads = std::to_string(plan.placement.workers_per_process);
  if (!request.own_threads) set(plan, environment, kThreadVariables[0], threads);
  if (plan.placement.policy != PlacementPolicy::none) {
    set(plan, environment, "OMP_PLACES", omp_places(plan.placement));
    set(plan, environment, "OMP_PROC_BIND", "close");
  }
  if (request.own_threads) return;
  const std::size_t count = request.threads ? std::size(kThreadVariables) : kAlwaysSet;
  for (std::size_t i = 1; i < count; ++i) set(plan, environment, kThreadVariables[i], threads);
}

void choose_allocator(RunPlan& plan, const RunRequest& request, const Lookup& environment) {
  if (!request.allocator) return;
  plan.preload = find_allocator(*request.allocator, library_directories(environment));
  if (plan.preload.empty()) return;
  const std::string old = environment("LD_PRELOAD").value_or("");
  plan.environment.push_back({"LD_PRELOAD", plan.preload + (old.empty() ? "" : ":" + old), false});
}

void choose_huge_pages(RunPlan& plan, const RunRequest& request, const Lookup& environment,
                       bool granted) {
  if (!request.huge_pages) return;
  const std::string allocator = request.allocator.value_or("glibc");
  if (const auto assignment = huge_page_switch(allocator, environment)) {
    plan.environment.push_back(*assignment);
  } else {
    plan.warnings.push_back("--huge-pages: " + allocator +
                            " has no switch for transparent huge pages; it gets them only where "
                            "the system gives them to all (\"always\")");
  }
  if (!granted) {
    plan.warnings.push_back(
        "--huge-pages: transparent huge pages are off or not known on this system: see "
        "/sys/kernel/mm/transparent_hugepage/enabled");
  }
}

std::size_t cores_of(const RunPlan& plan, const core::Topology& topology) {
  std::set<unsigned> cores;
  for (const unsigned pu : plan.placement.pus_of_process(0))
    cores.insert(topology.find_pu(pu)->core);
  return cores.size();
}

void warn_about_threads(RunPlan& plan, const RunRequest& request, const core::Topology& topology,
                        std::size_t cpus) {
  if (request.threads && plan.environment.front().kept &&
      plan.environment.front().value != std::to_string(*request.threads))
    plan.warnings.push_back(
        fmt::format("-t {} does not reach OpenMP: OMP_NUM_THREADS={} is set already and kept",
                    *request.threads, plan.environment.front().value));
  const auto threads = static_cast<std::size_t>(plan.placement.workers_per_process);
  const std::size_t cores = cores_of(plan, topology);
  if (request.threads && cores > 0 && threads > cores && threads <= cpus)
    plan.warnings.push_back(fmt::format("{} threads share {} (SMT); use -t {} for one on each",
                                        threads, core::counted(cores, "core"), cores));
  if (threads <= cpus) return;
  plan.placement.oversubscribed = true;
  plan.warnings.push_back(
      fmt::format("oversubscribed: {} threads on {} take turns; use -t {} or more CPUs", threads,
                  core::counted(cpus, "CPU"), cpus));
}

std::string threads_text(const core::Placement& placement, const core::Topology& topology) {
  std::string text;
  if (placement.policy == PlacementPolicy::none)
    return fmt::format("threads: {}, not bound one by one\n", placement.workers_per_process);
  if (placement.places.size() <= kMostLines) {
    for (const core::WorkerPlace& place : placement.places) {
      const core::Pu& pu = *topology.find_pu(place.pus.front());
      text += fmt::format("worker {} -> PU {}, core {}, node {}\n", place.worker, pu.os_index,
                          pu.core, pu.numa_node);
    }
    return text;
  }
  std::map<unsigned, std::pair<std::vector<unsigned>, std::vector<unsigned>>> nodes;
  for (const core::WorkerPlace& place : placement.places) {
    auto& [workers, pus] = nodes[topology.find_pu(place.pus.front())->numa_node];
    workers.push_back(static_cast<unsigned>(place.worker));
    pus.push_back(place.pus.front());
  }
  for (const auto& [node, lists] : nodes) {
    text += fmt::format("workers {} -> PUs {}, node {}\n", core::format_cpu_list(lists.first),
                        core::format_cpu_list(lists.second), node);
  }
  return text;
}

std::string memory_text(const std::optional<core::MemoryOptions>& memory) {
  if (!memory) return "left as it is";
  const std::string nodes = core::format_cpu_list(memory->nodes);
  if (memory->policy == MemoryPolicy::bind) return "only on NUMA nodes " + nodes;
  if (memory->policy == MemoryPolicy::interleave) return "pages in turn over NUMA nodes " + nodes;
  if (memory->policy == MemoryPolicy::preferred)
    return fmt::format("on NUMA nodes {} while there is room, else on others", nodes);
  return "on the node of the thread that first writes a page";
}

}  // namespace

std::span<const char* const> thread_variables() { return kThreadVariables; }

void parse_part(const std::string& text, const Lookup& environment, RunRequest& request) {
  const auto number = [&](const std::string& digits) {
    const auto value = leading_int(digits);
    if (!value || !value->second.empty())
      throw UsageError("--part {}: use I/N, for example 0/4, or launcher", text);
    return value->first;
  };
  if (text == "launcher") {
    // Of the processes on this machine; where a launcher reports only all, of those.
    constexpr std::pair<const char*, const char*> kLaunchers[] = {
        {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
        {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
        {"SLURM_LOCALID", "SLURM_TASKS_PER_NODE"},
        {"PMI_RANK", "PMI_SIZE"}};
    for (const auto& [rank, size] : kLaunchers) {
      const auto own = environment(rank), all = environment(size);
      if (!own || !all) continue;
      request.process = number(*own);
      request.processes = number(all->substr(0, all->find('(')));  // Slurm: "4(x2)"
      return;
    }
    throw UsageError(
        "--part launcher: this process was not started by a launcher that tells its number; give "
        "it as I/N");
  }
  const auto slash = text.find('/');
  request.process = number(text.substr(0, slash));
  request.processes = number(slash == std::string::npos ? "" : text.substr(slash + 1));
}

RunPlan plan_run(const RunRequest& request, const core::Topology& topology,
                 const Lookup& environment, bool huge_pages_granted) {
  if (request.threads && *request.threads < 1)
    throw UsageError("-t/--threads {}: use at least 1", *request.threads);
  if (request.membind.has_value() + request.interleave.has_value() + request.preferred.has_value() +
          request.localalloc >
      1)
    throw UsageError(
        "-m/--membind, -i/--interleave, --preferred and -l/--localalloc exclude each other");
  const std::vector<unsigned> cpus =
      request.cpus ? chosen_cpus(*request.cpus, topology) : topology.pu_os_indices();
  if (request.processes < 1 || request.process < 0 || request.process >= request.processes)
    throw UsageError("--part {}/{}: use I/N with I from 0 to N - 1", request.process,
                     request.processes);
  const int share = std::max(1, static_cast<int>(cpus.size()) / request.processes);
  if (request.own_threads && request.threads)
    throw UsageError("-t/--threads and --own-threads exclude each other");
  const auto asked = request.own_threads ? std::optional<int>() : threads_of_user(environment);
  const int threads = request.threads.value_or(asked.value_or(share));
  RunPlan plan;
  plan.memory = chosen_memory(request, topology);
  plan.placement = chosen_placement(request, topology, cpus, threads);
  const bool whole_list = request.cpus && request.processes == 1;
  plan.cpus = whole_list ? cpus : plan.placement.pus_of_process(0);
  choose_environment(plan, request, environment);
  choose_allocator(plan, request, environment);
  choose_huge_pages(plan, request, environment, huge_pages_granted);
  warn_about_threads(plan, request, topology, cpus.size());
  return plan;
}

std::string summary(const RunPlan& plan, const core::Topology& topology) {
  std::string text =
      core::counted(static_cast<std::size_t>(plan.placement.workers_per_process), "thread");
  if (plan.cpus.empty()) {
    text += ", not bound";
  } else if (plan.placement.policy == PlacementPolicy::none) {
    text += fmt::format(" on PUs {}, not bound one by one", core::format_cpu_list(plan.cpus));
  } else {
    text += fmt::format(" on PUs {} ({})", core::format_cpu_list(plan.placement.pus_of_process(0)),
                        core::counted(cores_of(plan, topology), "core"));
  }
  const auto kept = std::ranges::count_if(plan.environment, &Assignment::kept);
  text += fmt::format("; memory: {}\n{} variables set, {} kept; -v shows all\n",
                      memory_text(plan.memory),
                      static_cast<std::ptrdiff_t>(plan.environment.size()) - kept, kept);
  for (const std::string& warning : plan.warnings) text += "warning: " + warning + "\n";
  return text;
}

std::string describe(const RunPlan& plan, const core::Topology& topology) {
  std::string text = "machine: " + topology.summary() + "\n";
  if (!topology.restriction().empty())
    text += fmt::format("usable: PUs {}{}\n", core::format_cpu_list(topology.pu_os_indices()),
                        limit_text(topology));
  text += plan.cpus.empty() ? "process: not bound\n"
                            : "process -> PUs " + core::format_cpu_list(plan.cpus) + "\n";
  text += threads_text(plan.placement, topology);
  text += "memory: " + memory_text(plan.memory) + "\n";
  if (!plan.preload.empty()) text += "allocator: " + plan.preload + "\n";
  for (const Assignment& variable : plan.environment)
    text +=
        fmt::format("{}: {}={}\n", variable.kept ? "kept" : "set", variable.name, variable.value);
  for (const std::string& warning : plan.warnings) text += "warning: " + warning + "\n";
  return text;
}

std::string hardware_text(const core::Topology& topology, const core::SystemFiles& files) {
  const auto shown = [](std::optional<double> bytes) {
    return bytes && *bytes > 0 ? core::format_bytes(static_cast<std::uint64_t>(*bytes))
                               : std::string("not known");
  };
  const auto& nodes = topology.numa_nodes();
  std::vector<unsigned> numbers;
  for (const core::NumaNode& node : nodes) numbers.push_back(node.os_index);
  std::string text = fmt::format("available: {} ({})\n", core::counted(nodes.size(), "node"),
                                 core::format_cpu_list(numbers));
  std::string distances = "node ";
  for (const unsigned number : numbers) distances += fmt::format("{:>4}", number);
  bool known = true;
  for (const core::NumaNode& node : nodes) {
    const unsigned number = node.os_index;
    const std::string folder = fmt::format("/sys/devices/system/node/node{}/", number);
    text += fmt::format(
        "node {0} cpus: {1}\nnode {0} size: {2}\nnode {0} free: {3}\n", number,
        node.pus.empty() ? "none" : core::format_cpu_list(node.pus),
        shown(static_cast<double>(node.bytes)),
        shown(files.field_number(folder + "meminfo", fmt::format("Node {} MemFree", number))));
    // The kernel lists the distances to all nodes that are online, in their order.
    std::istringstream row(files.text(folder + "distance").value_or(""));
    const auto online =
        core::parse_cpu_list(files.text("/sys/devices/system/node/online").value_or("0"), {});
    std::map<unsigned, int> to;
    for (const unsigned other : online)
      if (int distance = 0; row >> distance) to[other] = distance;
    distances += fmt::format("\n{:>3}: ", number);
    for (const unsigned other : numbers) {
      known = known && to.contains(other);
      distances += fmt::format("{:>4}", to[other]);
    }
  }
  return text + (known ? "node distances:\n" + distances : "node distances: not known") + "\n";
}

}  // namespace tabane::program
