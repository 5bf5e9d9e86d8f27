#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "bench/remote.h"
#include "tabane/core/error.h"
#include "tabane/core/helper_process.h"
#include "tabane/lab/probes/common.h"
#include "tabane/tools/survey/bench_compare.h"

namespace tabane::bench {
namespace {

constexpr std::size_t kMostPairs = 8;                // PUs of which all pairs play ping-pong
constexpr std::uint64_t kTouchedBytes = 4ULL << 20;  // by a thread in one sample
constexpr double kLikwidSeconds = 0.2;

// Evenly spread, so that near and far pairs have their share.
std::vector<unsigned> some_of(const std::vector<unsigned>& pus, std::size_t most) {
  std::vector<unsigned> chosen;
  const std::size_t count = std::min(most, pus.size());
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(pus[i * pus.size() / count]);
  return chosen;
}

Command start(const std::string& name, int samples, std::uint64_t bytes,
              const std::vector<unsigned>& pus) {
  const bool alone = name == "chase" || name == "start";
  Command command = {
      beside_this_program(alone ? "tabane_bench_truth_alone" : "tabane_bench_truth_together"), name,
      std::to_string(samples), std::to_string(bytes)};
  for (const unsigned pu : pus) command.push_back(std::to_string(pu));
  return command;
}

// STREAM's scale moves what copy moves, and its add what triad moves; memory sees no difference.
std::vector<Finding> stream_findings(const std::string& scope) {
  const auto finding = [&](const char* line, const char* kernel) {
    return Finding{line, fmt::format("memory.bandwidth.{}.dram.{}", kernel, scope),
                   "memory.bandwidth.*.dram." + scope};
  };
  return {finding("copy", "copy"), finding("scale", "copy"), finding("add", "triad"),
          finding("triad", "triad")};
}

Finding read_finding(const std::string& level, const std::string& scope) {
  return {"read", fmt::format("memory.bandwidth.read.{}.{}", level, scope), ""};
}

std::string suffix_of_this_processor() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return "_avx512";
  return __builtin_cpu_supports("avx") ? "_avx" : "_sse";
#else
  return "";
#endif
}

// Sums up what likwid-bench says in a line like those of the independent programs.
Command likwid_command(const std::string& kernel, std::uint64_t bytes, std::uint64_t passes) {
  return {"sh",
          "-c",
          "likwid-bench -t \"$1\" -w \"S0:$2B:1\" -i \"$3\" 2>&1 |"
          " awk '/^MByte\\/s/ { print \"rate\", $2 * 1e6 } END { print \"end\" }'",
          "sh",
          kernel,
          std::to_string(bytes),
          std::to_string(passes)};
}

}  // namespace

std::vector<Program> independent_programs(const core::Topology& topology, int samples) {
  const int many = 10 * samples;  // of what takes a millisecond or less
  const std::vector<unsigned> one = {topology.pus().back().os_index};  // as the survey's home
  const std::vector<unsigned> cores = lab::one_pu_per_core(topology);
  const std::vector<unsigned> pus = topology.pu_os_indices();
  const std::vector<lab::MemoryLevel> levels = lab::memory_levels(topology);
  const lab::MemoryLevel& dram = levels.back();
  std::vector<Program> programs = {
      {"stream, one core", start("stream", samples, dram.core_bytes, one), stream_findings("core")},
      {"stream, all cores", start("stream", samples, dram.machine_bytes, cores),
       stream_findings("machine")},
      {"fma, one core", start("fma", many, 0, one), {{"fma", "peak.fma.core", ""}}},
      {"fma, all cores", start("fma", many, 0, cores), {{"fma", "peak.fma.machine", ""}}},
      {"start",
       start("start", many, 0, one),
       {{"fork", "fork.cost", "", "the survey forks itself, which is larger"},
        {"thread", "thread.create", ""}}},
      {"touch, one PU",
       start("touch", many, kTouchedBytes, one),
       {{"touch", "page_fault.rate", ""}}},
      {"touch, all PUs",
       start("touch", many, kTouchedBytes, pus),
       {{"touch", "page_fault.rate.machine", ""}}}};
  if (pus.size() > 1) {
    programs.push_back({"ping-pong",
                        start("ping_pong", many, 0, some_of(pus, kMostPairs)),
                        {{"ping_pong", "core_to_core.latency", ""}}});
  }
  for (const lab::MemoryLevel& level : levels) {
    const bool own = level.name == "l1" || level.name == "l2";  // not shared by cores
    const int of_reads = own ? many : samples;
    programs.push_back({"chase, " + level.name,
                        start("chase", samples, level.core_bytes, one),
                        {{"latency", "memory.latency." + level.name, ""}}});
    programs.push_back({fmt::format("read, {}, one core", level.name),
                        start("read", of_reads, level.core_bytes, one),
                        {read_finding(level.name, "core")}});
    if (!own) continue;
    programs.push_back({fmt::format("read, {}, all cores", level.name),
                        start("read", of_reads, level.machine_bytes, cores),
                        {read_finding(level.name, "machine")}});
  }
  return programs;
}

std::vector<Program> likwid_programs(const core::Topology& topology, const lab::Record& survey) {
  struct Kernel {
    std::string likwid, in_memory, survey;
  };
  const Kernel kernels[] = {{"load", "load", "read"},
                            {"store", "store_mem", "set"},
                            {"copy", "copy_mem", "copy"},
                            {"stream", "stream_mem", "triad"}};
  std::vector<Program> programs;
  for (const lab::MemoryLevel& level : lab::memory_levels(topology)) {
    for (const Kernel& kernel : kernels) {
      const std::string result =
          fmt::format("memory.bandwidth.{}.{}.core", kernel.survey, level.name);
      const lab::Result* figure = survey.find(result);
      if (figure == nullptr || !figure->value) continue;
      const double passes = kLikwidSeconds * *figure->value / static_cast<double>(level.core_bytes);
      const std::string name =
          (level.name == "dram" ? kernel.in_memory : kernel.likwid) + suffix_of_this_processor();
      programs.push_back({fmt::format("{}, {}", name, level.name),
                          likwid_command(name, level.core_bytes,
                                         static_cast<std::uint64_t>(std::max(3.0, passes))),
                          {{"rate", result, ""}}});
    }
  }
  return programs;
}

void run_program(const Program& program, Samples& samples) {
  core::HelperProcess process({.name = program.name, .command = program.command});
  std::size_t told = 0;
  for (std::string line; (line = process.read_line()) != "end";) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    const auto finding = std::ranges::find(program.findings, name, &Finding::line);
    if (finding == program.findings.end()) continue;
    ++told;
    std::vector<double>& own = samples[program.name + ": " + name];
    for (double sample = 0; words >> sample;) own.push_back(sample);
  }
  if (told < program.findings.size()) throw core::Error(program.name + " did not tell all figures");
}

}  // namespace tabane::bench
