// fork.cost, thread.create, page_fault.rate: what new processes, threads and fresh pages cost.
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tabane/core/cgroup.h"
#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/fit.h"
#include "tabane/core/memory.h"
#include "tabane/core/pinned_pool.h"
#include "tabane/core/placement.h"
#include "tabane/core/system_files.h"
#include "tabane/core/units.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/probes/bound_threads.h"
#include "tabane/lab/probes/plan.h"
#include "tabane/team/fork.h"

namespace tabane::lab {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kGiB = std::size_t{1} << 30;

// A quarter of what may be used, so that no probe makes the machine swap.
double memory_allowance() {
  const auto usable = core::usable_memory_bytes();
  if (!usable) throw NotHere("the system does not tell how much memory is available");
  double bytes = *usable / 4;
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
      bytes = std::min(bytes, static_cast<double>(limit.rlim_cur) / 4);
    }
  }
  return bytes;
}

core::MemoryOptions pages_of(core::PageSize pages) {
  core::MemoryOptions options;
  options.pages = pages;
  return options;
}

core::MeasureOptions one_at_a_time(double budget_seconds) {
  core::MeasureOptions options;
  options.single_iteration = true;
  options.budget_seconds = budget_seconds;
  options.min_epochs = 7;
  options.warmup_epochs = 1;
  return options;
}

void touch_pages(std::span<std::byte> bytes) {
  const std::size_t page = core::page_bytes();
  for (std::size_t i = 0; i < bytes.size(); i += page) {
    *static_cast<volatile std::byte*>(&bytes[i]) = std::byte{1};
  }
}

// fork.cost

core::Series measure_fork(double budget_seconds) {
  return core::measure(
      "fork", core::repeat([] { team::wait_for_child(team::fork_child([] { return 0; })); }),
      one_at_a_time(budget_seconds));
}

std::vector<std::size_t> sizes_up_to(double largest) {
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = kMiB; static_cast<double>(bytes) <= largest; bytes *= 4) {
    sizes.push_back(bytes);
  }
  return sizes;
}

bool mostly_huge(const core::Region& region, std::size_t bytes) {
  const auto huge = region.huge_bytes();
  return huge && static_cast<double>(*huge) >= 0.9 * static_cast<double>(bytes);
}

struct ForkPlan {
  std::vector<std::size_t> sizes;
  double seconds_each = 0;
  std::function<void()> point_begins;  // may throw Stopped
};

// Times forks while the process holds more and more memory. One region is touched further before
// every size, so that each page is touched once and never inside a sample. Ends early, with a
// remark, where the system gives no huge pages.
Curve fork_curve(core::PageSize pages, std::string name, const ForkPlan& plan,
                 std::string& remark) {
  Curve curve;
  curve.name = std::move(name);
  const core::Region region(plan.sizes.back(), pages_of(pages));
  std::size_t touched = 0;
  for (const std::size_t bytes : plan.sizes) {
    plan.point_begins();
    if (pages == core::PageSize::huge && bytes % core::huge_page_bytes() != 0) continue;
    while (touched < bytes) {
      const std::size_t part = std::min(bytes - touched, 256 * kMiB);
      touch_pages({region.data() + touched, part});
      touched += part;
      plan.point_begins();
    }
    if (pages == core::PageSize::huge && !mostly_huge(region, bytes)) {
      remark = "the system did not give huge pages for " + core::format_bytes(bytes);
      break;
    }
    const core::Series series = measure_fork(plan.seconds_each);
    const core::Interval interval = series.interval();
    curve.x.push_back(static_cast<double>(bytes));
    curve.y.push_back(series.median());
    curve.low.push_back(interval.low);
    curve.high.push_back(interval.high);
  }
  return curve;
}

// Seconds for every GiB held, from the slope of t = t0 + slope * bytes.
Result per_gib(const Probe& probe, const Curve& curve) {
  // Relative residuals: the sizes span decades, and the largest must not decide alone.
  const core::LineFit fit = core::fit_line(curve.x, curve.y, core::FitWeight::relative);
  const auto gib = static_cast<double>(kGiB);
  Result result = probe.result();
  result.name += ".per_gib";
  result.what = "Added to a fork, its child's exit and the wait by every GiB held in base pages";
  result.unit = "s/GiB";
  result.value = fit.slope * gib;
  result.interval = {fit.slope_interval.low * gib, fit.slope_interval.high * gib};
  result.details["from"] = "slope of a line through the curve \"" + curve.name + "\" of fork.cost";
  result.details["fitted_smallest_s"] = fit.intercept;
  result.details["worst_relative_residual"] = fit.worst_relative_residual;
  return result;
}

Result smallest_fork(const Probe& probe, double budget_seconds) {
  Result result = probe.result();
  core::Series series = measure_fork(budget_seconds);
  const auto resident = core::SystemFiles().field_number("/proc/self/status", "VmRSS");
  result.details["own_resident_bytes"] =
      resident ? Json(static_cast<std::uint64_t>(*resident)) : Json(nullptr);
  result.details["child"] = "ends at once";
  set_samples(result, std::move(series.samples));
  return result;
}

void run_fork(const Probe& probe, ProbeContext& context) {
  require_this_machine(context);
  const double wanted = static_cast<double>(context.quick() ? 256 * kMiB : 4 * kGiB);
  const double allowance = memory_allowance();
  ForkPlan plan;
  plan.sizes = sizes_up_to(std::min(wanted, allowance));
  const double points = static_cast<double>(2 * plan.sizes.size() + 1);
  // Half the budget: touching the memory takes the rest.
  plan.seconds_each = context.budget_seconds() / 2 / points;
  double begun = 0;
  plan.point_begins = [&] { context.progress(std::min(1.0, (begun += 0.5) / points)); };

  context.progress(0);
  context.report(smallest_fork(probe, plan.seconds_each));
  if (plan.sizes.empty()) return;

  View table;
  table.name = probe.name;
  table.title = probe.what;
  table.version = probe.version;
  std::string remark;
  Curves curves;
  curves.x = {"held memory", "B", true};
  curves.y = {"fork + exit + wait", "s", true};
  curves.series.push_back(fork_curve(core::PageSize::small, base_pages(), plan, remark));
  if (core::huge_pages_possible() && core::huge_page_bytes() > 0) {
    Curve huge = fork_curve(core::PageSize::huge, "huge pages", plan, remark);
    if (!huge.x.empty()) curves.series.push_back(std::move(huge));
  } else {
    remark = "the system has no transparent huge pages or does not grant them";
  }
  table.details[detail::kRemark] = remark.empty() ? Json(nullptr) : Json(remark);
  table.details["memory_allowance_bytes"] = static_cast<std::uint64_t>(allowance);
  table.details["base_page_bytes"] = core::page_bytes();
  table.details["huge_page_bytes"] = core::huge_page_bytes();
  const Curve small = curves.series.front();
  table.content = std::move(curves);
  context.report(std::move(table));
  if (small.x.size() >= 2) context.report(per_gib(probe, small));
}

// thread.create

void* end_at_once(void*) { return nullptr; }

void run_thread_create(const Probe& probe, ProbeContext& context) {
  require_this_machine(context);
  context.progress(0);
  core::Series series =
      core::measure(probe.name, core::repeat([] {
                      pthread_t thread;
                      const int error = pthread_create(&thread, nullptr, end_at_once, nullptr);
                      if (error != 0) throw core::SystemError("pthread_create", "a thread", error);
                      pthread_join(thread, nullptr);
                    }),
                    one_at_a_time(context.budget_seconds()));
  context.progress(1);
  Result result = probe.result();
  result.details["thread"] = "ends at once; default stack; not bound";
  set_samples(result, std::move(series.samples));
  context.report(std::move(result));
}

// page_fault.rate

// Collects samples until the budget is spent, at least 7. The setup of a sample is not part of it,
// which core::measure cannot leave out.
std::vector<double> sample_for(double budget_seconds, const std::function<double()>& sample,
                               const std::function<void(double)>& progress) {
  constexpr std::size_t kAtLeast = 7, kAtMost = 2000;
  core::Clock& clock = core::tick_clock();
  std::vector<double> samples;
  sample();
  const double begin = clock.now();
  double spent = 0;
  while (samples.size() < kAtLeast || (spent < budget_seconds && samples.size() < kAtMost)) {
    progress(budget_seconds > 0 ? std::min(1.0, spent / budget_seconds) : 1.0);
    samples.push_back(sample());
    spent = clock.now() - begin;
  }
  return samples;
}

// Pages a second that one thread of each PU touches for the first time, all at once.
double first_touch_rate(core::PinnedPool& pool, std::size_t bytes_each) {
  core::Clock& clock = core::tick_clock();
  std::vector<core::Region> regions;
  for (std::size_t i = 0; i < pool.size(); ++i) {
    regions.emplace_back(bytes_each, pages_of(core::PageSize::small));
  }
  std::vector<double> begin(pool.size()), end(pool.size());
  pool.run([&](std::size_t i) {
    begin[i] = clock.now();
    touch_pages({regions[i].data(), regions[i].size()});
    end[i] = clock.now();
  });
  const double seconds =
      *std::max_element(end.begin(), end.end()) - *std::min_element(begin.begin(), begin.end());
  const std::size_t pages = bytes_each / core::page_bytes() * pool.size();
  return static_cast<double>(pages) / seconds;
}

// progress of the probe runs from `from` to `to`.
Result page_fault_result(const Probe& probe, ProbeContext& context, std::span<const unsigned> pus,
                         std::size_t pages_wanted, double from, double to) {
  const double allowance =
      memory_allowance() / static_cast<double>(core::page_bytes() * pus.size());
  const std::size_t pages = std::min(pages_wanted, static_cast<std::size_t>(allowance));
  if (pages == 0) throw NotHere("there is no memory to touch");
  core::PinnedPool pool(pus);
  std::vector<double> samples = sample_for(
      context.budget_seconds() * (to - from),
      [&] { return first_touch_rate(pool, pages * core::page_bytes()); },
      [&](double done) { context.progress(from + done * (to - from)); });
  Result result = probe.result();
  result.details["threads"] = pus.size();
  result.details["pages_per_thread"] = pages;
  result.details[detail::kPageBytes] = core::page_bytes();
  set_samples(result, std::move(samples));
  return result;
}

void run_page_faults(const Probe& probe, ProbeContext& context) {
  require_this_machine(context);
  const std::size_t pages = context.quick() ? 1024 : 4096;
  const unsigned home = home_pu(context);
  context.report(page_fault_result(probe, context, std::span(&home, 1), pages, 0, 0.5));
  const std::vector<unsigned> all = context.topology().pu_os_indices();
  Result machine = page_fault_result(probe, context, all, pages, 0.5, 1);
  machine.name += ".machine";
  machine.what = "First touch of base pages, threads of one process on all PUs at once";
  context.report(std::move(machine));
  context.progress(1);
}

Probe probe_of(std::string name, std::string what, std::string unit, Better better, double seconds,
               double quick_seconds, void (*run)(const Probe&, ProbeContext&)) {
  Probe probe;
  probe.name = std::move(name);
  probe.what = std::move(what);
  probe.unit = std::move(unit);
  probe.better = better;
  probe.seconds = seconds;
  probe.quick_seconds = quick_seconds;
  probe.run = run;
  return probe;
}

}  // namespace

std::vector<Probe> process_probes(const core::Topology&) {
  return {probe_of("fork.cost", "Fork of this process, its child's exit and the wait for it", "s",
                   Better::lower, 6, 0.6, run_fork),
          probe_of("thread.create", "Creating a thread that ends at once, and joining it", "s",
                   Better::lower, 0.5, 0.1, run_thread_create),
          probe_of("page_fault.rate",
                   "First touch of base pages by one thread, each page zeroed by the kernel",
                   "pages/s", Better::higher, 1, 0.2, run_page_faults)};
}

}  // namespace tabane::lab
