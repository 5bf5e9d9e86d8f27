// The loops that are measured at a level of the memory, as data: tabane's vector kernels, and the
// roofs that limit them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tabane/core/measurement.h"
#include "tabane/core/memory.h"
#include "tabane/core/threads.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/probes/common.h"
#include "tabane/simd/elementwise.h"
#include "tabane/simd/roof.h"

namespace tabane::lab {

// Three arrays of doubles with equal lengths; loops with fewer operands ignore the rest.
struct Arrays {
  std::span<double> a, b, c;
  simd::Streaming streaming;  // as for arrays that fill the whole working set
};

// What a loop does to memory for one element.
enum class Mix {
  read,    // loads one
  read2,   // loads two
  write,   // stores one
  copy,    // loads one, stores another
  triad,   // loads two, stores a third
  update,  // loads two, stores one of them
};
inline constexpr Mix kMixes[] = {Mix::read, Mix::read2, Mix::write,
                                 Mix::copy, Mix::triad, Mix::update};

std::string name_of(Mix mix);  // "read", "read2", "set", "copy", "triad", "update"
int arrays_of(Mix mix);
double bytes_of(Mix mix);  // of an element, as STREAM counts: no write-allocate

inline constexpr const char* kCounting =
    "loaded and stored bytes as the program sees them, without write-allocate";

struct Kernel {
  std::string name;
  Mix mix = Mix::read;
  double flops = 0;  // an element
  void (*run)(const Arrays& arrays) = nullptr;
};

// sum, sum_of_squares, dot, axpy, set, copy, scale, add, triad.
std::span<const Kernel> vector_kernels();

// One working set that all loops share: the same bytes, cut into as many arrays as a loop has.
//
// Loops measured in turn find the level of the memory as the one before left it, which separate
// arrays would not give: they would push each other out. A set larger than kWindow is walked in
// windows: every pass works on the next one, so that a pass is short, and finds its data where the
// whole set lies, as the window was left many passes ago. The calling thread touches the memory
// first, with generated values (simd/elementwise.h): zeros, or one line again and again, would move
// faster on some processors. Huge pages are asked for, so that address translation does not hide
// the caches; forks do not copy it.
class WorkingSet {
 public:
  static constexpr std::size_t kWindow = std::size_t{16} << 20;

  explicit WorkingSet(std::size_t bytes);
  // The same in a part of the memory that another set owns, as it is; the other must live on and is
  // not used meanwhile. offset: bytes, whole lines; the part may be a little too long for its end.
  WorkingSet(WorkingSet& owner, std::size_t offset, std::size_t bytes);
  // The arrays of the next pass: whole cache lines, at least one for each.
  Arrays next(Mix mix);
  // Generates the values anew on which the last passes worked: `set` leaves one number everywhere,
  // others make numbers small.
  void generate_last(std::uint64_t passes);
  // Whether every pass works on the same arrays. Else a pass over a window of a large set lasts
  // long enough to be an epoch of its own.
  bool is_whole() const { return windows_ == 1; }
  // Passes after which the first arrays are used again.
  std::size_t windows() const { return windows_; }
  std::size_t bytes() const { return windows_ * window_; }
  // Elements of each of them.
  std::size_t elements(Mix mix) const;

 private:
  void cut(std::size_t bytes);

  core::Region region_;  // empty: the memory is another set's
  std::span<double> memory_;
  std::size_t window_ = 0, windows_ = 1, at_ = 0;
};

// A loop that can be measured. One iteration is a pass over the next arrays of the set.
struct Loop {
  std::string name;
  Mix mix = Mix::read;
  std::function<core::Work(WorkingSet& set)> on;

  double bytes(const WorkingSet& set) const {  // moved by one pass
    return bytes_of(mix) * static_cast<double>(set.elements(mix));
  }
};

Loop loop_of(const Kernel& kernel);
// All roofs that this machine runs whose traffic is that of the mix; with `streaming` also those
// that write past the caches, and so leave the data in memory for the loops after them.
std::vector<Loop> roofs_of(Mix mix, bool streaming = true);

// The `count` fastest of the loops, the best first: all take one short turn, the better ones more.
// start: makes a contender of a loop; with single_passes an epoch is one pass. Their speed must be
// measured again: the best of many looks better than it is.
std::vector<Loop> fastest(std::vector<Loop> loops, std::size_t count,
                          const std::function<core::Contender(const Loop&)>& start,
                          bool single_passes = false);

// Raw samples as rates: amount / seconds.
std::vector<double> rates(const core::Series& series, double amount);

// Index of the series with the least median.
std::size_t fastest_of(std::span<const core::Series> series);

// Working sets that stay from pass to pass, on one core and on all.

inline constexpr const char* kStartedTogether =
    "threads start once all have arrived and time themselves; the time is from the first start to "
    "the last end";

// The set of the calling thread, which must be bound to the home PU. Sets in caches are made anew
// in every pass, as where their pages lie in memory decides how well they fit; large ones stay.
WorkingSet& core_set(ProbeContext& context, const MemoryLevel& level);

// The fastest roofs of a mix at a level on the calling thread, the best first; searched once a
// survey.
const std::vector<Loop>& core_roofs(ProbeContext& context, const MemoryLevel& level,
                                    WorkingSet& set, Mix mix);

// A thread with a working set on one PU of each core. The threads live as long as this; large sets
// stay for the next passes, those in caches are made anew. Each thread touches its own set first,
// so that it lies on the thread's node.
class MachineSets {
 public:
  // throws: core::SystemError if a PU cannot be bound.
  MachineSets(ProbeContext& context, const MemoryLevel& level);

  std::size_t size() const { return sets_.size(); }
  WorkingSet& operator[](std::size_t thread) { return *sets_[thread]; }
  WorkingSet& front() { return *sets_.front(); }
  // The loop on the first `workers` threads, each on its own set, as a contender that times
  // itself.
  core::Contender start(const Loop& loop, std::size_t workers);
  core::PinnedPool& pool() { return *pool_; }
  // Halves of the sets for the same threads; used in turn with the whole ones.
  MachineSets halves();
  // work() on one thread.
  void on_thread(std::size_t thread, const std::function<void()>& work);

 private:
  MachineSets() = default;

  std::shared_ptr<core::PinnedPool> pool_;
  std::vector<std::shared_ptr<WorkingSet>> sets_;
};

// The fastest roof of a mix on all threads, searched once a survey.
Loop best_on_machine(ProbeContext& context, const MemoryLevel& level, MachineSets& sets, Mix mix);

// The detail of results from memory that says how much faster the best copy is on half of the
// data: [value, low, high]. Clearly above 1, the data are partly in a cache that the system does
// not state.
inline constexpr const char* kGainOfHalf = "gain_of_half_the_data";

// walk(half): B/s of going through a part of the data, or of half of them, once they have been gone
// through alone. Takes both in turn a few times.
core::Ratio gain_of_half(const std::function<double(bool half)>& walk);

// Those of a core and of all cores; measured once a survey.
Json gain_of_half(ProbeContext& context, const MemoryLevel& level, WorkingSet& set);
Json gain_of_half(ProbeContext& context, const MemoryLevel& level, MachineSets& sets);

// Whether other programs had the CPUs too often for the samples to say anything.
bool disturbed(const core::Series& series);

// Gives the result the samples, unless the threads often did not run while they were taken: then it
// stays without a value and gets the reason. Returns whether it has a value.
bool refuse_disturbed(Result& result, const core::Series& series, std::vector<double> samples);

}  // namespace tabane::lab
