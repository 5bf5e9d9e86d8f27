// The core's real frequency, and whether the tick counters of two PUs agree.
#pragma once

#include <cstdint>
#include <vector>

namespace tabane::core {

// Runs a chain of `adds` dependent register additions, one core cycle each on every x86-64 and
// aarch64 core in use; returns the elapsed ticks. adds: rounded up to a multiple of 64.
std::uint64_t run_add_chain(std::uint64_t adds);

// Measures the core rate of the calling thread in Hz, over about `seconds`: the highest of short
// slices, so that an interruption does not lower it.
double measure_core_rate(double seconds = 0.01);

// Measured difference of two PUs' tick counters.
struct TickSkew {
  double offset_ticks = 0;  // counter of b minus counter of a
  double bound_ticks = 0;   // the truth lies within offset ± bound, > 0
};
// The skew that one round trip shows: asked when the counter of a showed `sent`, answered when that
// of b showed `stamp`, received when that of a showed `received`. Each moment may have been up to a
// step of the counters later than they showed.
TickSkew skew_of(std::uint64_t sent, std::uint64_t stamp, std::uint64_t received,
                 double step_ticks);
// Exchanges `rounds` time stamps between a thread bound to os_index a and one bound to b and keeps
// the fastest round trip (Cristian's algorithm). throws: SystemError if a PU cannot be bound to.
TickSkew measure_tick_skew(unsigned a, unsigned b, int rounds = 2000);

}  // namespace tabane::core
