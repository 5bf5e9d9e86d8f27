#include <fmt/format.h>

#include <algorithm>
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

// Whether its best loop was the C library's or the processor's own for strings.
bool by_strings(const lab::Record& survey, const std::string& figure) {
  const lab::Result* result = survey.find(figure);
  const std::string loop = result == nullptr ? "" : result->details.value("loop", "");
  return loop.starts_with("libc ") || loop.starts_with("rep ");
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

// Sums up what likwid-bench says in a line like those of the independent programs. Its arrays lie
// in huge pages, as those of the survey do: all from a heap that grows by 64 MiB.
Command likwid_command(const std::string& kernel, std::uint64_t bytes, std::uint64_t passes) {
  return {"sh",
          "-c",
          "GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=8589934592:"
          "glibc.malloc.top_pad=67108864"
          " likwid-bench -t \"$1\" -w \"S0:$2B:1\" -i \"$3\" 2>&1 |"
          " awk '/^MByte\\/s/ { print \"rate\", $2 * 1e6 } END { print \"end\" }'",
          "sh",
          kernel,
          std::to_string(bytes),
          std::to_string(passes)};
}

// What a thread works on in a figure of the survey; 0: it has none.
std::uint64_t bytes_of(const lab::Record& survey, const std::string& figure) {
  const lab::Result* result = survey.find(figure);
  if (result == nullptr) return 0;
  const double bytes = result->number_detail("working_set_bytes")
                           .value_or(result->number_detail("bytes").value_or(0));
  return static_cast<std::uint64_t>(bytes / result->number_detail("cores").value_or(1));
}

}  // namespace

std::vector<Program> independent_programs(const core::Topology& topology, const lab::Record& survey,
                                          int samples) {
  const int many = 10 * samples;  // of what takes a millisecond or less
  const std::vector<unsigned> one = {topology.pus().back().os_index};  // as the survey's home
  const std::vector<unsigned> cores = lab::one_pu_per_core(topology);
  const std::vector<unsigned> pus = topology.pu_os_indices();
  const auto bytes = [&](const std::string& figure) { return bytes_of(survey, figure); };
  std::vector<Program> programs = {
      {"stream, one core", start("stream", samples, bytes("memory.bandwidth.triad.dram.core"), one),
       stream_findings("core")},
      {"stream, all cores",
       start("stream", samples, bytes("memory.bandwidth.triad.dram.machine"), cores),
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
  for (const lab::MemoryLevel& level : lab::memory_levels(topology)) {
    const int of_reads = level.is_own() ? many : samples;
    const std::string latency = "memory.latency." + level.name;
    programs.push_back({"chase, " + level.name,
                        start("chase", samples, bytes(latency), one),
                        {{"latency", latency, ""}}});
    const auto add_read = [&](const char* title, const std::vector<unsigned>& on,
                              const Finding& finding) {
      programs.push_back({fmt::format("read, {}, {}", level.name, title),
                          start("read", of_reads, bytes(finding.result), on),
                          {finding}});
    };
    add_read("one core", one, read_finding(level.name, "core"));
    Program library{"C library, " + level.name, {}, {}};
    for (const char* line : {"set", "copy"}) {
      const auto figure = fmt::format("memory.bandwidth.{}.{}.core", line, level.name);
      if (by_strings(survey, figure)) library.findings.push_back({line, figure, ""});
    }
    if (!library.findings.empty()) {
      library.command = start("library", of_reads, bytes(library.findings.front().result), one);
      programs.push_back(std::move(library));
    }
    if (level.is_own()) add_read("all cores", cores, read_finding(level.name, "machine"));
  }
  return programs;
}

std::vector<Program> likwid_programs(const core::Topology& topology, const lab::Record& survey) {
  struct LikwidKernel {
    std::string likwid, in_memory, survey;
  };
  const LikwidKernel kernels[] = {{"load", "load", "read"},
                                  {"store", "store_mem", "set"},
                                  {"copy", "copy_mem", "copy"},
                                  {"stream", "stream_mem", "triad"}};
  std::vector<Program> programs;
  for (const lab::MemoryLevel& level : lab::memory_levels(topology)) {
    for (const LikwidKernel& kernel : kernels) {
      const std::string result =
          fmt::format("memory.bandwidth.{}.{}.core", kernel.survey, level.name);
      const lab::Result* figure = survey.find(result);
      if (figure == nullptr || !figure->value) continue;
      const std::uint64_t bytes = bytes_of(survey, result);
      const double passes = kLikwidSeconds * *figure->value / static_cast<double>(bytes);
      const bool calls = kernel.likwid != "store" && level.name == "l1";
      const char* const differs =
          calls ? "it calls its loop for each pass, up to 7 % of the time in the first cache"
          : by_strings(survey, result)
              ? "it has no string instructions, by which the survey found it"
              : "";
      const std::string name =
          (level.name == "dram" ? kernel.in_memory : kernel.likwid) + suffix_of_this_processor();
      programs.push_back(
          {fmt::format("{}, {}", name, level.name),
           likwid_command(name, bytes, static_cast<std::uint64_t>(std::max(3.0, passes))),
           {{"rate", result, "", differs}}});
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
