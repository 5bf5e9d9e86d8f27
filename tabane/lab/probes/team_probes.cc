// fork.tree: starting and joining many processes that share memory, by a tree of forks.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tabane/core/cgroup.h"
#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/memory.h"
#include "tabane/core/units.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/probes/common.h"
#include "tabane/team/fork.h"

namespace tabane::lab {
namespace {

using core::kMiB;
constexpr int kFewest = 8, kMost = 32;
constexpr std::size_t kLeastRounds = 2, kMostRounds = 40;  // in one pass

using team::ForkOrder;

// Forks what the process has to fork and waits for it. Returns the worst exit status.
int live(int self, int processes, ForkOrder order) {
  std::vector<pid_t> children;
  for (const int child : team::children_of(self, processes, order))
    children.push_back(team::fork_child([=] { return live(child, processes, order); }));
  int worst = 0;
  for (const pid_t child : children) worst = std::max(worst, team::wait_for_child(child));
  return worst;
}

// Seconds until all processes were there and are gone.
double start_and_join(int processes, ForkOrder order) {
  int status = 0;
  const double seconds = time_of([&] {
    status = team::wait_for_child(team::fork_child([=] { return live(0, processes, order); }));
  });
  if (status != 0)
    throw NotHere("the system refuses to fork " + std::to_string(processes) + " processes");
  return seconds;
}

// The same work whatever the number of processes: a page copied for each of them.
std::size_t bytes_to_hold(int processes, bool quick) {
  const auto usable = core::usable_memory_bytes();
  if (!usable) throw NotHere("the system does not tell how much memory is available");
  const std::size_t wanted = (quick ? 512 : 2048) * kMiB / static_cast<std::size_t>(processes);
  const auto allowed = static_cast<std::size_t>(*usable / 6) / kMiB * kMiB;
  if (allowed == 0) throw NotHere("there is no memory to hold");
  return std::min(wanted, allowed);
}

// Memory that is touched once in a survey, as fresh pages may be slow to get; forks copy it only
// while they are measured.
class Held {
 public:
  Held(ProbeContext& context, const char* key, std::size_t bytes, core::PageSize pages)
      : region_(context.memory().keep<core::Region>(key, [&] {
          core::Region made(bytes, {.pages = pages});
          made.touch();
          return made;
        })) {
    region_.copy_on_fork(true);
  }
  ~Held() { region_.copy_on_fork(false); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  const core::Region& region() const { return region_; }

 private:
  core::Region& region_;
};

struct Orders {
  std::vector<double> serial, tree;  // seconds, in turn
};

Orders measure_orders(int processes, double budget_seconds,
                      const std::function<void(double)>& progress) {
  Orders orders;
  core::Clock& clock = core::tick_clock();
  start_and_join(processes, ForkOrder::tree);
  const double begin = clock.now();
  double spent = 0;
  while (orders.tree.size() < kLeastRounds ||
         (spent < budget_seconds && orders.tree.size() < kMostRounds)) {
    const double least = static_cast<double>(orders.tree.size()) / kLeastRounds;
    progress(std::min({1.0, least, budget_seconds > 0 ? spent / budget_seconds : 1.0}));
    orders.serial.push_back(start_and_join(processes, ForkOrder::serial));
    orders.tree.push_back(start_and_join(processes, ForkOrder::tree));
    spent = clock.now() - begin;
  }
  return orders;
}

Result below(const Probe& probe, std::string name, std::string what, std::vector<double> samples) {
  Result result = probe.result(std::move(samples), Json::object());
  result.name += std::move(name);
  result.what = std::move(what);
  return result;
}

// Null if the system gave no huge pages.
std::optional<Result> with_huge_pages(const Probe& probe, ProbeContext& context, int processes,
                                      std::size_t bytes) {
  if (!core::huge_pages_possible() || core::huge_page_bytes() == 0) return {};
  const Held held(context, "fork.tree.huge", bytes, core::PageSize::huge);
  if (held.region().huge_bytes().value_or(0) < bytes / 10 * 9) return {};
  std::vector<double> samples;
  start_and_join(processes, ForkOrder::tree);
  for (std::size_t i = 0; i < kLeastRounds; ++i)
    samples.push_back(start_and_join(processes, ForkOrder::tree));
  return below(probe, ".huge_pages", "The same while the memory held is in huge pages",
               std::move(samples));
}

void run_tree(const Probe& probe, ProbeContext& context) {
  require_this_machine(context);
  const int pus = static_cast<int>(context.topology().pus().size());
  const int processes = std::clamp(2 * pus, kFewest, kMost);
  const std::size_t& bytes = context.memory().keep<std::size_t>(
      "fork.tree", [&] { return bytes_to_hold(processes, context.quick()); });
  const auto report = [&](Result result) {
    result.details["processes"] = processes;
    result.details["held_bytes"] = bytes;
    context.report(std::move(result));
  };
  context.progress(0);
  const Orders orders = [&] {
    const Held held(context, "fork.tree.small", bytes, core::PageSize::small);
    return measure_orders(processes, 0.8 * context.budget_seconds(),
                          [&](double done) { context.progress(0.9 * done); });
  }();
  std::vector<double> ratios;
  for (std::size_t i = 0; i < orders.tree.size(); ++i)
    ratios.push_back(orders.serial[i] / orders.tree[i]);
  report(probe.result(orders.tree, Json::object()));
  report(below(probe, ".serial", "The same when one process forks all others", orders.serial));
  Result gain = below(probe, ".gain", "Serial time over tree time", std::move(ratios));
  gain.unit = "ratio";
  gain.better = Better::higher;
  report(std::move(gain));
  context.progress(0.9);
  if (auto huge = with_huge_pages(probe, context, processes, bytes)) report(std::move(*huge));
}

}  // namespace

std::vector<Probe> team_probes(const core::Topology&) {
  return {{.name = "fork.tree",
           .what = "Start and join of several processes by a tree of forks, while memory is held "
                   "in base pages",
           .unit = "s",
           .better = Better::lower,
           .version = 2,
           .seconds = {5, 1},
           .run = run_tree}};
}

}  // namespace tabane::lab
