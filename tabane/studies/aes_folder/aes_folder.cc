#include "tabane/studies/aes_folder/aes_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <latch>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "tabane/core/binding.h"
#include "tabane/core/cgroup.h"
#include "tabane/core/error.h"
#include "tabane/core/memory.h"
#include "tabane/core/units.h"
#include "tabane/tools/encrypt/sealed_format.h"

namespace tabane::lab {
namespace aes_folder {
namespace {

namespace fs = std::filesystem;

constexpr About kAboutAesFolder = {
    "aes-folder", "Encrypting a directory, file by file",
    "M. Shirase (Future University Hakodate): Parallel encryption on the many-core coprocessor "
    "Xeon Phi (2 x Xeon E5-2640, Xeon Phi 5110P), about 2015"};

void check_options(const AesFolderOptions& options) {
  for (const std::uint64_t files : options.files)
    require_option(files >= 1 && files <= 1'000'000, "--files", files, "from 1 to 1000000");
  for (const std::uint64_t bytes : options.sizes)
    require_option(bytes <= std::uint64_t{1} << 32, "--sizes", bytes, "at most 4G");
  for (const unsigned threads : options.threads)
    require_option(threads >= 1 && threads <= 4096, "--threads", threads, "from 1 to 4096");
  require_option(options.runs <= 100'000, "--runs", options.runs, "at most 100000");
}

// ---- where the files are ----

struct FileLocation {
  std::string directory;
  bool in_memory = false;  // tmpfs or ramfs
  std::uint64_t free_bytes = 0;
};

// option: that `wanted` comes from. Returns `wanted`, or if it is empty /dev/shm, or if that is not
// a writable memory file system the system's directory for temporary files. throws:
// core::UsageError if `wanted` is not a directory in which files can be made.
FileLocation find_location(const char* option, const std::string& wanted) {
  const auto is_usable = [](const std::string& directory) {
    std::error_code ignored;
    return fs::is_directory(directory, ignored) && access(directory.c_str(), W_OK | X_OK) == 0;
  };
  std::string directory = wanted.empty() ? "/dev/shm" : wanted;
  if (wanted.empty() && !(is_usable(directory) && core::is_in_memory(directory)))
    directory = fs::temp_directory_path().string();
  require_option(is_usable(directory), option, directory,
                 "not a directory in which files can be made");
  return {directory, core::is_in_memory(directory), core::writable_bytes(directory)};
}

// ---- what is going to be measured ----

// Seconds that a contender takes, the average of all, and a round of the coprocessor's own block.
struct Pace {
  double per_file = 20e-6, per_byte = 0.6e-9, device_round = 0;
};
constexpr double kSecondsPerRun = 1e-3;    // starting and ending threads, about
constexpr double kSecondsToOpen = 150e-3;  // a CPU as a device, about

struct StudyPlan {
  std::vector<Folder> folders;  // small files first
  std::vector<Folder> causes;   // those whose time is taken apart
  std::vector<Folder> places;   // those of both directories
  ThreadCounts threads;
  std::vector<unsigned> place_threads;
  int passes = 1;  // so that intervals cover the run and not one moment of it
  Effort effort;   // of a block, all passes
  Effort place_effort;
  Pace pace;
  bool chosen_sizes = false;  // by the user

  unsigned most_threads() const { return threads.report.back(); }
};

template <class T>
std::vector<T> sorted_unique(std::vector<T> values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

// How many threads the system lets this process have at once, up to `wanted`: OpenMP ends the
// program where it cannot start one.
unsigned possible_threads(unsigned wanted) {
  std::latch all_started(1);
  std::vector<std::thread> threads;
  try {
    while (threads.size() + 1 < wanted) threads.emplace_back([&] { all_started.wait(); });
  } catch (const std::system_error&) {
    // Not all of what was possible: others need some, too.
    wanted = static_cast<unsigned>(threads.size());
  }
  all_started.count_down();
  for (std::thread& thread : threads) thread.join();
  return std::max(wanted, 1u);
}

ThreadCounts plan_threads(const AesFolderOptions& options, unsigned pus, Campaign& campaign) {
  std::vector<unsigned> threads = options.threads;
  if (threads.empty()) {
    for (unsigned t = 1; t <= 2 * pus; t *= 2) threads.push_back(t);
    if (!options.quick) threads.insert(threads.end(), {10, 20, 50, 100});  // the report's
  }
  threads.push_back(pus);  // the limit and the report's program beside tabane's own choice
  threads = sorted_unique(std::move(threads));
  const unsigned possible = possible_threads(threads.back());
  for (; !threads.empty() && threads.back() > possible; threads.pop_back())
    campaign.skip(fmt::format("{} threads", threads.back()),
                  fmt::format("the system lets this process start {} only", possible));
  if (threads.empty()) threads.push_back(possible);
  std::vector<unsigned> others = threads;
  if (options.threads.empty())
    std::erase_if(others, [pus](unsigned t) { return t != 1 && t != pus; });
  return {threads, others, std::min(pus, threads.back())};
}

// Why a folder does not fit; empty: it does.
std::string why_not(const Folder& folder, const FileLocation& location, unsigned threads) {
  const std::uint64_t page = core::page_bytes();
  const auto pages = [page](std::uint64_t bytes) { return (bytes + page - 1) / page * page; };
  // An eighth more than is known to be needed: for the rest of the program and the system.
  const auto fits = [](std::uint64_t needed, double available) {
    return static_cast<double>(needed) <= available / 8 * 7;
  };
  // Plain, encrypted twice, and what is written.
  const std::uint64_t in_files = folder.files * (pages(folder.bytes) + 4 * page +
                                                 3 * pages(encrypt::sealed_bytes(folder.bytes)));
  if (!fits(in_files, static_cast<double>(location.free_bytes)))
    return fmt::format("needs {} in {}, where {} are free", core::format_bytes(in_files),
                       location.directory, core::format_bytes(location.free_bytes));
  const std::uint64_t buffers =
      2 * std::min<std::uint64_t>(threads, folder.files) * (folder.bytes + page);
  const std::uint64_t in_memory = buffers + (location.in_memory ? in_files : 0);
  const auto memory = core::usable_memory_bytes();
  if (!memory || fits(in_memory, *memory)) return "";
  return fmt::format("needs {} of memory and {} can be used", core::format_bytes(in_memory),
                     core::format_bytes(static_cast<std::uint64_t>(*memory)));
}

std::vector<Folder> plan_folders(const AesFolderOptions& options, const FileLocation& location,
                                 unsigned threads, Campaign& campaign) {
  constexpr std::uint64_t kKi = 1024, kMi = 1024 * 1024;
  auto sizes = sorted_unique(options.sizes);
  if (sizes.empty() && options.quick) sizes = {128, 4 * kKi, 64 * kKi, kMi, 4 * kMi};
  if (sizes.empty())
    for (std::uint64_t bytes = 128; bytes <= 4 * kMi; bytes *= 2) sizes.push_back(bytes);
  auto files = sorted_unique(options.files);
  if (files.empty()) files = {10, 100};
  std::vector<Folder> folders;
  for (const std::uint64_t bytes : sizes) {
    for (const std::uint64_t count : files) {
      const Folder folder{count, bytes};
      if (options.quick && options.sizes.empty() && count * bytes > 128 * kMi) continue;
      const std::string reason = why_not(folder, location, threads);
      if (reason.empty())
        folders.push_back(folder);
      else
        campaign.skip(folder.label(), reason);
    }
  }
  if (folders.empty())
    throw core::UsageError("nothing fits: {} {}; choose smaller --files and --sizes",
                           campaign.skipped.back().name, campaign.skipped.back().reason);
  return folders;
}

StudyPlan make_plan(const AesFolderOptions& options, const FileLocation& location, unsigned pus,
                    Campaign& campaign) {
  StudyPlan plan;
  plan.effort = {.fewest = 6, .most = 100, .budget_seconds = 2, .warmups = 1};
  if (options.quick) plan.effort = {.fewest = 6, .most = 10, .budget_seconds = 1, .warmups = 1};
  plan.place_effort = {
      .fewest = 6, .most = 100, .budget_seconds = options.quick ? 5.0 : 30, .warmups = 1};
  for (Effort* effort : {&plan.effort, &plan.place_effort})
    if (options.runs > 0) effort->fewest = effort->most = static_cast<int>(options.runs);
  plan.passes = std::min(2, plan.effort.fewest);
  plan.chosen_sizes = !options.sizes.empty();
  plan.threads = plan_threads(options, pus, campaign);
  plan.folders = plan_folders(options, location, plan.most_threads(), campaign);
  const std::uint64_t most = std::ranges::max(plan.folders, {}, &Folder::files).files;
  for (const Folder& folder : plan.folders) {
    const bool is_chosen =
        plan.chosen_sizes ||
        std::ranges::count(std::initializer_list<std::uint64_t>{128, 4096, 65536, 1 << 20, 4 << 20},
                           folder.bytes) > 0;
    if (folder.files == most && is_chosen) plan.causes.push_back(folder);
  }
  return plan;
}

// The largest files of the study, and a quarter as large ones, in both directories: with one thread
// per PU, and with the numbers for which the report counts abnormal runs.
// throws: core::UsageError if they do not fit into the other directory.
void plan_places(StudyPlan& plan, const FileLocation& also) {
  const unsigned possible = possible_threads(20);
  const Folder& largest = plan.folders.back();
  for (const Folder& folder : plan.causes)
    if (folder.bytes * 4 >= largest.bytes) plan.places.push_back(folder);
  for (const unsigned threads : {plan.threads.pus, 10u, 20u})
    if (threads <= possible) plan.place_threads.push_back(threads);
  plan.place_threads = sorted_unique(std::move(plan.place_threads));
  for (const Folder& folder : plan.places) {
    const std::string reason = why_not(folder, also, plan.place_threads.back());
    if (!reason.empty())
      throw core::UsageError("--also: {} {}; choose smaller --files and --sizes", folder.label(),
                             reason);
  }
}

// ---- blocks ----

// Measures a round on many small files, and one on some MiB, where the plan has such.
// throws: as the contenders.
void measure_pace(StudyPlan& plan, const FolderBench& with_device, const FolderBench& host) {
  constexpr std::uint64_t kMostFiles = 1000, kMostBytes = std::uint64_t{16} << 20;
  const auto measure = [](std::span<const Contender> all) {
    core::Clock& clock = core::tick_clock();
    const double start = clock.now();
    for (const Contender& one : all) one.measure();
    return clock.now() - start;
  };
  const Folder *small = nullptr, *large = nullptr;
  for (const Folder& folder : plan.folders) {
    if (folder.files > kMostFiles || folder.files * folder.bytes > kMostBytes) continue;
    if (small == nullptr || folder.bytes == small->bytes) small = &folder;
    if (large == nullptr || folder.files * folder.bytes > large->files * large->bytes)
      large = &folder;
  }
  Pace& pace = plan.pace;
  for (const Folder* folder : std::set{small, large}) {  // in the order of the plan
    if (folder == nullptr) break;
    host.scratch.fill_input(folder->files, folder->bytes);
    seal_input(host, plan.threads.pus);
    const auto all = contenders(host, *folder, plan.threads);
    const auto files = static_cast<double>(folder->files);
    const double bytes = files * static_cast<double>(folder->bytes);
    const double work = measure(all) / static_cast<double>(all.size()) - kSecondsPerRun;
    if (folder == small)
      pace.per_file = std::max((work - bytes * pace.per_byte) / files, 1e-6);
    else if (bytes > 0)
      pace.per_byte = std::max((work - files * pace.per_file) / bytes, 0.05e-9);
  }
  if (with_device.device == nullptr) return;
  // From the most bytes, which the last two encrypt.
  const std::vector<Contender>& both = with_device.device->contenders;
  double bytes = 0;
  for (const Contender& one : both)
    bytes += one.factors.number("chains") * one.factors.number("chain_bytes");
  const Factors& last = both.back().factors;
  pace.device_round = measure(std::span(both).last(2)) * bytes / 2 /
                          (last.number("chains") * last.number("chain_bytes")) +
                      static_cast<double>(both.size()) * kSecondsPerRun;
}

// Of one with so long a round.
double visit_seconds(const StudyPlan& plan, double round) {
  const Effort effort = plan.effort.part(0, plan.passes);
  return 2 * round + std::clamp(effort.budget_seconds, effort.fewest * round, effort.most * round);
}

// contenders: that `measure` measures.
Block block_of(const FolderBench& bench, const StudyPlan& plan, const Folder& folder,
               std::string what, std::size_t contenders, std::function<void(Visit&)> measure) {
  const Pace& pace = plan.pace;
  const auto files = static_cast<double>(folder.files), bytes = static_cast<double>(folder.bytes);
  const double run = kSecondsPerRun + files * (pace.per_file + bytes * pace.per_byte);
  const double round =
      static_cast<double>(contenders) * run + (bench.device != nullptr ? kSecondsToOpen : 0);
  return {std::move(what), visit_seconds(plan, round),
          [&bench, &plan, folder, measure = std::move(measure)](Visit& visit) {
            // The limit may be lower than at first, or others may have taken what it leaves.
            const unsigned most = plan.most_threads(), possible = possible_threads(most);
            if (possible < most)
              throw core::Error("the system lets this process start {} threads", possible);
            bench.scratch.fill_input(folder.files, folder.bytes);
            measure(visit);
          }};
}

// Whether a folder is also encrypted by the coprocessor. A CPU in its place is opened slowly, and
// shows how that is done rather than how fast: in few folders.
bool is_for_device(const FolderBench& bench, const StudyPlan& plan, const Folder& folder) {
  if (bench.device == nullptr || !bench.device->is_cpu) return bench.device != nullptr;
  constexpr std::uint64_t kUsual = 64 * 1024, kMost = std::uint64_t{16} << 20;
  return (plan.chosen_sizes || folder.bytes == kUsual) && folder.files * folder.bytes <= kMost;
}

// host: the same without a coprocessor.
void add_blocks(Campaign& campaign, const FolderBench& with_device, const FolderBench& host,
                const StudyPlan& plan) {
  for (const Folder& folder : plan.folders) {
    const FolderBench& bench = is_for_device(with_device, plan, folder) ? with_device : host;
    auto all = contenders(bench, folder, plan.threads);
    const std::size_t number = all.size();
    campaign.add(block_of(
        bench, plan, folder, folder.label(), number,
        [&bench, &plan, folder, all = std::move(all), checked = false](Visit& visit) mutable {
          seal_input(bench, plan.threads.pus);
          if (!std::exchange(checked, true)) check_outputs(visit, bench, folder, plan.threads.pus);
          visit.in_turn(all, visit.part(plan.effort));
        }));
  }
  for (const Folder& folder : plan.causes) {
    campaign.add(block_of(host, plan, folder, "causes, " + folder.label(), std::size(kVariants),
                          [&host, &plan, folder](Visit& visit) {
                            measure_variants(visit, host, folder, plan.threads.pus,
                                             visit.part(plan.effort));
                          }));
  }
  if (with_device.device == nullptr) return;
  campaign.add({"coprocessor", visit_seconds(plan, plan.pace.device_round),
                [&device = *with_device.device, &plan, checked = false](Visit& visit) mutable {
                  if (!std::exchange(checked, true)) device.check();
                  visit.in_turn(device.contenders, visit.part(plan.effort));
                }});
}

void add_place_blocks(Campaign& campaign, const FolderBench& here, const FolderBench& also,
                      const StudyPlan& plan) {
  for (const Folder& folder : plan.places) {
    campaign.add({"both directories, " + folder.label(),
                  plan.place_effort.part(0, plan.passes).budget_seconds,
                  [&here, &also, &plan, folder](Visit& visit) {
                    for (const FolderBench* bench : {&here, &also})
                      bench->scratch.fill_input(folder.files, folder.bytes);
                    visit.in_turn(place_contenders(here, also, folder, plan.place_threads),
                                  visit.part(plan.place_effort));
                  }});
  }
}

std::string aes_folder_what(const Point& point) {
  if (point.factors.find("cipher") != nullptr)
    return "time of a buffer in memory on one core, " + point.text("cipher");
  if (point.factors.find("chains_by") != nullptr)
    return "time of AES-128-CBC of chains in memory, " + point.text("chains_by");
  if (point.factors.find("place") != nullptr)
    return fmt::format("time of {} in the {} directory", point.text("program"),
                       point.text("place") == kAlso ? "other" : "study's own");
  if (point.factors.find("variant") == nullptr) return "time of " + point.text("implementation");
  return "time of the report's program, " + point.text("variant");
}

}  // namespace

std::string Folder::label() const {
  return fmt::format("{} x {}", files, core::format_bytes(bytes));
}

Factors Folder::point(const char* kind, const char* name, const Level& threads) const {
  return {{kind, name}, {"files", files}, {"bytes", bytes}, {"threads", threads}};
}

}  // namespace aes_folder

Record run_aes_folder(const core::Topology& topology, const AesFolderOptions& options,
                      const Hooks& hooks) {
  using namespace aes_folder;
  check_options(options);
  RunningStudy study(topology, kAboutAesFolder, options.quick);
  Record& record = study.record;
  const FileLocation location = find_location("--dir", options.directory);
  const std::vector<unsigned> pus = topology.pu_os_indices();
  Campaign campaign(hooks);
  for (const char* kind : {"implementation", "variant"})
    campaign.points.declare(Folder().point(kind, "", 0));
  campaign.points.declare(chain_factors("", {}));
  campaign.points.declare(cipher_factors("", 0));
  campaign.points.declare(place_factors("", "", {}, 0));
  StudyPlan plan = make_plan(options, location, static_cast<unsigned>(pus.size()), campaign);
  std::optional<FileLocation> also;
  if (!options.also.empty()) plan_places(plan, also.emplace(find_location("--also", options.also)));

  FolderKey key;
  crypto::fill_random(key.key);
  crypto::fill_random(key.iv);
  Scratch scratch(location.directory);
  std::string no_device;
  const auto device = open_device_bench(key, pus, options.sizes, options.quick, no_device);
  const FolderBench bench{scratch, key, device ? &*device : nullptr}, host{scratch, key};
  std::optional<Scratch> other;
  if (also) other.emplace(also->directory);
  const FolderBench other_bench{other ? *other : scratch, key};
  try {
    measure_pace(plan, bench, host);
  } catch (const core::Error&) {  // as when the place is full: the campaign says so
  }
  add_blocks(campaign, bench, host, plan);
  add_place_blocks(campaign, host, other_bench, plan);
  campaign.add({"ciphers", plan.effort.part(0, plan.passes).budget_seconds, [&](Visit& visit) {
                  const core::ScopedBinding binding(pus.front());  // in memory, on one core
                  visit.in_turn(cipher_contenders(key, options.quick), visit.part(plan.effort));
                }});
  study.add(campaign, campaign.run({.passes = plan.passes}), aes_folder_what);
  if (!device) record.skipped.push_back({"coprocessor", no_device});
  if (record.complete && campaign.points.levels("files").empty())
    throw core::Error("nothing could be measured: " + campaign.skipped.back().reason);
  const char* const where = location.in_memory           ? "location.memory"
                            : !options.directory.empty() ? "location.wanted"
                                                         : "location.elsewhere";
  const StudyViews views{record, campaign.points, *reports()[0]};
  record.sentences.push_back(views.caption(where, {{"directory", location.directory}}).note);
  add_views(record, campaign.points, plan.threads.pus);
  if (also) add_places(views, also->directory);
  add_cipher_views(views);
  add_device_views(record, campaign.points, device ? device->about : "");
  return study.finish({"outliers"});  // which it looks for
}

}  // namespace tabane::lab
