// fork.cost, thread.create, page_fault.rate: what new processes, threads and fresh pages cost.
#include <fmt/format.h>
#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tabane/core/binding.h"
#include "tabane/core/cgroup.h"
#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/fit.h"
#include "tabane/core/memory.h"
#include "tabane/core/system_files.h"
#include "tabane/core/threads.h"
#include "tabane/core/units.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/probes/common.h"
#include "tabane/lab/record/text.h"
#include "tabane/team/fork.h"

namespace tabane::lab {
namespace {

using core::kMiB;
constexpr std::size_t kGiB = std::size_t{1} << 30;

// One iteration an epoch, a few in a pass.
core::MeasureOptions one_at_a_time(double budget_seconds) {
  return {.budget_seconds = budget_seconds,
          .min_epochs = 3,
          .warmup_epochs = 1,
          .single_iteration = true,
          .most_tries = 1};  // the caller waits for its child
}

void touch_pages(std::span<std::byte> bytes) {
  const std::size_t page = core::page_bytes();
  for (std::size_t i = 0; i < bytes.size(); i += page)
    *static_cast<volatile std::byte*>(&bytes[i]) = std::byte{1};
}

// fork.cost

core::Series measure_fork(double budget_seconds) {
  return core::measure(
      "fork", core::repeat([] { team::wait_for_child(team::fork_child([] { return 0; })); }),
      one_at_a_time(budget_seconds));
}

std::vector<std::size_t> sizes_up_to(double largest) {
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = 2 * kMiB; static_cast<double>(bytes) <= largest; bytes *= 4)
    sizes.push_back(bytes);
  return sizes;
}

// Memory in one piece for each size, touched once in a survey; forks copy none of it but while it
// is measured. The pieces up to one size together are that size.
class HeldMemory {
 public:
  HeldMemory(const std::vector<std::size_t>& sizes, core::PageSize pages) {
    std::size_t before = 0;
    for (const std::size_t size : sizes) {
      pieces_.emplace_back(size - before, core::MemoryOptions{.pages = pages});
      touch_pages({pieces_.back().data(), pieces_.back().size()});
      pieces_.back().copy_on_fork(false);
      before = size;
    }
  }
  bool mostly_huge(std::size_t piece) const {
    const core::Region& region = pieces_[piece];
    return region.huge_bytes().value_or(0) >= region.size() / 10 * 9;
  }
  // f(size index) with the pieces up to it copied by forks, ascending; in the end none is.
  void with_more_and_more(auto f) {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      pieces_[i].copy_on_fork(true);
      f(i);
    }
    for (core::Region& piece : pieces_) piece.copy_on_fork(false);
  }

 private:
  std::vector<core::Region> pieces_;
};

struct ForkPlan {
  std::vector<std::size_t> sizes;
  double seconds_each = 0;
  std::function<void()> point_begins;  // may throw Stopped
};

// Times forks while the process holds more and more memory. Ends early, with a remark, where the
// system gave no huge pages.
Curve fork_curve(HeldMemory& memory, bool huge, std::string name, const ForkPlan& plan,
                 std::string& remark) {
  Curve curve{.name = std::move(name)};
  memory.with_more_and_more([&](std::size_t i) {
    plan.point_begins();
    if (huge && !memory.mostly_huge(i)) {
      remark = "the system did not give huge pages for " + core::format_bytes(plan.sizes[i]);
      return;
    }
    if (!remark.empty()) return;
    add_point(curve, static_cast<double>(plan.sizes[i]), measure_fork(plan.seconds_each).samples);
  });
  return curve;
}

// Seconds for every GiB held, from the slope of t = t0 + slope * bytes. Without a value, and with
// the reason, if time does not grow with the memory held.
Result per_gib(const Probe& probe, const Curve& curve) {
  // Relative residuals: the sizes span decades, and the largest must not decide alone.
  const core::LineFit fit = core::fit_line(curve.x, curve.y, core::FitWeight::relative);
  const auto gib = static_cast<double>(kGiB);
  Result result = probe.result();
  result.name += ".per_gib";
  result.what = "Added to a fork, its child's exit and the wait by every GiB held in base pages";
  result.unit = "s/GiB";
  if (fit.slope > 0)
    result.value = fit.slope * gib;
  else
    result.reason = "in this pass the time of a fork did not grow with the memory held";
  result.details = {
      {"from", "slope of a line through the curve \"" + curve.name + "\" of fork.cost"},
      {"fitted_smallest_s", fit.intercept},
      {"worst_relative_residual", fit.worst_relative_residual}};
  return result;
}

Result smallest_fork(const Probe& probe, double budget_seconds) {
  core::Series series = measure_fork(budget_seconds);
  const auto resident = core::SystemFiles().field_number("/proc/self/status", "VmRSS");
  return probe.result(
      std::move(series.samples),
      {{"own_resident_bytes", resident ? Json(static_cast<std::uint64_t>(*resident)) : Json()},
       {"child", "ends at once"}});
}

void run_fork(const Probe& probe, ProbeContext& context) {
  require_this_machine(context);
  struct Held {
    std::vector<std::size_t> sizes;
    double allowance = 0;
    std::unique_ptr<HeldMemory> small, huge;
  };
  Held& held = context.memory().keep<Held>("fork.cost", [&] {
    Held made;
    made.allowance = memory_allowance();
    const double wanted = static_cast<double>(context.quick() ? 256 * kMiB : 2 * kGiB);
    made.sizes = sizes_up_to(std::min(wanted, made.allowance));
    if (made.sizes.empty()) return made;
    made.small = std::make_unique<HeldMemory>(made.sizes, core::PageSize::small);
    if (core::huge_pages_possible() && core::huge_page_bytes() > 0)
      made.huge = std::make_unique<HeldMemory>(made.sizes, core::PageSize::huge);
    return made;
  });
  ForkPlan plan;
  plan.sizes = held.sizes;
  const double points = static_cast<double>(2 * plan.sizes.size() + 1);
  plan.seconds_each = context.budget_seconds() / points;
  double begun = 0;
  plan.point_begins = [&] { context.progress(std::min(1.0, begun++ / points)); };

  context.progress(0);
#ifdef __GLIBC__
  malloc_trim(0);  // what the allocator keeps is none of a small program's pages
#endif
  context.report(smallest_fork(probe, plan.seconds_each));
  if (!held.small) return;

  std::string remark;
  Curves curves{{"resident memory of the parent", "B", true}, {"time of a fork", "s", true}, {}};
  curves.series.push_back(fork_curve(*held.small, false, base_pages(), plan, remark));
  if (held.huge) {
    Curve huge = fork_curve(*held.huge, true, "huge pages", plan, remark);
    if (!huge.x.empty()) curves.series.push_back(std::move(huge));
  } else {
    remark = "the system has no transparent huge pages or does not grant them";
  }
  const Curve small = curves.series.front();
  context.report(
      {.name = probe.name,
       .title = "Cost of a fork over resident memory",
       .version = probe.version,
       .details = {{detail::kRemark, remark.empty() ? Json() : Json(remark)},
                   {"memory_allowance_bytes", static_cast<std::uint64_t>(held.allowance)},
                   {"base_page_bytes", core::page_bytes()},
                   {"huge_page_bytes", core::huge_page_bytes()}},
       .content = std::move(curves)},
      describe_fork_cost);
  if (small.x.size() >= 2) context.report(per_gib(probe, small));
}

// thread.create

void* end_at_once(void*) { return nullptr; }

// On one PU with its parent: elsewhere it takes as long as an idle PU needs to wake, 8 or 50 us on
// one and the same virtual machine.
void run_thread_create(const Probe& probe, ProbeContext& context) {
  require_this_machine(context);
  context.progress(0);
  const core::ScopedBinding binding(home_pu(context));
  core::Series series =
      core::measure(probe.name, core::repeat([] {
                      pthread_t thread;
                      const int error = pthread_create(&thread, nullptr, end_at_once, nullptr);
                      if (error != 0) throw core::SystemError("pthread_create", "a thread", error);
                      pthread_join(thread, nullptr);
                    }),
                    one_at_a_time(context.budget_seconds()));
  context.report(
      probe.result(std::move(series.samples),
                   {{"thread", "ends at once; default stack; on the PU of its parent"}}));
}

// page_fault.rate

// Collects samples until the budget is spent, at least 7. The setup of a sample is not part of it,
// which core::measure cannot leave out.
std::vector<double> sample_for(double budget_seconds, const std::function<double()>& sample,
                               const std::function<void(double)>& progress) {
  constexpr std::size_t kAtLeast = 4, kAtMost = 500;
  core::Clock& clock = core::tick_clock();
  std::vector<double> samples;
  // Pages that were just given back are given again: later samples see the same ones, which a
  // virtual machine's host need not find first.
  for (int warm_up = 0; warm_up < 3; ++warm_up) sample();
  const double begin = clock.now();
  double spent = 0;
  while (samples.size() < kAtLeast || (spent < budget_seconds && samples.size() < kAtMost)) {
    progress(budget_seconds > 0 ? std::min(1.0, spent / budget_seconds) : 1.0);
    samples.push_back(sample());
    spent = clock.now() - begin;
  }
  return samples;
}

// Memory that the threads of a pool touch for the first time, again and again. Each gives its own
// back and takes new, so that pages stay with the PU whose lists they are on.
class FreshMemory {
 public:
  FreshMemory(std::span<const unsigned> pus, std::size_t bytes_each)
      : pool_(pus), bytes_(bytes_each), regions_(pus.size()) {}

  // Pages a second, all threads at once.
  double rate() {
    pool_.run([&](std::size_t i) {
      regions_[i].reset();
      regions_[i].emplace(bytes_, core::MemoryOptions{.pages = core::PageSize::small});
    });
    const core::TogetherTime time = core::time_together(pool_, pool_.size(), [&](std::size_t i) {
      touch_pages({regions_[i]->data(), regions_[i]->size()});
    });
    return static_cast<double>(bytes_ / core::page_bytes() * pool_.size()) / time.seconds;
  }

 private:
  core::PinnedPool pool_;
  std::size_t bytes_;
  std::vector<std::optional<core::Region>> regions_;
};

// progress of the probe runs from `from` to `to`.
Result page_fault_result(const Probe& probe, ProbeContext& context, std::span<const unsigned> pus,
                         std::size_t pages_wanted, double from, double to) {
  const double allowance =
      memory_allowance() / static_cast<double>(core::page_bytes() * pus.size());
  const std::size_t pages = std::min(pages_wanted, static_cast<std::size_t>(allowance));
  if (pages == 0) throw NotHere("there is no memory to touch");
  FreshMemory memory(pus, pages * core::page_bytes());
  std::vector<double> samples = sample_for(
      context.budget_seconds() * (to - from), [&] { return memory.rate(); },
      [&](double done) { context.progress(from + done * (to - from)); });
  return probe.result(std::move(samples), {{"threads", pus.size()},
                                           {"pages_per_thread", pages},
                                           {detail::kPageBytes, core::page_bytes()}});
}

void run_page_faults(const Probe& probe, ProbeContext& context) {
  require_this_machine(context);
  constexpr std::size_t pages = 1024;
  const unsigned home = home_pu(context);
  context.report(page_fault_result(probe, context, std::span(&home, 1), pages, 0, 0.5));
  const std::vector<unsigned> all = context.topology().pu_os_indices();
  Result machine = page_fault_result(probe, context, all, pages, 0.5, 1);
  machine.name += ".machine";
  machine.what = "First touch of base pages, threads of one process on all PUs at once";
  context.report(std::move(machine));
}

}  // namespace

void describe_fork_cost(View& view, const Record&) {
  auto& curves = std::get<Curves>(view.content);
  if (!keep_drawable(curves)) return;
  const std::string& unit = curves.y.unit;
  std::vector<std::string> parts;
  for (const Curve& curve : curves.series) {
    if (curve.x.size() < 2) continue;
    std::string part =
        fmt::format("{}ith {} a fork takes {} at {} and {} at {}", parts.empty() ? "W" : "w",
                    curve.name, show(curve.y.front(), unit), show(curve.x.front(), "B"),
                    show(curve.y.back(), unit), show(curve.x.back(), "B"));
    // The same line as that of the result fork.cost.per_gib.
    const core::LineFit fit = core::fit_line(curve.x, curve.y, core::FitWeight::relative);
    if (fit.slope > 0)
      part +=
          fmt::format(" ({} per GiB, fitted to all points)", show(fit.slope * 1073741824, unit));
    parts.push_back(std::move(part));
  }
  view.note = fmt::format("{}. A fork copies page tables.", fmt::join(parts, "; "));
}

std::vector<Probe> process_probes(const core::Topology&) {
  return {
      {.name = "fork.cost",
       .what = "Fork of tabane itself, with its libraries and data, its child's exit and the wait",
       .unit = "s",
       .better = Better::lower,
       .version = 2,
       .seconds = {6, 1.5},
       .run = run_fork},
      {.name = "thread.create",
       .what = "Creating a thread that ends at once, and joining it",
       .unit = "s",
       .better = Better::lower,
       .version = 3,
       .seconds = {0.5, 0.1},
       .run = run_thread_create},
      {.name = "page_fault.rate",
       .what = "First touch of base pages by one thread, each page zeroed by the kernel",
       .unit = "pages/s",
       .better = Better::higher,
       .version = 2,
       .seconds = {1, 0.2},
       .run = run_page_faults}};
}

}  // namespace tabane::lab
