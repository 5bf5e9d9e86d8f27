#include "tabane/lab/environment.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <sstream>
#include <string_view>
#include <utility>

#include "tabane/core/cgroup.h"
#include "tabane/core/clock.h"
#include "tabane/core/counters.h"
#include "tabane/core/memory.h"
#include "tabane/core/vector_registers.h"
#include "tabane/simd/target.h"

namespace tabane::lab {

std::optional<std::array<double, 8>> cpu_ticks(const core::SystemFiles& files) {
  std::istringstream counts(files.field("/proc/stat", "cpu").value_or(""));
  std::array<double, 8> ticks{};
  for (double& count : ticks)
    if (!(counts >> count)) return std::nullopt;
  return ticks;
}

std::optional<std::string> cpu_model(const core::SystemFiles& files) {
  for (const char* key : {"model name", "Model Name", "Processor", "cpu model"})
    if (auto model = files.field("/proc/cpuinfo", key)) return model;
  const auto implementer = files.field("/proc/cpuinfo", "CPU implementer");
  const auto part = files.field("/proc/cpuinfo", "CPU part");
  if (!implementer || !part) return std::nullopt;
  return "implementer " + *implementer + ", part " + *part;
}

namespace {

// A whole number, written without a decimal point.
std::optional<std::int64_t> whole(const std::optional<double>& value) {
  return value ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
}

// "none" where there are none.
std::string joined(const std::vector<std::string>& words, const char* between = " ",
                   const char* none = "none") {
  return words.empty() ? none : fmt::format("{}", fmt::join(words, between));
}

// ---- the processor, as /proc/cpuinfo and /sys/devices/system/cpu describe it ----

// The flags of the first CPU, as /proc/cpuinfo names them.
std::vector<std::string> cpu_flags(const core::SystemFiles& files) {
  auto line = files.field("/proc/cpuinfo", "flags");
  if (!line) line = files.field("/proc/cpuinfo", "Features");
  std::istringstream words(line.value_or(""));
  std::vector<std::string> flags;
  for (std::string flag; words >> flag;) flags.push_back(flag);
  return flags;
}

constexpr const char* kCpu = "/sys/devices/system/cpu";

Json instruction_sets(std::vector<std::string> flags) {
  constexpr std::array<std::string_view, 12> kPrefixes = {
      "sse4", "avx", "fma", "f16c", "bmi", "aes", "vaes", "vpclmul", "sha", "amx", "sve", "asimd"};
  constexpr std::array<std::string_view, 11> kNames = {
      "sse2", "ssse3",        "popcnt",      "adx",   "erms",   "fsrm",
      "gfni", "constant_tsc", "nonstop_tsc", "pmull", "atomics"};
  if (flags.empty()) return nullptr;
  std::erase_if(flags, [&](const std::string& flag) {
    return std::ranges::none_of(kPrefixes, [&](auto prefix) { return flag.starts_with(prefix); }) &&
           std::ranges::find(kNames, flag) == kNames.end();
  });
  return joined(flags, " ", "");
}

// A number that every CPU has under /sys/devices/system/cpu/cpuN; what has none, as CPUs may, is
// left out.
std::vector<double> of_every_cpu(const core::SystemFiles& files, const std::string& file) {
  std::vector<double> values;
  for (const std::string& name : files.names(kCpu))
    if (const auto value = files.number(std::string(kCpu) + "/" + name + file))
      values.push_back(*value);
  return values;
}

std::vector<double> frequencies_mhz(const core::SystemFiles& files) {
  std::vector<double> mhz = of_every_cpu(files, "/cpufreq/scaling_cur_freq");
  for (double& value : mhz) value /= 1000;
  if (!mhz.empty()) return mhz;
  std::istringstream cpuinfo(files.text("/proc/cpuinfo").value_or(""));
  for (std::string line; std::getline(cpuinfo, line);) {
    if (!line.starts_with("cpu MHz")) continue;
    if (const auto value = core::leading_number(line.substr(line.find(':') + 1)))
      mhz.push_back(*value);
  }
  return mhz;
}

Json boost(const core::SystemFiles& files) {
  if (const auto on = files.number(std::string(kCpu) + "/cpufreq/boost")) return *on != 0;
  if (const auto off = files.number(std::string(kCpu) + "/intel_pstate/no_turbo")) return *off == 0;
  return nullptr;
}

Json mitigations(const core::SystemFiles& files) {
  const std::string directory = std::string(kCpu) + "/vulnerabilities";
  const std::vector<std::string> names = files.names(directory);
  if (names.empty()) return nullptr;
  std::vector<std::string> active;
  for (const std::string& name : names) {
    const auto state = files.text(directory + "/" + name);
    if (state && *state != "Not affected") active.push_back(name + ": " + *state);
  }
  return joined(active, "; ", "not affected");
}

Json processor_group(const core::SystemFiles& files, const Environment& known) {
  const std::string cpu = kCpu;
  const std::string frequency = cpu + "/cpu0/cpufreq";
  const auto info = [&](const char* key) { return files.field("/proc/cpuinfo", key); };
  const auto mhz = [&](const char* file) {
    const auto khz = files.number(frequency + "/" + file);
    return khz ? Json(*khz / 1000) : Json();
  };
  const auto smt = files.number(cpu + "/smt/active");
  const auto idle_states = files.names(cpu + "/cpu0/cpuidle").size();
  const core::Counters counters(core::Counted::thread, core::open_counter, files);
  return {{"model", cpu_model(files)},
          {"vendor", info("vendor_id")},
          {"family", info("cpu family")},
          {"model number", info("model")},
          {"stepping", info("stepping")},
          {"microcode", info("microcode")},
          {"instruction sets", instruction_sets(cpu_flags(files))},
          {"vector registers not enabled",
           known.vectors_disabled.empty() ? "none" : known.vectors_disabled},
          {"hardware counters", joined(counters.names(), ", ")},
          {"SMT", files.text(cpu + "/smt/control")},
          {"SMT active", smt ? Json(*smt != 0) : Json()},
          {"frequency driver", files.text(frequency + "/scaling_driver")},
          {"governor", known.governor},
          {"energy preference", files.text(frequency + "/energy_performance_preference")},
          {"minimum MHz", mhz("cpuinfo_min_freq")},
          {"maximum MHz", mhz("cpuinfo_max_freq")},
          {"base MHz", mhz("base_frequency")},
          {"boost", boost(files)},
          {"lowest MHz at start", known.lowest_mhz},
          {"highest MHz at start", known.highest_mhz},
          {"idle driver", files.text(cpu + "/cpuidle/current_driver")},
          {"idle states", idle_states > 0 ? Json(idle_states) : Json()},
          {"mitigations", mitigations(files)}};
}

// ---- memory, kernel, and what else runs on this machine ----

constexpr const char* kThp = "/sys/kernel/mm/transparent_hugepage";
constexpr const char* kDmi = "/sys/class/dmi/id";

// The parameters that change timing. The others may hold names of the site.
Json kernel_parameters(const core::SystemFiles& files) {
  constexpr std::string_view kNames =
      " isolcpus nohz_full nohz rcu_nocbs mitigations nosmt maxcpus nr_cpus idle preempt "
      "clocksource tsc nopti pti irqaffinity hugepages hugepagesz intel_pstate amd_pstate "
      "transparent_hugepage cgroup_disable skew_tick intel_idle.max_cstate processor.max_cstate ";
  const auto line = files.text("/proc/cmdline");
  if (!line) return nullptr;
  std::istringstream words(*line);
  std::vector<std::string> kept;
  for (std::string word; words >> word;) {
    const std::string name = " " + word.substr(0, word.find('=')) + " ";
    if (kNames.find(name) != std::string_view::npos) kept.push_back(word);
  }
  return joined(kept, " ", "none that change timing");
}

Json cpu_list(const core::SystemFiles& files, const std::string& file) {
  if (!files.exists(file)) return nullptr;
  std::string list = files.text(file).value_or("none");
  return list == "(null)" ? "none" : list;
}

std::optional<bool> virtual_machine(const core::SystemFiles& files) {
  const std::string product = files.text(std::string(kDmi) + "/product_name").value_or("");
  const std::vector<std::string> flags = cpu_flags(files);
  if (std::ranges::find(flags, "hypervisor") != flags.end()) return true;
  for (const char* name : {"Virtual", "KVM", "QEMU", "VMware", "HVM"})
    if (product.find(name) != std::string::npos) return true;
  // Only x86 has the flag: without it another processor may still be virtual.
  const bool x86 = std::ranges::find(flags, "fpu") != flags.end();
  return x86 ? std::optional(false) : std::nullopt;
}

std::optional<double> steal_share(const core::SystemFiles& files) {
  const auto ticks = cpu_ticks(files);
  const double sum = ticks ? std::accumulate(ticks->begin(), ticks->end(), 0.0) : 0;
  return sum > 0 ? std::optional(ticks->back() / sum) : std::nullopt;
}

std::optional<double> temperature(const core::SystemFiles& files) {
  std::optional<double> hottest;
  for (const std::string& chip : files.names("/sys/class/hwmon")) {
    const std::string directory = "/sys/class/hwmon/" + chip;
    const std::string name = files.text(directory + "/name").value_or("");
    if (name != "coretemp" && name != "k10temp" && name != "zenpower" && name != "cpu_thermal")
      continue;
    for (const std::string& file : files.names(directory)) {
      if (!file.starts_with("temp") || !file.ends_with("_input")) continue;
      const auto millidegrees = files.number(directory + "/" + file);
      if (millidegrees) hottest = std::max(hottest.value_or(-HUGE_VAL), *millidegrees / 1000);
    }
  }
  return hottest;
}

Json memory_group(const core::SystemFiles& files, const Environment& known) {
  const auto bytes = [&](const char* key) {
    return whole(files.field_number("/proc/meminfo", key));
  };
  return {{"total bytes", bytes("MemTotal")},
          {"available bytes", bytes("MemAvailable")},
          {"base page bytes", core::page_bytes()},
          {"transparent huge pages", known.huge_pages},
          {"huge page defragmentation", files.choice(std::string(kThp) + "/defrag")},
          {"huge page bytes", whole(files.number(std::string(kThp) + "/hpage_pmd_size"))},
          {"reserved huge pages", bytes("HugePages_Total")},
          {"NUMA balancing", whole(known.numa_balancing)},
          {"NUMA calls available", known.numa_calls},
          {"swap bytes", bytes("SwapTotal")},
          {"swap used bytes", whole(known.swap_used)},
          {"swappiness", whole(files.number("/proc/sys/vm/swappiness"))},
          {"overcommit", whole(files.number("/proc/sys/vm/overcommit_memory"))}};
}

Json kernel_group(const core::SystemFiles& files, const Environment& known) {
  const std::string cpu = kCpu;
  return {{"release", files.text("/proc/sys/kernel/osrelease")},
          {"version", files.text("/proc/sys/kernel/version")},
          {"parameters", kernel_parameters(files)},
          {"isolated CPUs", cpu_list(files, cpu + "/isolated")},
          {"tickless CPUs", cpu_list(files, cpu + "/nohz_full")},
          {"clock source", known.clock_source},
          {"clock sources", known.clock_sources},
          {"address randomisation", whole(files.number("/proc/sys/kernel/randomize_va_space"))}};
}

// The load average of a minute, and the tasks that run now; null if the system does not tell.
std::optional<std::pair<double, double>> load_and_running(const core::SystemFiles& files) {
  std::istringstream load(files.text("/proc/loadavg").value_or(""));
  double average = 0, older = 0, running = 0;
  if (!(load >> average >> older >> older >> running)) return std::nullopt;
  return std::pair(average, std::trunc(running));
}

Json system_group(const core::SystemFiles& files, const Environment& known) {
  const std::string dmi = kDmi;
  const auto load = load_and_running(files);
  const std::vector<double> throttles =
      of_every_cpu(files, "/thermal_throttle/core_throttle_count");
  const double throttled = std::accumulate(throttles.begin(), throttles.end(), 0.0);
  return {{"virtual machine", known.virtual_machine},
          {"hypervisor", files.text("/sys/hypervisor/type")},
          {"product", files.text(dmi + "/product_name")},
          {"maker", files.text(dmi + "/sys_vendor")},
          {"board", files.text(dmi + "/board_name")},
          {"board maker", files.text(dmi + "/board_vendor")},
          {"load average at start", load ? Json(load->first) : Json()},
          {"running at start", whole(known.running)},
          {"steal share since boot", known.steal_share},
          {"uptime s", files.number("/proc/uptime")},
          {"processor temperature °C", temperature(files)},
          {"thermal throttles since boot", throttles.empty() ? Json() : whole(throttled)}};
}

// What follows "NAME=" in a line of the text.
std::optional<std::string> variable_of(const std::string& text, const std::string& name) {
  const std::string lines = "\n" + text, key = "\n" + name + "=";
  const std::size_t at = lines.find(key);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t begin = at + key.size();
  return lines.substr(begin, lines.find('\n', begin) - begin);
}

// Each network device with the controller's driver and numbers, MTU and rate, as far as it has
// them.
Json network_group(const core::SystemFiles& files) {
  constexpr std::size_t kMost = 16;
  Json group = Json::object();
  std::vector<std::string> devices = files.names("/sys/class/net");
  // Those that are hardware first.
  std::ranges::stable_partition(devices, [&](const std::string& device) {
    return files.text("/sys/class/net/" + device + "/device/uevent").has_value();
  });
  for (const std::string& device : devices) {
    if (group.size() == kMost) break;
    const std::string path = "/sys/class/net/" + device;
    const std::string about = files.text(path + "/device/uevent").value_or("");
    std::vector<std::string> parts;
    if (const auto driver = variable_of(about, "DRIVER")) parts.push_back("driver " + *driver);
    if (const auto numbers = variable_of(about, "PCI_ID")) parts.push_back("PCI " + *numbers);
    if (const auto mtu = files.number(path + "/mtu")) parts.push_back(fmt::format("MTU {}", *mtu));
    if (const auto rate = files.number(path + "/speed"); rate && *rate > 0)
      parts.push_back(fmt::format("{} Mbit/s", *rate));
    group[device] = parts.empty() ? Json() : joined(parts, ", ");
  }
  return group;
}

// ---- the limits and variables under which this process runs ----

// Leaves of every path only the file name, so that no directory of a user is recorded.
std::string without_directories(std::string_view text) {
  std::string kept;
  std::size_t word = 0;  // where the last one begins
  for (const char c : text) {
    if (c == '/')
      kept.resize(word);
    else
      kept += c;
    if (c == ' ' || c == ':' || c == ',' || c == '=') word = kept.size();
  }
  return kept;
}

Json limit_of(int resource) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return nullptr;
  if (limit.rlim_cur == RLIM_INFINITY) return "unlimited";
  return limit.rlim_cur;
}

std::string allocator() {
  const char* preload = std::getenv("LD_PRELOAD");
  const std::string libraries = preload == nullptr ? "" : preload;
  for (const char* name : {"jemalloc", "tcmalloc", "mimalloc", "hoard", "tbbmalloc", "snmalloc"})
    if (libraries.find(name) != std::string::npos) return std::string(name) + " (LD_PRELOAD)";
#if defined(__GLIBC__)
  return "glibc";
#else
  return "the C library's";
#endif
}

// Variables that steer threads, allocators and the loader, sorted; "none" if none is set.
std::string steering_variables() {
  constexpr std::array<std::string_view, 15> kPrefixes = {
      "OMP_",        "GOMP_",     "KMP_",           "OPENBLAS_", "MKL_",
      "BLIS_",       "MALLOC_",   "GLIBC_TUNABLES", "HWLOC_",    "LD_PRELOAD",
      "LD_BIND_NOW", "MIMALLOC_", "TCMALLOC_",      "HWY_",      "TABANE_"};
  std::vector<std::string> found;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const bool wanted =
        std::ranges::any_of(kPrefixes, [&](std::string_view p) { return text.starts_with(p); });
    if (wanted) found.push_back(without_directories(text));
  }
  std::ranges::sort(found);
  return joined(found);
}

Json container(const core::SystemFiles& files) {
  if (std::getenv("APPTAINER_CONTAINER") != nullptr) return "Apptainer";
  if (std::getenv("SINGULARITY_CONTAINER") != nullptr) return "Singularity";
  if (files.exists("/run/.containerenv")) return "Podman";
  if (files.exists("/.dockerenv")) return "Docker";
  if (auto name = files.text("/run/systemd/container")) return *name;
  if (const char* name = std::getenv("container")) return name;
  return "none seen";
}

Json batch_job() {
  constexpr std::array<std::pair<const char*, const char*>, 3> kSystems = {
      {{"SLURM_JOB_ID", "Slurm "}, {"PBS_JOBID", "PBS "}, {"LSB_JOBID", "LSF "}}};
  for (const auto& [variable, name] : kSystems)
    if (const char* id = std::getenv(variable)) return std::string(name) + id;
  return "none seen";
}

Json process_group(const core::SystemFiles& files, const core::CgroupLimits& cgroup,
                   const Environment& known) {
  const auto limit_or_none = [&](const std::optional<double>& value) -> Json {
    return value || !cgroup.seen ? Json(value) : "none";
  };
  return {{"affinity", files.field("/proc/self/status", "Cpus_allowed_list")},
          {"memory nodes", files.field("/proc/self/status", "Mems_allowed_list")},
          {"cgroup CPUs", cgroup.cpuset},
          {"cgroup CPU quota", limit_or_none(known.cpu_quota)},
          {"cgroup throttled periods", whole(known.throttled_periods)},
          {"cgroup throttled s", known.throttled_seconds},
          {"cgroup memory limit bytes", limit_or_none(cgroup.memory_bytes)},
          {"limit of stack bytes", limit_of(RLIMIT_STACK)},
          {"limit of locked memory bytes", limit_of(RLIMIT_MEMLOCK)},
          {"limit of address space bytes", limit_of(RLIMIT_AS)},
          {"limit of processes", limit_of(RLIMIT_NPROC)},
          {"limit of open files", limit_of(RLIMIT_NOFILE)},
          {"nice", getpriority(PRIO_PROCESS, 0)},
          {"allocator", allocator()},
          {"environment variables", steering_variables()},
          {"container", container(files)},
          {"batch job", batch_job()}};
}

// ---- the build and the clock ----

#if defined(__clang__)
constexpr const char* kCompiler = "Clang " __clang_version__;
#else
constexpr const char* kCompiler = "GCC " __VERSION__;
#endif
#if defined(__OPTIMIZE__)
constexpr bool kOptimised = true;
#else
constexpr bool kOptimised = false;
#endif

Json software_group(const Environment& known) {
#if defined(__GLIBC__)
  const Json libc = std::string("glibc ") + gnu_get_libc_version();
#else
  const Json libc;
#endif
  return {{"libc", libc},
          {"compiler", kCompiler},
          {"build flags", TABANE_BUILD_FLAGS},
          {"optimised build", known.optimised},
          {"sanitizer", known.sanitizer},
          {"vector target", simd::target_name()}};
}

Json time_group() {
  const std::time_t now = std::time(nullptr);
  return {{"start", fmt::format("{:%FT%TZ}", fmt::gmtime(now))},
          {"timezone", fmt::format("{:%Z (%z)}", fmt::localtime(now))}};
}

Json timer_group(const Environment& known) {
  const core::TickRate& rate = core::tick_rate();
  const core::TickOverhead overhead = core::tick_overhead();
  return {{"counter", known.counter},
          {"rate Hz", rate.ticks_per_second},
          {"relative uncertainty", rate.relative_uncertainty},
          {"invariant", rate.invariant},
          {"rate change under load", known.tick_rate_change},
          {"read overhead ticks", overhead.read_ticks},
          {"step ticks", overhead.step_ticks}};
}

// What warnings are made from.
Environment read_judged(const core::SystemFiles& files, const core::CgroupLimits& cgroup) {
  Environment known;
  if (const std::vector<double> mhz = frequencies_mhz(files); !mhz.empty()) {
    known.lowest_mhz = *std::ranges::min_element(mhz);
    known.highest_mhz = *std::ranges::max_element(mhz);
  }
  known.governor = files.text(std::string(kCpu) + "/cpu0/cpufreq/scaling_governor");
  known.vectors_disabled = core::vector_registers().disabled();
  known.huge_pages = files.choice(std::string(kThp) + "/enabled");
  const auto swap = files.field_number("/proc/meminfo", "SwapTotal");
  const auto free = files.field_number("/proc/meminfo", "SwapFree");
  if (swap && free) known.swap_used = std::max(0.0, *swap - *free);
  known.numa_balancing = files.number("/proc/sys/kernel/numa_balancing");
  known.numa_calls = core::numa_calls_available();
  const std::string clocks = "/sys/devices/system/clocksource/clocksource0";
  known.clock_source = files.text(clocks + "/current_clocksource");
  known.clock_sources = files.text(clocks + "/available_clocksource");
  known.cpu_quota = cgroup.cpus;
  if (const auto throttling = core::read_cgroup_throttling(files)) {
    known.throttled_periods = std::round(throttling->times);
    known.throttled_seconds = throttling->seconds;
  }
  if (const auto load = load_and_running(files)) known.running = load->second;
  known.virtual_machine = virtual_machine(files);
  known.steal_share = steal_share(files);
  const core::TickRate& rate = core::tick_rate();
  known.counter = rate.counter;
  // Compared only where it is in doubt.
  if (!rate.invariant) known.tick_rate_change = core::tick_rate_change();
  known.optimised = kOptimised;
  // UndefinedBehaviorSanitizer defines no macro: the flags show it.
  known.sanitizer =
      std::string_view(TABANE_BUILD_FLAGS).find("-fsanitize") != std::string_view::npos;
  return known;
}

}  // namespace

Environment read_environment(const std::string& root) {
  const core::SystemFiles files(root);
  const core::CgroupLimits cgroup = core::read_cgroup_limits(files);
  Environment known = read_judged(files, cgroup);
  known.described = {{"processor", processor_group(files, known)},
                     {"memory", memory_group(files, known)},
                     {"kernel", kernel_group(files, known)},
                     {"process", process_group(files, cgroup, known)},
                     {"system", system_group(files, known)},
                     {"network", network_group(files)},
                     {"software", software_group(known)},
                     {"time", time_group()},
                     {"timer", timer_group(known)}};
  return known;
}

}  // namespace tabane::lab
