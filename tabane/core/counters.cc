#include "tabane/core/counters.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tabane::core {
namespace {

constexpr CounterEvent kEvents[] = {
    {events::kInstructions, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {events::kCycles, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {events::kCacheMisses, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {events::kTlbMisses, PERF_TYPE_HW_CACHE,
     PERF_COUNT_HW_CACHE_DTLB | PERF_COUNT_HW_CACHE_OP_READ << 8 |
         PERF_COUNT_HW_CACHE_RESULT_MISS << 16}};
constexpr const char* kPowercap = "/sys/class/powercap";
constexpr std::chrono::milliseconds kLeastForEnergy{10};
constexpr double kMostMicrowatts = 1e9;  // that a package takes

}  // namespace

int open_counter(const CounterEvent& event, Counted what) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = event.type;
  attributes.config = event.config;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attributes.exclude_kernel = attributes.exclude_hv = 1;
  // Those of this thread never count; each child has a copy, which its program switches on.
  if (what == Counted::programs)
    attributes.disabled = attributes.inherit = attributes.enable_on_exec = 1;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

Counters::Counters(Counted what, OpenCounter open, SystemFiles files)
    : what_(what), open_(std::move(open)), files_(std::move(files)) {
  for (const CounterEvent& event : kEvents)
    if (Descriptor(open_(event, what)).valid()) events_.push_back({event});
  for (const std::string& name : files_.names(kPowercap)) {
    if (!name.starts_with("intel-rapl:")) continue;  // intel-rapl-mmio has the same packages again
    const std::string folder = std::string(kPowercap) + "/" + name;
    const bool is_package = files_.text(folder + "/name").value_or("").starts_with("package");
    if (is_package && files_.number(folder + "/energy_uj")) packages_.push_back({folder});
  }
}

std::vector<std::string> Counters::names() const {
  std::vector<std::string> all;
  for (const Event& event : events_) all.emplace_back(event.event.name);
  if (!packages_.empty()) all.emplace_back(events::kEnergy);
  return all;
}

void Counters::start() {
  for (Event& event : events_) event.file.reset(open_(event.event, what_));
  for (Package& package : packages_) package.before = files_.number(package.folder + "/energy_uj");
  began_ = std::chrono::steady_clock::now();
}

Counts Counters::stop() {
  const auto lasted = std::chrono::steady_clock::now() - began_;
  Counts counts;
  for (Event& event : events_) {
    struct {
      std::uint64_t count, wanted, counted;
    } found{};
    const bool whole = read(event.file.get(), &found, sizeof found) == sizeof found;
    event.file.reset();
    const auto part = static_cast<double>(found.counted) / static_cast<double>(found.wanted);
    if (whole && found.counted > 0)
      counts.emplace_back(event.event.name, static_cast<double>(found.count) / part);
  }
  if (packages_.empty() || lasted < kLeastForEnergy) return counts;
  double microjoules = 0;
  for (const Package& package : packages_) {
    const auto now = files_.number(package.folder + "/energy_uj");
    const auto range = files_.number(package.folder + "/max_energy_range_uj");
    if (!package.before || !now || !range) return counts;
    // In a longer time it may have begun again at 0 more than once.
    if (std::chrono::duration<double>(lasted).count() > *range / kMostMicrowatts) return counts;
    const double used = *now - *package.before;
    microjoules += used < 0 ? used + *range : used;
  }
  counts.emplace_back(events::kEnergy, microjoules / 1e6);
  return counts;
}

}  // namespace tabane::core
