// What the threads of a command wait for, from looks at undisturbed runs.
#include <algorithm>
#include <cmath>
#include <functional>

#include "tabane/core/statistics.h"
#include "tabane/tools/explain/conclude.h"

namespace tabane::lab::explain {
namespace {

constexpr std::size_t kFewestLooks = 10;
constexpr double kWorker = 0.02;  // of the busiest thread's looks, from which on a thread counts
constexpr double kAlone = 0.9;    // of its looks, from which on it does not work with others

bool is_with_others(const ThreadSeen& thread) {
  return thread.alone < kAlone * thread.looks.wanting();
}

// Those with much to do, the one that is alone most often first.
std::vector<ThreadSeen> workers_of(const Observed& observed) {
  int most = 1;
  for (const ThreadSeen& thread : observed.threads) most = std::max(most, thread.looks.wanting());
  std::vector<ThreadSeen> workers = observed.threads;
  std::erase_if(workers, [&](const auto& each) {
    return each.looks.wanting() < std::max(1.0, kWorker * most);
  });
  std::ranges::stable_sort(workers, std::greater(), &ThreadSeen::alone);
  return workers;
}

// How many threads can work at once: those of a team, without one that only works before or after
// it. Where most are seldom with others, as with a lock that they hold in turn, all with as much to
// do. Of a pool of many short processes, the number that a tenth of the looks reach.
double width_of(const Observed& observed, const std::vector<ThreadSeen>& workers, int pus) {
  if (std::ssize(workers) <= pus) {
    const auto together = std::ranges::count_if(workers, is_with_others);
    if (2 * together > std::ssize(workers)) return static_cast<double>(together);
    int most = 0;
    for (const ThreadSeen& thread : workers) most = std::max(most, thread.looks.wanting());
    const auto alike = std::ranges::count_if(
        workers, [&](const ThreadSeen& thread) { return 2 * thread.looks.wanting() >= most; });
    return std::max(1.0, static_cast<double>(alike));
  }
  std::vector<double> wanting;
  for (const Moment& moment : observed.moments)
    if (moment.threads.wanting() > 0) wanting.push_back(moment.threads.wanting());
  return wanting.empty() ? 1 : std::clamp(core::quantile(wanting, 0.9), 1.0, double(pus));
}

// Divides what is lost because fewer threads work than could: between one that always works alone,
// threads with unequal work, and the rest, in which equal threads wait for each other in turn, or
// in which there is nothing to do. at_locks: the part in which some thread waits for another.
void divide(double lost, double at_locks, const Observed& observed,
            const std::vector<ThreadSeen>& workers, Waits& waits) {
  if (workers.empty()) return;
  const double step = (observed.moments.back().seconds - observed.moments.front().seconds) /
                      std::max(1, waits.looks - 1);
  // In looks; what the system counted is more exact.
  const auto work_of = [&](const ThreadSeen& worker) {
    return worker.cpu_seconds > 0 && step > 0 ? worker.cpu_seconds / step : worker.looks.wanting();
  };
  std::vector<double> work;
  for (std::size_t i = 1; i < workers.size(); ++i) work.push_back(work_of(workers[i]));
  const int second = workers.size() > 1 ? workers[1].alone : 0;
  double alone = workers[0].alone - second;  // who hold a lock in turn are alike
  if ((is_with_others(workers[0]) || 2 * second >= workers[0].alone) && !work.empty())
    alone = std::clamp(work_of(workers[0]) - core::mean(work), 0.0, alone);
  const double serial = std::min(lost, alone / waits.looks * (waits.width - 1) / waits.width);
  // Were the rest of the work equal, all would end with the mean. Of a pool of processes, each with
  // one task, nothing follows.
  if (const double own = work_of(workers[0]) - alone; own > 0) work.push_back(own);
  const bool team = static_cast<double>(work.size()) <= waits.width + 1;
  const double uneven =
      team && !work.empty() ? (std::ranges::max(work) - core::mean(work)) / waits.looks : 0;
  waits(Kind::imbalance) = std::min(lost - serial, uneven);
  waits(Kind::locks) = std::min(lost - serial - waits(Kind::imbalance), at_locks);
  waits(Kind::serial) = lost - waits(Kind::imbalance) - waits(Kind::locks);
}

// What a moment is lost to in which no thread runs.
std::optional<Kind> waited_for(const Looks& threads) {
  // The other end of a pipe may be one of the command's own processes, which waits for something
  // else; only if none does, nobody else says why.
  constexpr std::pair<Doing, Kind> kAsleep[] = {{Doing::disk, Kind::disk},
                                                {Doing::network, Kind::network},
                                                {Doing::sleep, Kind::sleep},
                                                {Doing::pipe, Kind::pipe}};
  if (threads.wanting() > 0) return std::nullopt;
  for (const auto& [doing, kind] : kAsleep)
    if (threads(doing) > 0) return kind;
  return std::nullopt;
}

}  // namespace

std::optional<Waits> waits_of(const Observed& observed, int pus) {
  if (observed.moments.size() < kFewestLooks) return std::nullopt;
  const std::vector<ThreadSeen> workers = workers_of(observed);
  Waits waits{.width = width_of(observed, workers, pus),
              .looks = static_cast<int>(observed.moments.size())};
  const double look = 1.0 / waits.looks;
  double lost = 0, at_locks = 0;
  for (const auto& [seconds, threads] : observed.moments) {
    const double wanting = threads.wanting();
    if (wanting > 0) waits(Kind::others) += threads(Doing::runnable) / wanting * look;
    if (const auto kind = waited_for(threads)) {
      waits(*kind) += look;
    } else if (wanting > 0 || threads(Doing::lock) > 0) {
      waits.busy += look;
      const double idle = std::max(0.0, waits.width - wanting) / waits.width * look;
      lost += idle;
      if (threads(Doing::lock) > 0) at_locks += idle;
    }
  }
  // One look keeps a PU busy, too; what all threads used is more exact.
  const double used = observed.user + observed.system;
  if (waits.width > 1 && lost > 0 && used > 0 && !observed.seconds.empty()) {
    const double idle = 1 - used / core::median(observed.seconds) / waits.width;
    const double exact = std::clamp(idle - (1 - waits.busy) - waits(Kind::others), 0.0, 1.0);
    at_locks *= exact / lost;
    lost = exact;
  }
  divide(lost, at_locks, observed, workers, waits);
  return waits;
}

}  // namespace tabane::lab::explain
