// Timed runs of the study aes-folder.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <random>
#include <string>

#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/studies/aes_folder.h"
#include "tabane/workloads/aes_dir/job.h"

namespace tabane::lab::aes_folder {
namespace {

namespace aes_dir = workloads::aes_dir;

// Seconds that the hypervisor gave to others while this machine's CPUs had work: the eighth number
// of the first line. Steps of 10 ms.
std::optional<double> steal_seconds() {
  std::ifstream file("/proc/stat");
  std::string word;
  file >> word;
  double ticks = 0;
  for (int i = 0; i < 8; ++i) file >> ticks;
  if (!file || word != "cpu") return std::nullopt;
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// Seconds in which some task of the machine waited for `what`: the line "some avg10=… total=µs".
std::optional<double> pressure_seconds(const std::string& what) {
  std::ifstream file("/proc/pressure/" + what);
  std::string word;
  while (file >> word) {
    if (word.starts_with("total=")) return std::strtod(word.c_str() + 6, nullptr) * 1e-6;
  }
  return std::nullopt;
}

Usage machine_now() {
  return {.steal_seconds = steal_seconds(),
          .cpu_wait_seconds = pressure_seconds("cpu"),
          .io_wait_seconds = pressure_seconds("io")};
}

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

// Adds to `usage`, with sign -1 before the work and 1 after it.
void count_process(Usage& usage, double sign) {
  struct rusage used {};
  getrusage(RUSAGE_SELF, &used);
  usage.cpu_seconds += sign * (seconds(used.ru_utime) + seconds(used.ru_stime));
  usage.page_faults += sign * static_cast<double>(used.ru_minflt + used.ru_majflt);
  usage.voluntary_switches += sign * static_cast<double>(used.ru_nvcsw);
  usage.involuntary_switches += sign * static_cast<double>(used.ru_nivcsw);
}

std::optional<double> difference(std::optional<double> after, std::optional<double> before) {
  if (!after || !before) return std::nullopt;
  return *after - *before;
}

void copy_bytes(std::span<const std::byte, 16> from, std::span<std::byte> to) {
  std::copy(from.begin(), from.end(), to.begin());
}

void run_tabane(Bench& bench, aes_dir::Cipher cipher, aes_dir::Direction direction,
                unsigned threads) {
  aes_dir::Request request;
  request.direction = direction;
  request.cipher = cipher;
  const bool encrypts = direction == aes_dir::Direction::encrypt;
  request.in = encrypts ? bench.scratch.in() : bench.scratch.out();
  if (encrypts) request.out = bench.scratch.out();
  copy_bytes(bench.key.key, request.key.bytes());
  if (cipher == aes_dir::Cipher::aes_128_cbc) request.fixed_iv = bench.key.iv;
  request.force = encrypts;
  request.threads = threads;
  request.measure_copy = false;
  aes_dir::Hooks hooks;
  hooks.stop_requested = bench.stop_requested;
  const aes_dir::Outcome outcome = aes_dir::run_job(request, hooks);
  if (!outcome.complete) throw Stopped();
  if (!outcome.failures.empty())
    throw core::Error(outcome.failures[0].path + ": " + outcome.failures[0].what);
}

void work(Bench& bench, Implementation implementation, unsigned threads) {
  const std::string& in = bench.scratch.in();
  const std::string& out = bench.scratch.out();
  switch (implementation) {
    case Implementation::report_static:
      return encrypt_folder(in, out, bench.key, threads, Schedule::fixed);
    case Implementation::report_dynamic:
      return encrypt_folder(in, out, bench.key, threads, Schedule::dynamic);
    case Implementation::tabane_cbc:
      return run_tabane(bench, aes_dir::Cipher::aes_128_cbc, aes_dir::Direction::encrypt, threads);
    case Implementation::tabane_gcm:
      return run_tabane(bench, aes_dir::Cipher::aes_256_gcm, aes_dir::Direction::encrypt, threads);
    case Implementation::copy:
      return copy_folder(in, out, threads);
  }
}

void expect_equal(const std::string& what, const std::string& expected, const std::string& got) {
  if (expected != got) throw core::VerificationError(what, 1, 0);
}

}  // namespace

const char* identifier(Implementation implementation) {
  static constexpr const char* kNames[] = {"report_static", "report_dynamic", "tabane_cbc",
                                           "tabane_gcm", "copy"};
  return kNames[static_cast<std::size_t>(implementation)];
}

const char* title(Implementation implementation) {
  static constexpr const char* kTitles[] = {"OpenMP static", "OpenMP dynamic", "tabane CBC",
                                            "tabane GCM", "copying"};
  return kTitles[static_cast<std::size_t>(implementation)];
}

std::string label(const Cell& cell) {
  return fmt::format("{} x {}", cell.files, core::format_bytes(cell.bytes));
}

std::vector<double> Series::seconds() const {
  std::vector<double> all;
  for (const Run& run : runs) all.push_back(run.seconds);
  return all;
}

const Series* Cell::find(Implementation implementation, unsigned threads) const {
  for (const Series& one : series) {
    if (one.implementation == implementation && one.threads == threads && !one.runs.empty())
      return &one;
  }
  return nullptr;
}

Run timed(Bench& bench, const std::function<void()>& work) {
  if (bench.stop_requested()) throw Stopped();
  start_afresh();
  Run run;
  core::Clock& clock = core::tick_clock();
  // Reading files of the system makes work of its own: it stays outside of the process's counters.
  const Usage before = machine_now();
  count_process(run.usage, -1);
  const double start = clock.now();
  work();
  run.seconds = clock.now() - start;
  count_process(run.usage, 1);
  const Usage after = machine_now();
  run.usage.steal_seconds = difference(after.steal_seconds, before.steal_seconds);
  run.usage.cpu_wait_seconds = difference(after.cpu_wait_seconds, before.cpu_wait_seconds);
  run.usage.io_wait_seconds = difference(after.io_wait_seconds, before.io_wait_seconds);
  bench.scratch.empty_output();
  return run;
}

Run run_once(Bench& bench, Implementation implementation, unsigned threads) {
  return timed(bench, [&] { work(bench, implementation, threads); });
}

void check_outputs(Bench& bench, const Cell& cell, unsigned threads) {
  const auto digest_after = [&](Implementation implementation) {
    if (bench.stop_requested()) throw Stopped();
    work(bench, implementation, threads);
    std::string digest = digest_of_directory(bench.scratch.out());
    bench.scratch.empty_output();
    return digest;
  };
  const std::string cipher_text = digest_after(Implementation::report_static);
  expect_equal(label(cell) + ": the cipher text of the report's program with dynamic scheduling",
               cipher_text, digest_after(Implementation::report_dynamic));
  expect_equal(label(cell) + ": the cipher text of tabane CBC against the report's program",
               cipher_text, digest_after(Implementation::tabane_cbc));
  expect_equal(label(cell) + ": the copied files", digest_of_directory(bench.scratch.in()),
               digest_after(Implementation::copy));
  work(bench, Implementation::tabane_gcm, threads);
  run_tabane(bench, aes_dir::Cipher::aes_256_gcm, aes_dir::Direction::verify, threads);
  bench.scratch.empty_output();
}

void interleave(std::size_t count, const Effort& effort, const std::function<Run(std::size_t)>& run,
                const std::function<void(std::size_t, Run)>& add,
                const std::function<void(double)>& repetition) {
  core::Clock& clock = core::tick_clock();
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(2012);
  for (std::size_t i : order) run(i);  // warm-up
  std::vector<Run> runs(count);
  std::uint64_t counted = 0;
  const double start = clock.now();
  for (unsigned done = 0; done < effort.most_runs; ++done) {
    const double spent = (clock.now() - start) / effort.budget_seconds;
    if (done >= effort.fewest_runs && spent >= 1) break;
    repetition(std::max(static_cast<double>(done) / effort.most_runs,
                        std::min(spent, static_cast<double>(done) / effort.fewest_runs)));
    std::shuffle(order.begin(), order.end(), random);
    for (std::size_t i : order) {
      runs[i] = run(i);
      runs[i].order = counted++;
    }
    for (std::size_t i = 0; i < count; ++i) add(i, runs[i]);
  }
}

void measure_cell(Bench& bench, Cell& cell, const Effort& effort,
                  const std::function<void(double)>& repetition) {
  interleave(
      cell.series.size(), effort,
      [&](std::size_t i) {
        return run_once(bench, cell.series[i].implementation, cell.series[i].threads);
      },
      [&](std::size_t i, Run run) { cell.series[i].runs.push_back(run); }, repetition);
}

}  // namespace tabane::lab::aes_folder
