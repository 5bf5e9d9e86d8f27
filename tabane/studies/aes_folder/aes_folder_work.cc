// The timed runs of the study aes-folder.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/studies/aes_folder/aes_folder.h"
#include "tabane/tools/encrypt/job.h"

namespace tabane::lab::aes_folder {
namespace {

// ---- what is noted with the time ----

using Counters = std::vector<std::pair<const char*, double>>;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Seconds that the hypervisor gave to others while this machine's CPUs had work: the eighth number
// of the first line. Steps of 10 ms.
double steal_seconds() {
  std::ifstream file("/proc/stat");
  std::string word;
  file >> word;
  double ticks = 0;
  for (int i = 0; i < 8; ++i) file >> ticks;
  return file && word == "cpu" ? ticks / static_cast<double>(sysconf(_SC_CLK_TCK)) : kUnknown;
}

// Seconds in which some task of the machine waited for `what`: the line "some avg10=… total=µs".
double pressure_seconds(const std::string& what) {
  std::ifstream file("/proc/pressure/" + what);
  std::string word;
  while (file >> word) {
    if (word.starts_with("total=")) return std::strtod(word.c_str() + 6, nullptr) * 1e-6;
  }
  return kUnknown;
}

Counters machine_counters() {
  return {{"steal_s", steal_seconds()},
          {"machine_cpu_wait_s", pressure_seconds("cpu")},
          {"machine_io_wait_s", pressure_seconds("io")}};
}

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

Counters process_counters() {
  struct rusage used {};
  getrusage(RUSAGE_SELF, &used);
  return {{"cpu_s", seconds(used.ru_utime) + seconds(used.ru_stime)},
          {"page_faults", static_cast<double>(used.ru_minflt + used.ru_majflt)},
          {"voluntary_switches", static_cast<double>(used.ru_nvcsw)},
          {"involuntary_switches", static_cast<double>(used.ru_nivcsw)}};
}

void add_differences(Sample& sample, const Counters& after, const Counters& before) {
  for (std::size_t i = 0; i < after.size(); ++i)
    sample.beside.emplace_back(after[i].first, after[i].second - before[i].second);
}

// Times work in a process without threads and memory of earlier runs; empties the output after it.
Sample timed(const FolderBench& bench, const std::function<void()>& work) {
  start_afresh();
  core::Clock& clock = core::tick_clock();
  // Reading files of the system makes work of its own: it stays outside of the process's counters.
  const Counters machine = machine_counters(), process = process_counters();
  const double start = clock.now();
  work();
  Sample sample{.seconds = clock.now() - start};
  add_differences(sample, process_counters(), process);
  add_differences(sample, machine_counters(), machine);
  bench.scratch.empty_output();
  return sample;
}

// ---- the implementations ----

template <Schedule schedule>
unsigned run_report(const FolderBench& bench, unsigned threads) {
  encrypt_folder(bench.scratch.in(), bench.scratch.out(), bench.key, threads, schedule);
  return threads;
}

unsigned run_copy(const FolderBench& bench, unsigned threads) {
  copy_folder(bench.scratch.in(), bench.scratch.out(), threads);
  return threads;
}

template <encrypt::Cipher cipher, encrypt::Direction direction = encrypt::Direction::encrypt,
          crypto::Engine engine = crypto::Engine::automatic>
unsigned run_tabane(const FolderBench& bench, unsigned threads) {
  constexpr bool kEncrypts = direction == encrypt::Direction::encrypt;
  encrypt::Request request;
  request.direction = direction;
  request.cipher = cipher;
  request.in = kEncrypts ? bench.scratch.in() : bench.scratch.out();
  if (kEncrypts) request.out = bench.scratch.out();
  std::copy(bench.key.key.begin(), bench.key.key.end(), request.key.bytes().begin());
  if (cipher == encrypt::Cipher::aes_128_cbc) request.fixed_iv = bench.key.iv;
  request.force = kEncrypts;
  request.threads = threads;
  request.measure_copy = false;
  request.engine = engine;
  const encrypt::JobReport outcome = encrypt::run_job(request);
  if (!outcome.failures.empty())
    throw core::Error(outcome.failures[0].path + ": " + outcome.failures[0].what);
  if (!outcome.device_remarks.empty()) throw core::Error(outcome.device_remarks[0]);
  return outcome.threads;
}

constexpr Implementation kImplementations[] = {
    {"report_static", "OpenMP static", false, false, run_report<Schedule::fixed>},
    {"report_dynamic", "OpenMP dynamic", false, false, run_report<Schedule::dynamic>},
    {"tabane_cbc", "tabane CBC", true, false, run_tabane<encrypt::Cipher::aes_128_cbc>},
    {"tabane_gcm", "tabane GCM", true, false, run_tabane<encrypt::Cipher::aes_256_gcm>},
    {"tabane_device", "coprocessor", true, true,
     run_tabane<encrypt::Cipher::aes_128_cbc, encrypt::Direction::encrypt, crypto::Engine::opencl>},
    {"copy", "copying", false, false, run_copy}};

Contender contender(const FolderBench& bench, const Implementation& one, const Folder& folder,
                    unsigned threads) {
  const Level level = threads == 0 ? Level(kAutomatic) : Level(threads);
  return {folder.point("implementation", one.name, level), [&bench, &one, threads] {
            unsigned taken = 0;
            Sample sample = timed(bench, [&] { taken = one.run(bench, threads); });
            sample.beside.emplace_back("threads_taken", taken);
            return sample;
          }};
}

}  // namespace

std::span<const Implementation> implementations() { return kImplementations; }

std::vector<Contender> contenders(const FolderBench& bench, const Folder& folder,
                                  const std::vector<unsigned>& threads) {
  std::vector<Contender> all;
  constexpr std::uint64_t kMostOnCpu = std::uint64_t{16} << 20;  // bytes, on a CPU as a device
  for (const Implementation& one : kImplementations) {
    if (one.on_device) {
      const bool fits = bench.device != nullptr &&
                        (!bench.device->is_cpu || folder.files * folder.bytes <= kMostOnCpu);
      if (fits) all.push_back(contender(bench, one, folder, 0));
      continue;
    }
    for (const unsigned t : threads) all.push_back(contender(bench, one, folder, t));
    if (one.chooses) all.push_back(contender(bench, one, folder, 0));
  }
  return all;
}

void check_outputs(Visit& visit, const FolderBench& bench, const Folder& folder, unsigned threads) {
  const auto digest_after = [&](auto run) {
    visit.show(0);
    run(bench, threads);
    std::string digest = digest_of_directory(bench.scratch.out());
    bench.scratch.empty_output();
    return digest;
  };
  const auto expect_equal = [&](const char* what, const std::string& expected,
                                const std::string& got) {
    if (expected != got) throw core::VerificationError(folder.label() + ": " + what, 1, 0);
  };
  const std::string cipher_text = digest_after(run_report<Schedule::fixed>);
  expect_equal("the cipher text of the report's program with dynamic scheduling", cipher_text,
               digest_after(run_report<Schedule::dynamic>));
  expect_equal("the cipher text of tabane CBC against the report's program", cipher_text,
               digest_after(run_tabane<encrypt::Cipher::aes_128_cbc>));
  if (bench.device != nullptr)
    expect_equal("the cipher text of the coprocessor against the report's program", cipher_text,
                 digest_after(kImplementations[4].run));
  expect_equal("the copied files", digest_of_directory(bench.scratch.in()), digest_after(run_copy));
  run_tabane<encrypt::Cipher::aes_256_gcm>(bench, threads);
  run_tabane<encrypt::Cipher::aes_256_gcm, encrypt::Direction::verify>(bench, threads);
  bench.scratch.empty_output();
}

// ---- causes ----

namespace {

// Ends the settings of the allocator: those of glibc at the start, which then stay.
struct AllocatorAsAtStart {
  ~AllocatorAsAtStart() { set_allocator(LargeBlocks::as_it_adjusts, 0); }
};

}  // namespace

void measure_causes(Visit& visit, const FolderBench& bench, const Folder& folder, unsigned threads,
                    const Effort& effort) {
  const std::size_t largest_block = folder.bytes + crypto::kBlockBytes;
  const AllocatorAsAtStart at_the_end;
  KeptBuffers kept(threads, folder.bytes, bench.key);
  std::vector<Contender> variants;
  const auto add = [&](const char* name, std::function<void()> work,
                       LargeBlocks blocks = LargeBlocks::as_it_adjusts) {
    variants.push_back({folder.point("variant", name, threads),
                        [&bench, largest_block, work = std::move(work), blocks] {
                          set_allocator(blocks, largest_block);
                          return timed(bench, work);
                        }});
  };
  add(kProgram, [&] { run_report<Schedule::fixed>(bench, threads); });
  for (const Removal& removal : kRemovals) {
    if (removal.what == Without::chain && kept.of(0).cipher->lanes() == 1) continue;
    add(removal.variant, [&] {
      encrypt_folder_without(removal.what, bench.scratch.in(), bench.scratch.out(), bench.key,
                             threads, kept);
    });
  }
  add(kDynamic, [&] { run_report<Schedule::dynamic>(bench, threads); });
  if (set_allocator(LargeBlocks::kept, largest_block))
    add(
        kMemoryKept, [&] { run_report<Schedule::fixed>(bench, threads); }, LargeBlocks::kept);
  add(kCopying, [&] { run_copy(bench, threads); });
  visit.in_turn(variants, effort);
}

}  // namespace tabane::lab::aes_folder
