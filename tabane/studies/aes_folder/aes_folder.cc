#include "tabane/studies/aes_folder/aes_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <latch>
#include <system_error>
#include <thread>
#include <utility>

#include "tabane/core/cgroup.h"
#include "tabane/core/error.h"
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

// `wanted`, or if it is empty /dev/shm, or if that is not a writable memory file system the
// system's directory for temporary files.
// throws: core::UsageError if `wanted` is not a directory in which files can be made.
FileLocation find_location(const std::string& wanted) {
  const auto is_usable = [](const std::string& directory) {
    std::error_code ignored;
    return fs::is_directory(directory, ignored) && access(directory.c_str(), W_OK | X_OK) == 0;
  };
  std::string directory = wanted.empty() ? "/dev/shm" : wanted;
  if (wanted.empty() && !(is_usable(directory) && core::is_in_memory(directory)))
    directory = fs::temp_directory_path().string();
  require_option(is_usable(directory), "--dir", directory,
                 "not a directory in which files can be made");
  return {directory, core::is_in_memory(directory), core::writable_bytes(directory)};
}

// ---- what is going to be measured ----

struct StudyPlan {
  std::vector<Folder> folders;  // small files first
  std::vector<unsigned> threads;
  unsigned pus = 1;
  int passes = 1;  // so that intervals cover the run and not one moment of it
  Effort effort;   // of a block, all passes
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

std::vector<unsigned> plan_threads(const AesFolderOptions& options, unsigned pus,
                                   Campaign& campaign) {
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
  return threads;
}

// Why a folder does not fit; empty: it does.
std::string why_not(const Folder& folder, const FileLocation& location, unsigned threads) {
  constexpr std::uint64_t kPage = 4096;
  const auto pages = [](std::uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; };
  // An eighth more than is known to be needed: for the rest of the program and the system.
  const auto fits = [](std::uint64_t needed, double available) {
    return static_cast<double>(needed) <= available / 8 * 7;
  };
  const std::uint64_t in_files =
      folder.files * (pages(folder.bytes) + 2 * kPage + pages(encrypt::sealed_bytes(folder.bytes)));
  if (!fits(in_files, static_cast<double>(location.free_bytes)))
    return fmt::format("needs {} in {}, where {} are free", core::format_bytes(in_files),
                       location.directory, core::format_bytes(location.free_bytes));
  const std::uint64_t buffers =
      2 * std::min<std::uint64_t>(threads, folder.files) * (folder.bytes + kPage);
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
  if (sizes.empty()) sizes = {128, kKi, 4 * kKi, 16 * kKi, 64 * kKi, 256 * kKi, kMi, 4 * kMi};
  auto files = sorted_unique(options.files);
  if (files.empty()) files = {10, 100};
  std::vector<Folder> folders;
  for (const std::uint64_t bytes : sizes) {
    for (const std::uint64_t count : files) {
      const Folder folder{count, bytes};
      const std::string reason = why_not(folder, location, threads);
      if (reason.empty())
        folders.push_back(folder);
      else
        campaign.skip(folder.label(), reason);
    }
  }
  if (folders.empty())
    throw core::UsageError(fmt::format("nothing fits: {} {}; choose smaller --files and --sizes",
                                       campaign.skipped.back().name,
                                       campaign.skipped.back().reason));
  return folders;
}

StudyPlan make_plan(const AesFolderOptions& options, const FileLocation& location, unsigned pus,
                    Campaign& campaign) {
  StudyPlan plan;
  plan.effort = {.fewest = 10, .most = 100, .budget_seconds = 30, .warmups = 1};
  if (options.quick) plan.effort = {.fewest = 6, .most = 10, .budget_seconds = 3, .warmups = 1};
  if (options.runs > 0) plan.effort.fewest = plan.effort.most = static_cast<int>(options.runs);
  plan.passes = std::min(options.quick ? 2 : 3, plan.effort.fewest);
  plan.threads = plan_threads(options, pus, campaign);
  plan.pus = std::min(pus, plan.threads.back());
  plan.folders = plan_folders(options, location, plan.threads.back(), campaign);
  return plan;
}

// ---- blocks ----

// contenders: that `measure` measures.
Block block_of(const FolderBench& bench, const StudyPlan& plan, const Folder& folder,
               std::string what, std::size_t contenders, std::function<void(Visit&)> measure) {
  // About: opening and closing, then bytes, through the report's program on one core.
  constexpr double kSecondsPerFile = 50e-6, kBytesPerSecond = 0.7e9, kSecondsPerRun = 1e-3;
  const auto files = static_cast<double>(folder.files), bytes = static_cast<double>(folder.bytes);
  const double work = files * (kSecondsPerFile + bytes / kBytesPerSecond);
  const double round =
      static_cast<double>(contenders) * (kSecondsPerRun + work / std::sqrt(plan.pus));
  const Effort effort = plan.effort.part(0, plan.passes);
  const double rounds =
      std::clamp(effort.budget_seconds, effort.fewest * round, effort.most * round);
  return {
      std::move(what), 2 * round + rounds,
      [&bench, &plan, folder, measure = std::move(measure)](Visit& visit) {
        // The limit may be lower than at first, or others may have taken what it leaves.
        const unsigned most = plan.threads.back(), possible = possible_threads(most);
        if (possible < most)
          throw core::Error(fmt::format("the system lets this process start {} threads", possible));
        bench.scratch.fill_input(folder.files, folder.bytes);
        measure(visit);
      }};
}

void add_blocks(Campaign& campaign, const FolderBench& bench, const StudyPlan& plan) {
  for (const Folder& folder : plan.folders) {
    auto all = contenders(bench, folder, plan.threads);
    const std::size_t number = all.size();
    campaign.add(block_of(
        bench, plan, folder, folder.label(), number,
        [&bench, &plan, folder, all = std::move(all), checked = false](Visit& visit) mutable {
          if (!std::exchange(checked, true)) check_outputs(visit, bench, folder, plan.pus);
          visit.in_turn(all, visit.part(plan.effort));
        }));
  }
  for (const Folder& folder : plan.folders) {
    if (folder.files != std::ranges::max(plan.folders, {}, &Folder::files).files) continue;
    campaign.add(block_of(bench, plan, folder, "causes, " + folder.label(), std::size(kVariants),
                          [&bench, &plan, folder](Visit& visit) {
                            measure_variants(visit, bench, folder, plan.pus,
                                             visit.part(plan.effort));
                          }));
  }
  if (bench.device == nullptr) return;
  constexpr double kSecondsOfRound = 4;  // of a CPU as a device, which is the slowest
  campaign.add({"coprocessor", plan.effort.part(0, plan.passes).fewest * kSecondsOfRound,
                [&bench, &plan, checked = false](Visit& visit) mutable {
                  if (!std::exchange(checked, true)) bench.device->check();
                  visit.in_turn(bench.device->contenders, visit.part(plan.effort));
                }});
}

std::string aes_folder_what(const Point& point) {
  if (point.factors.find("chains_by") != nullptr)
    return "time of AES-128-CBC of chains in memory, " + point.text("chains_by");
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
  const FileLocation location = find_location(options.directory);
  const std::vector<unsigned> pus = topology.pu_os_indices();
  Campaign campaign(hooks);
  for (const char* kind : {"implementation", "variant"})
    campaign.points.declare(Folder().point(kind, "", 0));
  campaign.points.declare(chain_factors("", {}));
  const StudyPlan plan = make_plan(options, location, static_cast<unsigned>(pus.size()), campaign);

  FolderKey key;
  crypto::fill_random(key.key);
  crypto::fill_random(key.iv);
  Scratch scratch(location.directory);
  std::string no_device;
  const auto device = open_device_bench(key, pus, options.sizes, options.quick, no_device);
  const FolderBench bench{scratch, key, device ? &*device : nullptr};
  add_blocks(campaign, bench, plan);
  study.add(campaign, campaign.run({.passes = plan.passes}), aes_folder_what);
  if (!device) record.skipped.push_back({"coprocessor", no_device});
  const auto is_of_files = [](const Point& point) {
    return point.factors.find("files") != nullptr;
  };
  if (record.complete && !std::ranges::any_of(campaign.points, is_of_files))
    throw core::Error("nothing could be measured: " + campaign.skipped.back().reason);
  const char* const where = location.in_memory           ? "location.memory"
                            : !options.directory.empty() ? "location.wanted"
                                                         : "location.elsewhere";
  record.sentences.push_back(StudyViews{record, campaign.points, *reports()[0]}
                                 .caption(where, {{"directory", location.directory}})
                                 .note);
  add_views(record, campaign.points, plan.pus);
  add_device_views(record, campaign.points, device ? device->about : "");
  return study.finish({"outliers"});  // which it looks for
}

}  // namespace tabane::lab
