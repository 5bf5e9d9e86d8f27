#include "tabane/tools/explain/waits.h"

#include <algorithm>
#include <cmath>

#include "tabane/core/statistics.h"

namespace tabane::lab::explain {
namespace {

constexpr std::size_t kFewestLooks = 10;
constexpr double kWorker = 0.02;  // of the busiest thread's looks, from which on a thread counts
constexpr double kAlone = 0.9;    // of its looks, from which on it does not work with others

int wants(const Moment& moment) { return moment(Doing::running) + moment(Doing::runnable); }
double wants(const ThreadSeen& thread) { return thread(Doing::running) + thread(Doing::runnable); }

bool is_with_others(const ThreadSeen& thread) { return thread.alone < kAlone * wants(thread); }

// Those with much to do, the one that is alone most often first.
std::vector<const ThreadSeen*> workers_of(const Observed& observed) {
  double most = 0;
  for (const ThreadSeen& thread : observed.threads) most = std::max(most, wants(thread));
  std::vector<const ThreadSeen*> workers;
  for (const ThreadSeen& thread : observed.threads)
    if (wants(thread) > 0 && wants(thread) >= kWorker * most) workers.push_back(&thread);
  std::ranges::stable_sort(workers, std::greater(), &ThreadSeen::alone);
  return workers;
}

// How many threads can work at once: those of a team, without one that only works before or after
// it. Of a pool of many short processes, the number that a tenth of the looks reach.
double width_of(const Observed& observed, int pus) {
  const std::vector<const ThreadSeen*> workers = workers_of(observed);
  if (workers.size() <= static_cast<std::size_t>(pus)) {
    const auto together =
        std::ranges::count_if(workers, [](auto* thread) { return is_with_others(*thread); });
    return std::max(1.0, static_cast<double>(together > 0 ? together : std::ssize(workers)));
  }
  std::vector<double> wanting;
  for (const Moment& moment : observed.moments)
    if (wants(moment) > 0) wanting.push_back(wants(moment));
  return wanting.empty() ? 1 : std::clamp(core::quantile(wanting, 0.9), 1.0, double(pus));
}

// Divides what is lost because fewer threads work than could: between one that always works alone,
// threads with unequal work, and the rest, in which equal threads wait for each other in turn, or
// in which there is nothing to do. at_locks: the part in which some thread waits for another.
void divide(double lost, double at_locks, const Observed& observed, Waits& waits) {
  const double looks = static_cast<double>(observed.moments.size());
  const std::vector<const ThreadSeen*> workers = workers_of(observed);
  if (workers.empty()) return;
  const double step = (observed.moments.back().seconds - observed.moments.front().seconds) /
                      std::max(1.0, looks - 1);
  // In looks; what the system counted is more exact.
  const auto work_of = [&](const ThreadSeen& worker) {
    return worker.cpu_seconds > 0 && step > 0 ? worker.cpu_seconds / step : wants(worker);
  };
  std::vector<double> work;
  for (std::size_t i = 1; i < workers.size(); ++i) work.push_back(work_of(*workers[i]));
  const double second = workers.size() > 1 ? workers[1]->alone : 0;
  double alone = workers[0]->alone - second;  // who hold a lock in turn are alike
  if (is_with_others(*workers[0]) && !work.empty())
    alone = std::clamp(work_of(*workers[0]) - core::mean(work), 0.0, alone);
  const double serial = std::min(lost, alone / looks * (waits.width - 1) / waits.width);
  // Were the rest of the work equal, all would end with the mean. Of a pool of processes, each with
  // one task, nothing follows.
  if (const double own = work_of(*workers[0]) - alone; own > 0) work.push_back(own);
  const bool team = static_cast<double>(work.size()) <= waits.width + 1;
  const double uneven =
      team && !work.empty() ? (std::ranges::max(work) - core::mean(work)) / looks : 0;
  waits.imbalance = std::min(lost - serial, uneven);
  const double rest = lost - serial - waits.imbalance;
  waits.locks += std::min(rest, at_locks);
  waits.serial = serial + rest - std::min(rest, at_locks);
}

}  // namespace

std::optional<Waits> waits_of(const Observed& observed, int pus) {
  const double looks = static_cast<double>(observed.moments.size());
  if (observed.moments.size() < kFewestLooks) return std::nullopt;
  Waits waits{.width = width_of(observed, pus), .looks = looks};
  double lost = 0, at_locks = 0;
  for (const Moment& moment : observed.moments) {
    const double wanting = wants(moment);
    if (wanting > 0) waits.others += moment(Doing::runnable) / wanting / looks;
    // The other end of a pipe may be one of the command's own processes, which works, or waits for
    // something else; only if none does, nobody else says why.
    const bool elsewhere = moment(Doing::disk) + moment(Doing::network) + moment(Doing::sleep) > 0;
    const bool pipe = moment(Doing::pipe) > 0 && (wanting == 1 || (wanting == 0 && !elsewhere));
    if (pipe) {
      waits.pipe += 1 / looks;
    } else if (wanting == 0 && moment(Doing::disk) > 0) {
      waits.disk += 1 / looks;
    } else if (wanting == 0 && moment(Doing::network) > 0) {
      waits.network += 1 / looks;
    } else if (wanting == 0 && moment(Doing::sleep) > 0) {
      waits.sleep += 1 / looks;
    } else if (wanting > 0 || moment(Doing::lock) > 0) {
      waits.busy += 1 / looks;
      const double idle = std::max(0.0, waits.width - wanting) / waits.width / looks;
      lost += idle;
      if (moment(Doing::lock) > 0) at_locks += idle;
    }
  }
  // One look keeps a PU busy, too; what all threads used is more exact.
  const double used = observed.user + observed.system;
  if (waits.width > 1 && lost > 0 && used > 0 && !observed.seconds.empty()) {
    const double idle = 1 - used / core::median(observed.seconds) / waits.width;
    const double exact = std::clamp(idle - (1 - waits.busy) - waits.others, 0.0, 1.0);
    at_locks *= exact / lost;
    lost = exact;
  }
  divide(lost, at_locks, observed, waits);
  return waits;
}

}  // namespace tabane::lab::explain
