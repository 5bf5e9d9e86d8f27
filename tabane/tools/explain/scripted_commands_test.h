// Commands whose causes are known, as laws: what a run takes and what is seen of it follows from
// the shares, with noise of a fixed seed. No clock.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "tabane/core/random.h"
#include "tabane/tools/explain/conclude.h"

namespace tabane::lab::explain {

inline constexpr double kMiB = 1024 * 1024;

struct ScriptedCommand {
  // Shares of the time of one thread; what is missing to 1 is computing.
  std::map<Kind, double> shares = {};
  double set_bytes = 0;           // of the shared cache
  bool in_order = false;          // runs through its set; else each place is equally likely
  double memory_over_cache = 12;  // without the cache
  // Not as the laws of explain have it: parts of its computing also stream, below the bandwidth
  // that there is; some parts of its set are used more than others; its loads overlap.
  bool unlike_laws = false;
  // Of a team: work that one thread does, a share of the work of one; the work of each thread
  // relative to the mean; the share of each thread's time that it waits for others.
  int threads = 1;
  double serial = 0;
  std::vector<double> work = {};  // empty: equal
  double locks = 0;

  double share(Kind kind) const {
    const auto found = shares.find(kind);
    return found == shares.end() ? 0 : found->second;
  }
  double computing() const {
    double rest = 1;
    for (const auto& [kind, share] : shares) rest -= share;
    return rest;
  }
  double unevenness(int n) const {
    return n == 1 || work.empty() ? 1 : *std::ranges::max_element(work);
  }
  // Time with n threads over that with one.
  double team_time(int n) const {
    return serial + (1 - serial) / n * unevenness(n) / (n > 1 ? 1 - locks : 1);
  }
  // The share of each cause as it is defined: what goes away without it.
  std::map<Kind, double> truth() const {
    std::map<Kind, double> all = shares;
    double rest = computing();
    if (threads > 1) {
      const double time = team_time(threads);
      const double part = (time - serial) / time;  // in which all may work
      all[Kind::serial] = serial / time * (1 - 1.0 / threads);
      all[Kind::imbalance] = part * (1 - 1 / unevenness(threads));
      all[Kind::locks] = part / unevenness(threads) * locks;
      rest -= all[Kind::serial] + all[Kind::imbalance] + all[Kind::locks];
    }
    all[Kind::computing] = rest;
    return all;
  }
};

struct ScriptedMachine {
  double cache = 32 * kMiB;
  double memory_over_cache = 12;    // of our own chase
  bool thieves_take_cache = false;  // those of bandwidth
  double noise = 0.03;              // of each run
  double calibration = 0;           // relative error of what thieves of bandwidth take
};

// What a run takes with u times the time for bandwidth, loads l times as long, and so much cache.
inline double memory_time(const ScriptedCommand& command, double u, double l, double left) {
  double gone = 0;
  if (command.set_bytes > 0)
    gone = command.in_order ? (left < command.set_bytes ? 1 : 0)
                            : std::clamp(1 - left / command.set_bytes, 0.0, 1.0);
  double computing = command.computing();
  if (command.unlike_laws) {
    computing *= (std::max(1.0, u / 2) + std::max(1.0, u / 4) + 2) / 4;
    if (!command.in_order) gone = std::pow(gone, 1.5);
    l = std::pow(l, 0.9);
  }
  double time = computing + command.share(Kind::bandwidth) * u + command.share(Kind::latency) * l +
                command.share(Kind::cache) *
                    (1 - gone + gone * command.memory_over_cache * (gone > 0 ? l : 1));
  for (const Kind kind : {Kind::faults, Kind::disk, Kind::pipe}) time += command.share(kind);
  return time;
}

class Script {
 public:
  Script(const ScriptedCommand& command, const ScriptedMachine& machine, std::uint64_t seed)
      : command_(command), machine_(machine), random_(seed) {}

  Evidence evidence() {
    Evidence all;
    all.command = "./scripted";
    all.machine = {.pus = 8,
                   .bandwidth = 40e9,
                   .cache = machine_.cache,
                   .memory_over_cache = machine_.memory_over_cache,
                   .fault_seconds = 1e-6};
    for (int i = 0; i < 5; ++i) all.observed.seconds.push_back(noisy(1));
    all.observed.user = busy_share() * 0.99 - command_.share(Kind::faults);
    all.observed.system = command_.share(Kind::faults);
    all.observed.minor_faults = command_.share(Kind::faults) * 1e6 + 100;
    look(all.observed);
    if (command_.threads > 1) {
      all.observed.user = 0;
      for (const ThreadSeen& thread : all.observed.threads) all.observed.user += thread.cpu_seconds;
    }
    undisturbed_ = all.observed.seconds;
    const double cache_left = machine_.thieves_take_cache ? 0.01 * machine_.cache : machine_.cache;
    Trial bandwidth{.resource = Resource::bandwidth};
    for (const auto& [taken, latency, faults] :
         {std::tuple{0.25, 1.1, 1.05}, {0.5, 1.35, 1.2}, {0.8, 2.0, 1.6}}) {
      const double time = memory_time(command_, 1 / (1 - taken), latency, cache_left) +
                          command_.share(Kind::faults) * (faults - 1);
      bandwidth.levels.push_back({.taken = 1 - 1 / calibrated(1 / (1 - taken)),
                                  .slowdowns = samples(time, 2),
                                  .latency = calibrated(latency),
                                  .faults = calibrated(faults)});
    }
    Trial cache{.resource = Resource::cache};
    for (const double held : {8.0, 16.0, 24.0, 28.0})
      cache.levels.push_back(
          {.taken = held * kMiB,
           .slowdowns = samples(memory_time(command_, 1, 1, machine_.cache - held * kMiB), 1)});
    Trial units{.resource = Resource::units, .levels = {{1, samples(1, 1)}}};
    Trial cpu{.resource = Resource::cpu_time};
    for (const double taken : {0.1, 0.25})
      cpu.levels.push_back({taken, samples(1 + busy_share() * (1 / (1 - taken) - 1), 1)});
    Trial threads{.resource = Resource::threads, .option = "-t {}"};
    if (command_.threads > 1) {
      for (const int n : {1, 2, 4})
        threads.levels.push_back(
            {double(n), samples(command_.team_time(n) / command_.team_time(command_.threads), 1)});
      threads.levels.push_back({double(command_.threads), {1}});
    } else {
      threads.untried = "nothing says how many it has";
    }
    Trial huge{.resource = Resource::huge_pages,
               .levels = {{1, samples(1 - 0.8 * command_.share(Kind::faults), 1)}},
               .option = "--huge-pages"};
    Trial allocator{.resource = Resource::allocator, .levels = {{1, samples(1, 1), "jemalloc"}}};
    Trial cold{.resource = Resource::cold,
               .levels = {{1, samples(1 + command_.share(Kind::disk), 1)}}};
    all.trials = {bandwidth, cache, units, cpu, threads, huge, allocator, cold};
    return all;
  }

  // Slow-downs, after evidence().
  std::vector<double> samples(double time, int count) {
    std::vector<double> all;
    for (int i = 0; i < count; ++i)
      all.push_back(noisy(time) / undisturbed_[random_.below(undisturbed_.size())]);
    return all;
  }

 private:
  double gauss() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += random_.unit();
    return sum;
  }
  double calibrated(double times) {
    if (machine_.calibration == 0) return times;
    return 1 + (times - 1) * std::exp(machine_.calibration * gauss());
  }
  double noisy(double time) { return time * std::max(0.5, 1 + machine_.noise * gauss()); }
  double busy_share() const { return 1 - command_.share(Kind::disk) - command_.share(Kind::pipe); }

  static void see(ThreadSeen& thread, Moment& moment, Doing doing) {
    ++thread.looks(doing);
    ++moment.threads(doing);
  }

  // A hundred looks at one run.
  void look(Observed& observed) {
    constexpr int kLooks = 100;
    observed.threads.resize(static_cast<std::size_t>(command_.threads));
    for (int i = 0; i < kLooks; ++i) {
      Moment moment{.seconds = i / double(kLooks)};
      if (command_.threads == 1) look_at_one(observed.threads[0], moment);
      if (command_.threads > 1) look_at_team(observed.threads, moment, (i + 0.5) / kLooks);
      observed.moments.push_back(moment);
    }
    for (std::size_t i = 0; i < observed.threads.size(); ++i)
      observed.threads[i].cpu_seconds = command_.threads > 1 ? work_of(i) : busy_share();
  }
  double work_of(std::size_t thread) const {
    const double time = command_.team_time(command_.threads);
    const double shared = (1 - command_.serial) / command_.threads / time;
    return shared * (command_.work.empty() ? 1 : command_.work[thread]) +
           (thread == 0 ? command_.serial / time : 0);
  }
  void look_at_one(ThreadSeen& thread, Moment& moment) {
    double at = random_.unit();
    for (const auto& [kind, doing] :
         {std::pair{Kind::disk, Doing::disk}, {Kind::pipe, Doing::pipe}}) {
      if (at >= 0 && at < command_.share(kind)) return see(thread, moment, doing);
      at -= command_.share(kind);
    }
    see(thread, moment, Doing::running);
    ++thread.alone;
  }
  // at: 0 … 1, the time. First the part of one, then that of all.
  void look_at_team(std::vector<ThreadSeen>& threads, Moment& moment, double at) {
    const int n = command_.threads;
    const double time = command_.team_time(n), one = command_.serial / time;
    ThreadSeen* runs = nullptr;
    for (int i = 0; i < n; ++i) {
      ThreadSeen& thread = threads[static_cast<std::size_t>(i)];
      bool running = at < one ? i == 0 : random_.unit() >= command_.locks;
      if (at >= one && !command_.work.empty())
        running &= (at - one) / (1 - one) <
                   command_.work[static_cast<std::size_t>(i)] / command_.unevenness(n);
      see(thread, moment, running ? Doing::running : Doing::lock);
      if (running) runs = &thread;
    }
    if (moment.threads(Doing::running) == 1) ++runs->alone;
  }

  ScriptedCommand command_;
  ScriptedMachine machine_;
  core::SplitMix64 random_;
  std::vector<double> undisturbed_;
};

}  // namespace tabane::lab::explain
