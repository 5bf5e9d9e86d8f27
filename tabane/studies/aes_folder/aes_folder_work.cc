// The timed runs of the study aes-folder.
#include <fmt/format.h>
#include <malloc.h>
#include <omp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <limits>

#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/memory.h"
#include "tabane/core/system_files.h"
#include "tabane/lab/environment.h"
#include "tabane/studies/aes_folder/aes_folder.h"
#include "tabane/tools/encrypt/job.h"

namespace tabane::lab::aes_folder {
namespace {

// ---- what is noted with the time ----

using Counters = std::vector<std::pair<const char*, double>>;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Seconds in which some task of the machine waited for `what`: the line "some avg10=… total=µs".
double pressure_seconds(const std::string& what) {
  constexpr std::string_view kTotal = "total=";
  const std::string line = core::SystemFiles().field("/proc/pressure/" + what, "some").value_or("");
  const std::size_t at = line.find(kTotal);
  return at == line.npos ? kUnknown : std::atof(line.c_str() + at + kTotal.size()) * 1e-6;
}

// Bytes of pages that the kernel counts as this.
double pages_of(const char* what) {
  const auto pages = core::SystemFiles().field_number("/proc/vmstat", what);
  return pages ? *pages * static_cast<double>(core::page_bytes()) : kUnknown;
}

// steal_s: what the hypervisor gave to others while this machine's CPUs had work, in steps of
// 10 ms.
Counters machine_counters() {
  const auto ticks = cpu_ticks(core::SystemFiles());
  return {{"steal_s", ticks ? ticks->back() / static_cast<double>(sysconf(_SC_CLK_TCK)) : kUnknown},
          {"machine_cpu_wait_s", pressure_seconds("cpu")},
          {"machine_io_wait_s", pressure_seconds("io")},
          {"machine_written_bytes", pages_of("nr_written")}};
}

Counters process_counters() {
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
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

// Times work as of a program that has just started, without the threads that OpenMP keeps and the
// memory that the allocator keeps; empties the output after it unless it is kept.
Sample timed(const FolderBench& bench, const std::function<void()>& work, bool keeps = false) {
  omp_pause_resource_all(omp_pause_soft);
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
  core::Clock& clock = core::tick_clock();
  // Reading files of the system makes work of its own: it stays outside of the process's counters.
  const double dirty = pages_of("nr_dirty") + pages_of("nr_writeback");
  const Counters machine = machine_counters(), process = process_counters();
  const double start = clock.now();
  work();
  Sample sample{.seconds = clock.now() - start};
  add_differences(sample, process_counters(), process);
  add_differences(sample, machine_counters(), machine);
  sample.beside.emplace_back("dirty_before_bytes", dirty);
  if (!keeps) bench.scratch.empty_output();
  return sample;
}

// ---- the implementations ----

template <Schedule schedule>
unsigned run_report(const FolderBench& bench, unsigned threads) {
  encrypt_folder(bench.scratch.in(), bench.scratch.out(), bench.key, threads, schedule);
  return threads;
}

unsigned run_report_decrypting(const FolderBench& bench, unsigned threads) {
  decrypt_folder(bench.scratch.sealed(), bench.scratch.out(), bench.key, threads);
  return threads;
}

unsigned run_copy(const FolderBench& bench, unsigned threads) {
  copy_folder(bench.scratch.in(), bench.scratch.out(), threads);
  return threads;
}

// out: the directory of what was, or is to be, written.
template <encrypt::Cipher cipher, encrypt::Direction direction = encrypt::Direction::encrypt,
          crypto::Engine engine = crypto::Engine::automatic>
unsigned run_tabane_on(const std::string& out, const FolderBench& bench, unsigned threads) {
  constexpr bool kWrites = direction != encrypt::Direction::verify;
  constexpr bool kIsCbc = cipher == encrypt::Cipher::aes_128_cbc;
  encrypt::Request request;
  request.direction = direction;
  request.cipher = cipher;
  request.in = !kWrites                                   ? out
               : direction != encrypt::Direction::decrypt ? bench.scratch.in()
               : kIsCbc                                   ? bench.scratch.sealed()
                                                          : bench.scratch.sealed_by_gcm();
  if (kWrites) request.out = out;
  std::ranges::copy(bench.key.key, request.key.bytes().begin());
  if (kIsCbc) request.fixed_iv = bench.key.iv;
  request.force = kWrites;
  request.threads = threads;
  request.measure_copy = false;
  request.engine = engine;
  const encrypt::JobReport outcome = encrypt::run_job(request);
  if (!outcome.failures.empty())
    throw core::Error(outcome.failures[0].path + ": " + outcome.failures[0].what);
  if (!outcome.device_remarks.empty()) throw core::Error(outcome.device_remarks[0]);
  return outcome.threads;
}

template <encrypt::Cipher cipher, encrypt::Direction direction = encrypt::Direction::encrypt,
          crypto::Engine engine = crypto::Engine::automatic>
unsigned run_tabane(const FolderBench& bench, unsigned threads) {
  return run_tabane_on<cipher, direction, engine>(bench.scratch.out(), bench, threads);
}

constexpr Implementation kImplementations[] = {
    {kReport, "OpenMP static", false, false, false, run_report<Schedule::fixed>},
    {"report_dynamic", "OpenMP dynamic", false, false, false, run_report<Schedule::dynamic>},
    {"tabane_cbc", "tabane CBC", true, false, false, run_tabane<encrypt::Cipher::aes_128_cbc>},
    {"tabane_gcm", "tabane GCM", true, false, false, run_tabane<encrypt::Cipher::aes_256_gcm>},
    {"tabane_device", "coprocessor", true, true, false,
     run_tabane<encrypt::Cipher::aes_128_cbc, encrypt::Direction::encrypt, crypto::Engine::opencl>},
    {"report_decrypting", "OpenMP static, decrypting", false, false, true, run_report_decrypting},
    {"tabane_cbc_decrypting", "tabane CBC, decrypting", false, false, true,
     run_tabane<encrypt::Cipher::aes_128_cbc, encrypt::Direction::decrypt>},
    {"tabane_gcm_decrypting", "tabane GCM, decrypting", false, false, true,
     run_tabane<encrypt::Cipher::aes_256_gcm, encrypt::Direction::decrypt>},
    {kCopy, "copying", false, false, false, run_copy}};

}  // namespace

std::span<const Implementation> implementations() { return kImplementations; }

std::vector<Contender> contenders(const FolderBench& bench, const Folder& folder,
                                  const ThreadCounts& threads) {
  std::vector<Contender> all;
  const auto add = [&](const Implementation& one, const Level& level, unsigned number) {
    all.push_back({folder.point("implementation", one.name, level), [&bench, &one, number] {
                     unsigned taken = 0;
                     Sample sample = timed(bench, [&] { taken = one.run(bench, number); });
                     sample.beside.emplace_back("threads_taken", taken);
                     return sample;
                   }});
  };
  for (const Implementation& one : kImplementations) {
    if (one.on_device && bench.device == nullptr) continue;
    if (one.decrypts) {
      add(one, threads.pus, threads.pus);
    } else if (!one.on_device) {
      for (const unsigned number :
           one.name == std::string_view(kReport) ? threads.report : threads.others)
        // More threads than files have nothing to do.
        if (number <= std::max<std::uint64_t>(folder.files, 2 * threads.pus))
          add(one, number, number);
    }
    if (one.chooses) add(one, kAutomatic, 0);
  }
  return all;
}

void seal_input(const FolderBench& bench, unsigned threads) {
  encrypt_folder(bench.scratch.in(), bench.scratch.sealed(), bench.key, threads, Schedule::fixed);
  run_tabane_on<encrypt::Cipher::aes_256_gcm>(bench.scratch.sealed_by_gcm(), bench, threads);
}

void check_outputs(Visit& visit, const FolderBench& bench, const Folder& folder, unsigned threads) {
  std::string cipher_text;  // of the report's program
  for (const Implementation& one : kImplementations) {
    if (one.on_device && bench.device == nullptr) continue;
    visit.show(0);
    one.run(bench, threads);
    if (one.run == run_tabane<encrypt::Cipher::aes_256_gcm>) {
      run_tabane<encrypt::Cipher::aes_256_gcm, encrypt::Direction::verify>(bench, threads);
    } else {
      const std::string digest = digest_of_directory(bench.scratch.out());
      if (cipher_text.empty()) cipher_text = digest;
      const bool plain = one.decrypts || one.run == run_copy;
      if (digest != (plain ? digest_of_directory(bench.scratch.in()) : cipher_text))
        throw core::VerificationError(fmt::format("{}: what {} wrote", folder.label(), one.title),
                                      1, 0);
    }
    bench.scratch.empty_output();
  }
}

// ---- two directories ----

Factors place_factors(const char* place, const char* program, const Folder& folder,
                      const Level& threads) {
  return {{"place", place},
          {"program", program},
          {"files", folder.files},
          {"bytes", folder.bytes},
          {"threads", threads}};
}

std::vector<Contender> place_contenders(const FolderBench& here, const FolderBench& also,
                                        const Folder& folder,
                                        const std::vector<unsigned>& threads) {
  std::vector<Contender> all;
  for (const auto& [place, bench] : {std::pair{kHere, &here}, {kAlso, &also}}) {
    const auto add = [&](const char* program, unsigned number, auto run) {
      all.push_back({place_factors(place, program, folder, number), [=] {
                       return timed(
                           *bench, [=] { run(*bench, number); }, true);
                     }});
    };
    for (const unsigned number : threads) add(kReport, number, run_report<Schedule::fixed>);
    add(kCopy, threads.front(), run_copy);
  }
  return all;
}

// ---- variants of the report's program ----

namespace {

// Has the allocator deal with blocks of up to `largest` bytes as glibc adjusts itself once it has
// freed one, or keep them. Returns false where the allocator has no such setting.
bool set_allocator(bool keeps, std::size_t largest) {
#if defined(__GLIBC__)
  // A block above M_MMAP_THRESHOLD (at first 128 KiB) is mapped by itself. Freeing it raises this
  // threshold to the size mapped and M_TRIM_THRESHOLD, above which free memory at a heap's end goes
  // back to the system, to twice that; both only up to 32 MiB.
  constexpr std::size_t kFirst = 128 * 1024, kMost = 32 * 1024 * 1024;
  const std::size_t page = core::page_bytes();
  const std::size_t mapped = (largest + 2 * sizeof(std::size_t) + page - 1) / page * page;
  const bool adjusts = mapped > kFirst && mapped <= kMost;
  const std::size_t map_above = keeps ? kMost : adjusts ? mapped : kFirst;
  const std::size_t trim_above = keeps ? INT_MAX : (adjusts ? 2 : 1) * map_above;
  return mallopt(M_MMAP_THRESHOLD, static_cast<int>(map_above)) == 1 &&
         mallopt(M_TRIM_THRESHOLD, static_cast<int>(trim_above)) == 1;
#else
  static_cast<void>(keeps), static_cast<void>(largest);
  return false;
#endif
}

// Ends the settings of the allocator: those of glibc at the start, which then stay.
struct AllocatorAsAtStart {
  ~AllocatorAsAtStart() { set_allocator(false, 0); }
};

}  // namespace

void measure_variants(Visit& visit, const FolderBench& bench, const Folder& folder,
                      unsigned threads, const Effort& effort) {
  const std::size_t largest_block = folder.bytes + crypto::kBlockBytes;
  const AllocatorAsAtStart at_the_end;
  KeptBuffers kept(threads, folder.bytes, bench.key);
  std::vector<Contender> all;
  const auto add = [&](const char* name, bool memory_kept, std::function<void()> work) {
    all.push_back({folder.point("variant", name, threads),
                   [&bench, largest_block, memory_kept, work = std::move(work)] {
                     set_allocator(memory_kept, largest_block);
                     return timed(bench, work);
                   }});
  };
  for (const Variant& one : kVariants) {
    if (one.without == Without::chain && kept.threads[0].cipher.lanes() == 1) continue;
    if (one.memory_kept && !set_allocator(true, largest_block)) continue;
    add(one.name, one.memory_kept, [&] {
      encrypt_folder(bench.scratch.in(), bench.scratch.out(), bench.key, threads, one.schedule,
                     one.without, &kept);
    });
  }
  add(kCopying, false, [&] { run_copy(bench, threads); });
  visit.in_turn(all, effort);
}

}  // namespace tabane::lab::aes_folder
