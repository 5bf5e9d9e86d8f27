#include "tabane/tools/explain/thieves.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <memory>

#include "tabane/core/binding.h"
#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/temporary_file.h"
#include "tabane/core/threads.h"
#include "tabane/core/units.h"
#include "tabane/lab/probes/chase.h"
#include "tabane/lab/probes/common.h"
#include "tabane/simd/elementwise.h"
#include "tabane/simd/roof.h"

namespace tabane::lab::explain {
namespace {

using core::kMiB;
using Step = std::function<double()>;  // returns what it has done

const core::MemoryOptions kLarge{.pages = core::PageSize::huge, .copied_by_forks = false};

constexpr std::size_t kChunk = 128 << 10;                // bytes between two looks at the clock
constexpr std::uint64_t kCalculations = 2000;            // some ten microseconds
constexpr auto kPeriod = std::chrono::milliseconds(10);  // of a thief of processor time
constexpr std::chrono::milliseconds kLook{8}, kBeforeNextLook{50};  // at whether PUs share
constexpr double kPatience = 2;   // seconds, for PUs to share something
constexpr double kShared = 0.85;  // of a stream alone, that is left where they do
constexpr std::size_t kDiskFileBytes = 64 * kMiB, kDiskBlock = kMiB;

double now() { return core::tick_clock().now(); }

double thread_seconds() { return core::clock_seconds(CLOCK_THREAD_CPUTIME_ID); }

double go_through(const char* loop, std::span<double> data) {
  const auto& roof = *std::ranges::find(simd::roofs(), std::string_view(loop), &simd::Roof::name);
  roof.run(data.data(), nullptr, nullptr, data.size(), 1);
  return static_cast<double>(data.size_bytes());
}

double calculate() { return static_cast<double>(simd::peak_fma(kCalculations)); }

// By stores past the caches, which take no place there.
Step take_bandwidth(double share, std::span<double> memory) {
  return [memory, share, at = std::size_t{0}]() mutable {
    constexpr std::size_t kDoubles = kChunk / sizeof(double);
    if (at + kDoubles > memory.size()) at = 0;
    const double begin = now();
    const double done = go_through("16 vectors, streaming", memory.subspan(at, kDoubles));
    const double end = begin + (now() - begin) / share;
    while (now() < end) {
    }
    at += kDoubles;
    return done;
  };
}

Step take_processor_time(double share) {
  return [share, begin = now(), used = thread_seconds()] {
    const double before = thread_seconds();
    // Threads that sleep wake at the same time, so that what they take cannot be avoided by moving.
    if (before - used > share * (now() - begin)) {
      using Clock = std::chrono::steady_clock;
      std::this_thread::sleep_until(Clock::time_point(
          (Clock::now().time_since_epoch() / kPeriod + 1) * Clock::duration(kPeriod)));
    }
    calculate();
    return thread_seconds() - before;
  };
}

// An unnamed file, which goes with the process. throws: core::SystemError.
Step take_disk(int folder, std::span<double> memory) {
  const auto file =
      std::make_shared<core::TemporaryFile>(folder, "load", 0600, "", core::Until::unnamed);
  fcntl(file->fd(), F_SETFL, fcntl(file->fd(), F_GETFL) | O_DIRECT);  // where there is such
  return [file, memory, at = std::size_t{0}]() mutable {
    const ssize_t n = pwrite(file->fd(), memory.data(), kDiskBlock,
                             static_cast<off_t>(at++ * kDiskBlock % kDiskFileBytes));
    if (n < 0) throw core::SystemError("pwrite", "a file of a thief", errno);
    fdatasync(file->fd());
    return static_cast<double>(n);
  };
}

Step step_of(const Theft& theft, std::span<double> memory, std::size_t threads) {
  switch (theft.what) {
    case Resource::bandwidth:
      return take_bandwidth(theft.amount, memory);
    case Resource::cache: {
      const auto each = static_cast<std::size_t>(theft.amount / double(threads * sizeof(double)));
      return [held = memory.first(std::min(memory.size(), each))] {
        return go_through("16 vectors", held);
      };
    }
    case Resource::cpu_time:
      return take_processor_time(theft.amount);
    case Resource::disk:
      return take_disk(theft.folder, memory);
    default:
      return calculate;
  }
}

}  // namespace

Thieves::Thieves(std::span<const unsigned> pus, std::size_t bytes) : shares_(pus.size()) {
  for (std::size_t i = 0; i < pus.size(); ++i) shares_[i].pu = pus[i];
  if (bytes == 0) return;
  const std::size_t each = std::max(std::min(bytes, kMostThiefBytes) / pus.size(), kMiB);
  core::PinnedPool(pus).run([&](std::size_t i) {
    shares_[i].memory = core::Region(each / kMiB * kMiB, kLarge);
    simd::generate(shares_[i].memory.as<double>());
  });
}

void Thieves::steal(const Theft& theft, Share& share, const std::stop_token& stop) {
  const auto unless_it_fails = [&](const auto& act) {
    try {
      act();
    } catch (...) {
      share.failure = std::current_exception();
    }
  };
  Step step = [] { return 0.0; };
  unless_it_fails([&] {
    core::bind_this_thread({&share.pu, 1});
    step = step_of(theft, share.memory.as<double>(), size());
    step();
  });
  begun_->count_down();
  unless_it_fails([&] {
    double done = 0;
    const double begin = now();
    while (!stop.stop_requested() && !share.failure) done += step();
    share.rate = done / std::max(now() - begin, 1e-9);
  });
}

void Thieves::begin(const Theft& theft) {
  begun_.emplace(static_cast<std::ptrdiff_t>(size()));
  for (Share& share : shares_) {
    share.failure = nullptr;
    threads_.emplace_back(
        [this, theft, &share](const std::stop_token& stop) { steal(theft, share, stop); });
  }
  begun_->wait();
}

void Thieves::stop() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

double Thieves::end() {
  stop();
  double sum = 0;
  for (const Share& share : shares_) {
    if (share.failure) std::rethrow_exception(share.failure);
    sum += share.rate;
  }
  return sum;
}

// ---- what is left ----

Sharing::Sharing(Thieves& thieves, std::span<const unsigned> pus)
    : thieves_(thieves), streams_(pus, pus.size() * kMiB), alone_(rate()) {}

double Sharing::rate() {
  streams_.begin({.what = Resource::bandwidth});
  std::this_thread::sleep_for(kLook);
  return streams_.end();
}

bool Sharing::look() {
  thieves_.begin({.what = Resource::bandwidth});
  const double beside = rate();
  thieves_.stop();
  return beside < kShared * alone_;
}

bool Sharing::wait(double most_seconds, const std::function<void()>& go_on) {
  const double end = now() + most_seconds;
  while (true) {
    go_on();
    if (look()) return true;
    if (now() > end) return false;
    std::this_thread::sleep_for(kBeforeNextLook);
  }
}

namespace {

constexpr int kSamples = 7, kFits = 3;
constexpr std::size_t kVictimBytes = 256 * kMiB;  // all together, at least
constexpr double kFactorOverCache = 3, kClearlyFarther = 2;
constexpr std::uint64_t kSmallestSet = kMiB, kLargestSet = 1024 * kMiB;
constexpr std::uint64_t kFewestLoads = 50'000, kMostLoads = 200'000;

double median_of(int samples, const std::function<double()>& take) {
  std::vector<double> all;
  for (int i = 0; i < samples; ++i) all.push_back(take());
  return core::median(all);
}

// Bytes of a level of the caches: 0 is the last one.
double cache_bytes(const core::Topology& topology, std::size_t before_last) {
  const auto caches = topology.caches();
  if (before_last >= caches.size()) return 0;
  return static_cast<double>(caches[caches.size() - 1 - before_last].bytes);
}

// All the last caches that these PUs have.
double all_cache_bytes(const core::Topology& topology, std::span<const unsigned> pus) {
  double bytes = 0;
  if (const auto caches = topology.caches(); !caches.empty())
    for (const auto& sharers : caches.back().pus)
      if (std::ranges::find_first_of(sharers, pus) != sharers.end())
        bytes += static_cast<double>(caches.back().bytes);
  return bytes;
}

// A pointer chase over sizes that double.
class CacheVictim {
 public:
  // throws: NotHere.
  explicit CacheVictim(const core::Topology& topology) : chase_(sizes_for(topology), kLarge) {
    std::vector<double> alone;
    for (std::size_t i = 0; i < sizes().size(); ++i) alone.push_back(seconds(i));
    // What lies in a core's own cache is nearer than the last one.
    std::size_t first = 0;
    while (first + 2 < alone.size() && double(sizes()[first]) < 2 * cache_bytes(topology, 1))
      ++first;
    near_ = alone[first];
    far_ = alone.back();
  }

  double memory_over_cache() const { return far_ / near_; }

  // Of a load from memory, relative to what it took at first.
  double latency() { return seconds(sizes().size() - 1) / far_; }

  // Bytes of the cache that it gets. At half way between cache and memory, on a logarithmic scale,
  // a set has lost what does not fit, 1 / (1 + sqrt(memory_over_cache())) of it.
  double fitting() {
    const double limit = std::sqrt(near_ * far_), fits = limit / (near_ + limit);
    double before = near_;
    for (std::size_t i = 0; i < sizes().size(); ++i) {
      const double time = seconds(i);
      const double part = std::log(limit / before) / std::log(time / before);
      if (time > limit) return fits * double(sizes()[i]) * std::pow(2, i == 0 ? -1 : part - 1);
      before = time;
    }
    return static_cast<double>(sizes().back());  // at least
  }

 private:
  static std::vector<std::uint64_t> sizes_for(const core::Topology& topology) {
    const double stated = std::max(cache_bytes(topology, 0), 16.0 * kMiB);
    const double most = std::min({2 * stated, double(kLargestSet), memory_allowance()});
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t size = kSmallestSet; double(size) <= most; size *= 2) sizes.push_back(size);
    if (sizes.size() < 3) throw NotHere("there is too little memory for it");
    return sizes;
  }
  const std::vector<std::uint64_t>& sizes() const { return chase_.sizes(); }

  // Of a load.
  double seconds(std::size_t size) {
    chase_.prepare(size);
    const auto loads = std::clamp<std::uint64_t>(sizes()[size] / 64, kFewestLoads, kMostLoads);
    const double begin = now();
    chase_.follow(size, loads);
    return (now() - begin) / static_cast<double>(loads);
  }

  Chase chase_;
  double near_ = 0, far_ = 0;
};

// Threads that read memory of their own, too large for the caches.
class BandwidthVictim {
 public:
  BandwidthVictim(std::span<const unsigned> pus, const core::Topology& topology)
      : pool_(pus), memory_(pus.size()) {
    const double wanted = std::max(kFactorOverCache * all_cache_bytes(topology, pus),
                                   static_cast<double>(kVictimBytes));
    const auto each = static_cast<std::size_t>(std::min(wanted, memory_allowance())) / pus.size();
    pool_.run([&](std::size_t i) {
      memory_[i] = core::Region(std::max(each, kMiB), kLarge);
      simd::generate(memory_[i].as<double>());
    });
  }

  double bytes_per_second() {
    const core::TogetherTime time = core::time_together(pool_, pool_.size(), [&](std::size_t i) {
      go_through("16 vectors", memory_[i].as<double>());
    });
    return static_cast<double>(memory_[0].size() * pool_.size()) / time.seconds;
  }

 private:
  core::PinnedPool pool_;
  std::vector<core::Region> memory_;
};

// Measures while thieves run, until there is no time left.
class Calibrator {
 public:
  Calibrator(Thieves& thieves, double most_seconds, Sharing* sharing,
             const std::function<void(double)>& show)
      : thieves_(thieves), end_(now() + most_seconds), sharing_(sharing), show_(show) {}

  // Each of three parts: what it measures is null if there is too little of something, with the
  // reason.
  void part(std::string& reason, const std::function<void()>& measure) {
    try {
      measure();
    } catch (const NotHere& error) {
      reason = error.what();
    }
    show_(++parts_ / 3.0);
  }

  void go_on() const {
    show_(parts_ / 3.0);
    if (now() > end_) throw NotHere("there was no time to calibrate it");
  }

  Leftover beside(const Theft& theft, const std::function<double()>& measure) {
    Leftover leftover{.amount = theft.amount};
    do {
      go_on();
      if (sharing_ != nullptr && !sharing_->wait(end_ - now(), [&] { show_(parts_ / 3.0); }))
        throw NotHere("other PUs took nothing of it meanwhile");
      thieves_.begin(theft);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      leftover.speed = thieves_.end();
      thieves_.begin(theft);
      leftover.left = measure();
      thieves_.end();
    } while (sharing_ != nullptr && !sharing_->look());
    return leftover;
  }

 private:
  Thieves& thieves_;
  double end_;
  Sharing* sharing_;
  const std::function<void(double)>& show_;
  int parts_ = 0;
};

}  // namespace

double seconds_of_a_fault() {
  constexpr std::size_t kBytes = 32 * kMiB;  // more than what was just freed and is still cached
  return median_of(kFits, [] {
    core::Region fresh(kBytes, {.pages = core::PageSize::small, .copied_by_forks = false});
    const double begin = now();
    fresh.touch();
    return (now() - begin) / static_cast<double>(kBytes / core::page_bytes());
  });
}

Calibration calibrate(Thieves& thieves, std::span<const unsigned> pus,
                      const core::Topology& topology, double most_seconds,
                      const std::function<void(double)>& show) {
  Calibration found{.sharing = std::make_unique<Sharing>(thieves, pus)};
  // What few thieves take of many PUs is not seen in one look.
  if (4 * thieves.size() < pus.size() ||
      !found.sharing->wait(std::min(kPatience, most_seconds / 2), [&] { show(0); }))
    found.sharing.reset();
  Calibrator calibrator(thieves, most_seconds, found.sharing.get(), show);
  const core::ScopedBinding binding(pus[0]);
  std::optional<CacheVictim> chase;
  calibrator.part(found.no_cache, [&] {
    calibrator.go_on();
    chase.emplace(topology);
    if (chase->memory_over_cache() < kClearlyFarther)
      throw NotHere("loads take as long from the memory as from the last cache");
    found.memory_over_cache = chase->memory_over_cache();
  });
  calibrator.part(found.no_memory, [&] {
    calibrator.go_on();
    BandwidthVictim victim(pus, topology);
    const auto rate = [&] {
      return median_of(kSamples, [&] { return victim.bytes_per_second(); });
    };
    std::vector<Leftover> left = {{.left = rate()}};
    const double fault_alone = seconds_of_a_fault();
    for (const double share : {0.25, 0.5, 1.0}) {
      const Theft theft{.what = Resource::bandwidth, .amount = share};
      left.push_back(calibrator.beside(theft, rate));
      if (chase)
        left.back().latency = calibrator.beside(theft, [&] { return chase->latency(); }).left;
      left.back().faults =
          std::max(1.0, calibrator.beside(theft, seconds_of_a_fault).left / fault_alone);
    }
    found.bandwidth = std::move(left);
  });
  calibrator.part(found.no_cache, [&] {
    if (!found.memory_over_cache) return;
    const auto fitting = [&] { return median_of(kFits, [&] { return chase->fitting(); }); };
    calibrator.go_on();
    std::vector<Leftover> left = {{.left = fitting()}};
    for (const double part : {0.5, 0.75, 1.0})
      left.push_back(calibrator.beside(
          {.what = Resource::cache, .amount = part * left.front().left}, fitting));
    found.cache = std::move(left);
  });
  return found;
}

}  // namespace tabane::lab::explain
