#include "tabane/tools/explain/thieves.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>

#include "tabane/core/binding.h"
#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/measurement.h"
#include "tabane/core/temporary_file.h"
#include "tabane/core/units.h"
#include "tabane/lab/probes/chase.h"
#include "tabane/lab/probes/common.h"
#include "tabane/simd/elementwise.h"
#include "tabane/simd/peak.h"
#include "tabane/simd/roof.h"

namespace tabane::lab::explain {
namespace {

using core::kMiB;

const core::MemoryOptions kLarge{.pages = core::PageSize::huge, .copied_by_forks = false};

constexpr std::size_t kChunk = 128 << 10;      // bytes between two looks at the clock
constexpr std::uint64_t kCalculations = 2000;  // some ten microseconds
constexpr double kPeriod = 10e-3;              // of a thief of processor time, in seconds
constexpr std::size_t kDiskFileBytes = 64 * kMiB, kDiskBlock = kMiB;

double thread_seconds() { return core::clock_seconds(CLOCK_THREAD_CPUTIME_ID); }

const simd::Roof& loop_named(std::string_view name) {
  return *std::ranges::find(simd::roofs(), name, &simd::Roof::name);
}
const simd::Roof& reading() { return loop_named("16 vectors"); }

void go_through(const simd::Roof& roof, std::span<double> data) {
  roof.run(data.data(), nullptr, nullptr, data.size(), 1);
}

// Threads that do so wake at the same time, so that what they take cannot be avoided by moving.
void sleep_until_next(double period) {
  const auto step = static_cast<long long>(period * 1e9);
  const auto now = static_cast<long long>(core::clock_ns(CLOCK_MONOTONIC));
  const long long next = now / step * step + step;
  const timespec until{.tv_sec = next / 1'000'000'000, .tv_nsec = next % 1'000'000'000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

// Each returns what it has done in one step.

// By stores past the caches, which take no place there.
std::function<double()> take_bandwidth(double share, std::span<double> memory) {
  return
      [&roof = loop_named("16 vectors, streaming"), memory, share, at = std::size_t{0}]() mutable {
        constexpr std::size_t kDoubles = kChunk / sizeof(double);
        if (at + kDoubles > memory.size()) at = 0;
        core::Clock& clock = core::tick_clock();
        const double begin = clock.now();
        go_through(roof, memory.subspan(at, kDoubles));
        const double end = begin + (clock.now() - begin) / share;
        while (clock.now() < end) {
        }
        at += kDoubles;
        return static_cast<double>(kChunk);
      };
}

std::function<double()> take_processor_time(double share) {
  return [share, begin = core::tick_clock().now(), used = thread_seconds()]() mutable {
    const double before = thread_seconds();
    if (before - used > share * (core::tick_clock().now() - begin)) sleep_until_next(kPeriod);
    core::keep(simd::peak_fma<double>(kCalculations));
    return thread_seconds() - before;
  };
}

// An unnamed file, which goes with the process. throws: core::SystemError.
std::function<double()> take_disk(int folder, std::span<double> memory) {
  const auto file =
      std::make_shared<core::TemporaryFile>(folder, "load", 0600, "", core::Until::unnamed);
  fcntl(file->fd(), F_SETFL, fcntl(file->fd(), F_GETFL) | O_DIRECT);  // where there is such
  return [file, memory, at = std::size_t{0}]() mutable {
    if (at + kDiskBlock > kDiskFileBytes) at = 0;
    const ssize_t n = pwrite(file->fd(), memory.data(), kDiskBlock, static_cast<off_t>(at));
    if (n < 0) throw core::SystemError("pwrite", "a file of a thief", errno);
    fdatasync(file->fd());
    at += kDiskBlock;
    return static_cast<double>(n);
  };
}

}  // namespace

Thieves::Thieves(std::span<const unsigned> pus, std::size_t bytes) : pool_(pus) {
  shares_.resize(pool_.size());
  if (bytes == 0) return;
  const std::size_t each =
      std::max(std::min(bytes, kMostThiefBytes) / pool_.size() / kMiB * kMiB, kMiB);
  pool_.run([&](std::size_t i) {
    shares_[i].memory = core::Region(each, kLarge);
    simd::generate(shares_[i].memory.as<double>());
  });
}

Thieves::~Thieves() {
  stop_ = true;
  if (caller_.joinable()) caller_.join();
}

std::function<double()> Thieves::step_of(const Theft& theft, Share& share) const {
  const std::span<double> memory = share.memory.as<double>();
  switch (theft.what) {
    case Resource::bandwidth:
      return take_bandwidth(theft.amount, memory);
    case Resource::cache: {
      const double each = theft.amount / static_cast<double>(shares_.size());
      const auto held =
          memory.first(std::min(memory.size(), static_cast<std::size_t>(each / sizeof(double))));
      return [held] {
        go_through(reading(), held);
        return static_cast<double>(held.size_bytes());
      };
    }
    case Resource::units:
      return [] { return static_cast<double>(simd::peak_fma<double>(kCalculations)); };
    case Resource::cpu_time:
      return take_processor_time(theft.amount);
    case Resource::disk:
      return take_disk(theft.folder, memory);
    default:
      throw std::logic_error("there is no thief of that");
  }
}

void Thieves::arrive() {
  ++begun_;
  begun_.notify_all();
}

void Thieves::steal(std::size_t thread, const Theft& theft) {
  Share& share = shares_[thread];
  double done = 0;
  std::function<double()> step;
  try {
    step = step_of(theft, share);
    step();
  } catch (...) {
    arrive();
    throw;
  }
  arrive();
  const double begin = core::tick_clock().now();
  do {
    done += step();
  } while (!stop_.load(std::memory_order_relaxed));
  share.seconds = core::tick_clock().now() - begin;
  share.done = done;
}

void Thieves::begin(const Theft& theft) {
  stop_ = false;
  begun_ = 0;
  failure_ = nullptr;
  caller_ = std::thread([this, theft] {
    try {
      pool_.run([&](std::size_t i) { steal(i, theft); });
    } catch (...) {
      failure_ = std::current_exception();
    }
  });
  for (std::size_t n = 0; (n = begun_) < size();) begun_.wait(n);
}

double Thieves::end() {
  stop_ = true;
  caller_.join();
  if (failure_) std::rethrow_exception(failure_);
  double sum = 0;
  for (const Share& share : shares_) sum += share.done / std::max(share.seconds, 1e-9);
  return sum;
}

// ---- what is left ----

namespace {

constexpr int kSamples = 7, kFits = 3;
constexpr std::size_t kVictimBytes = 256 * kMiB;  // all together, at least
constexpr double kFactorOverCache = 3, kClearlyFarther = 2;
constexpr std::uint64_t kSmallestSet = kMiB, kLargestSet = 128 * kMiB;
constexpr std::uint64_t kFewestLoads = 50'000, kMostLoads = 200'000;

// Runs measure() beside the theft; null: without one.
template <class Measure>
Leftover beside(Thieves& thieves, const Theft* theft, Measure measure) {
  if (theft == nullptr) return {.left = measure()};
  thieves.begin(*theft);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  Leftover leftover{.amount = theft->amount, .speed = thieves.end()};
  thieves.begin(*theft);
  leftover.left = measure();
  thieves.end();
  return leftover;
}

double last_cache_bytes(const core::Topology& topology) {
  double bytes = 0;
  for (const core::CacheLevel& cache : topology.caches()) bytes = static_cast<double>(cache.bytes);
  return bytes;
}

// A pointer chase over sizes that double.
class CacheVictim {
 public:
  explicit CacheVictim(const core::Topology& topology) : chase_(sizes_for(topology), kLarge) {
    const std::size_t n = chase_.sizes().size();
    std::vector<double> alone;
    for (std::size_t i = 0; i < n; ++i) alone.push_back(seconds(i));
    // What lies in a core's own cache is nearer than the last one.
    std::size_t first = 0;
    const auto caches = topology.caches();
    const double own = caches.size() > 1 ? double(caches[caches.size() - 2].bytes) : 0;
    while (first + 2 < n && double(chase_.sizes()[first]) < 2 * own) ++first;
    near_ = alone[first];
    far_ = alone.back();
  }

  double memory_over_cache() const { return far_ / near_; }

  // Of a load from memory, relative to what it took at first.
  double latency() { return seconds(chase_.sizes().size() - 1) / far_; }

  // Bytes of the largest set that is still nearer than half way, on a logarithmic scale.
  double fitting() {
    std::vector<double> found;
    for (int i = 0; i < kFits; ++i) found.push_back(fitting_once());
    return core::median(found);
  }

 private:
  double fitting_once() {
    const double limit = std::sqrt(near_ * far_);
    double before = near_;
    for (std::size_t i = 0; i < chase_.sizes().size(); ++i) {
      const auto bytes = static_cast<double>(chase_.sizes()[i]);
      const double now = seconds(i);
      if (now > limit) {
        if (i == 0) return bytes / 2;
        const double part = before < limit ? std::log(limit / before) / std::log(now / before) : 0;
        return bytes * std::pow(2, part - 1);
      }
      before = now;
    }
    return static_cast<double>(chase_.sizes().back());
  }

  static std::vector<std::uint64_t> sizes_for(const core::Topology& topology) {
    const double stated = std::max(last_cache_bytes(topology), 16.0 * kMiB);
    const double most = std::min({2 * stated, double(kLargestSet), memory_allowance()});
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t size = kSmallestSet; double(size) <= most; size *= 2) sizes.push_back(size);
    if (sizes.size() < 3) throw NotHere("there is too little memory for it");
    return sizes;
  }

  // Of a load.
  double seconds(std::size_t size) {
    chase_.prepare(size);
    const std::uint64_t loads =
        std::clamp<std::uint64_t>(chase_.sizes()[size] / 64, kFewestLoads, kMostLoads);
    const double begin = core::tick_clock().now();
    chase_.follow(size, loads);
    return (core::tick_clock().now() - begin) / static_cast<double>(loads);
  }

  Chase chase_;
  double near_ = 0, far_ = 0;
};

// Called before each step. throws: NotHere if it is too late; what ends the calibration.
using GoOn = std::function<void()>;

// throws: NotHere.
std::vector<Leftover> cache_left(Thieves& thieves, CacheVictim& victim, const GoOn& go_on) {
  const auto fitting = [&] { return victim.fitting(); };
  go_on();
  std::vector<Leftover> left = {beside(thieves, nullptr, fitting)};
  for (const double part : {0.25, 0.5, 0.75, 1.0}) {
    go_on();
    const Theft theft{.what = Resource::cache, .amount = part * left.front().left};
    left.push_back(beside(thieves, &theft, fitting));
  }
  return left;
}

// What threads get that read memory of their own, too large for the caches. throws: NotHere.
std::vector<Leftover> bandwidth_left(Thieves& thieves, std::span<const unsigned> pus,
                                     const core::Topology& topology, CacheVictim* chase,
                                     const GoOn& go_on) {
  go_on();
  core::PinnedPool pool(pus);
  const double wanted =
      std::max(kFactorOverCache * last_cache_bytes(topology), static_cast<double>(kVictimBytes));
  const auto each = static_cast<std::size_t>(std::min(wanted, memory_allowance())) / pool.size();
  std::vector<core::Region> memory(pool.size());
  pool.run([&](std::size_t i) {
    memory[i] = core::Region(std::max(each, kMiB), kLarge);
    simd::generate(memory[i].as<double>());
  });
  const auto rate = [&] {
    std::vector<double> samples;
    for (int i = 0; i < kSamples; ++i) {
      const core::TogetherTime time = core::time_together(
          pool, pool.size(), [&](std::size_t k) { go_through(reading(), memory[k].as<double>()); });
      samples.push_back(static_cast<double>(memory[0].size() * pool.size()) / time.seconds);
    }
    return core::median(samples);
  };
  std::vector<Leftover> left = {beside(thieves, nullptr, rate)};
  for (const double share : {0.25, 0.5, 1.0}) {
    go_on();
    const Theft theft{.what = Resource::bandwidth, .amount = share};
    left.push_back(beside(thieves, &theft, rate));
    if (chase != nullptr)
      left.back().latency = beside(thieves, &theft, [&] { return chase->latency(); }).left;
  }
  return left;
}

}  // namespace

double seconds_of_a_fault() {
  constexpr std::size_t kBytes = 4 * kMiB;
  core::Region fresh(kBytes, {.pages = core::PageSize::small, .copied_by_forks = false});
  const double begin = core::tick_clock().now();
  fresh.touch();
  return (core::tick_clock().now() - begin) / static_cast<double>(kBytes / core::page_bytes());
}

Calibration calibrate(Thieves& thieves, std::span<const unsigned> pus,
                      const core::Topology& topology, double most_seconds,
                      const std::function<void(double)>& show) {
  Calibration found;
  const double end = core::tick_clock().now() + most_seconds;
  double done = 0;
  const GoOn go_on = [&] {
    show(done);
    if (core::tick_clock().now() > end) throw NotHere("there was no time to calibrate it");
  };
  const core::ScopedBinding binding(pus[0]);
  std::optional<CacheVictim> chase;
  try {
    go_on();
    chase.emplace(topology);
    if (chase->memory_over_cache() >= kClearlyFarther)
      found.memory_over_cache = chase->memory_over_cache();
    else
      found.no_cache = "loads take as long from the memory as from the last cache";
  } catch (const NotHere& error) {
    found.no_cache = error.what();
  }
  done = 0.3;
  try {
    found.bandwidth = bandwidth_left(thieves, pus, topology, chase ? &*chase : nullptr, go_on);
  } catch (const NotHere& error) {
    found.no_memory = error.what();
  }
  done = 0.6;
  try {
    if (found.no_cache.empty()) found.cache = cache_left(thieves, *chase, go_on);
  } catch (const NotHere& error) {
    found.no_cache = error.what();
  }
  show(1);
  return found;
}

}  // namespace tabane::lab::explain
