// Commands whose times come from known laws on machines that need not exist: for tests and for the
// race against other tuners. No clock, no processes.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "tabane/tools/tune/search.h"
#include "tabane/tools/tune/space.h"

namespace tabane::lab::tune {

struct SyntheticMachine {
  int nodes = 2, cores_per_node = 18, pus_per_core = 2;

  int cores() const { return nodes * cores_per_node; }
  int pus() const { return cores() * pus_per_core; }
};

inline constexpr SyntheticMachine k72Pus{2, 18, 2};
inline constexpr SyntheticMachine k512Pus{8, 32, 2};

// The laws of one command. Shares are of the work of one worker.
struct SyntheticLaw {
  double serial_threads = 0, coherency_threads = 0;      // within a process
  double serial_processes = 0, coherency_processes = 0;  // between processes
  double second_pu = 0.2;                                // what the second PU of a core adds
  double remote = 0;              // more coherency where a process is on several nodes
  double memory = 0;              // share that moves data from memory
  double node_bandwidth = 10;     // in workers' worth
  bool one_node_touches = false;  // all pages of a process are on the node of its first thread
  double interleave_penalty = 0;  // of the share that moves data
  double allocation = 0;          // share that allocates
  std::vector<double> allocator_alone = {1};   // relative time of one thread, of each allocator
  std::vector<double> allocator_growth = {0};  // per doubling of the threads of a process
  double huge_pages = 0;                       // gain of the share that moves data; negative: loss
  double start_of_process = 0;                 // seconds of one worker's work
  double unbound = 0;                          // loss where threads move about
  double noise = 0.05;
  double disturbed = 0;          // share of the runs that take 2 to 3 times as long
  bool nothing_matters = false;  // all candidates take 1 s
  // What is varied, beside threads, placement and the allocators above.
  bool varies_processes = true, varies_huge_pages = true, varies_memory = true;
};

// A command that scales, or does not, in a way drawn at random.
SyntheticLaw draw_law(const SyntheticMachine& machine, std::mt19937_64& random);

class SyntheticCommand {
 public:
  SyntheticCommand(const SyntheticMachine& machine, const SyntheticLaw& law,
                   std::uint64_t seed = 1);
  SyntheticCommand(const SyntheticCommand&) = delete;
  SyntheticCommand& operator=(const SyntheticCommand&) = delete;

  const Space& space() const { return space_; }
  double true_seconds(std::size_t candidate) const { return true_seconds_[candidate]; }
  double least_seconds() const;
  // With the noise and the disturbances of the law.
  RunResult run(std::size_t candidate);

 private:
  double seconds_of(const Candidate& candidate) const;

  SyntheticMachine machine_;
  SyntheticLaw law_;
  Space space_;
  std::vector<double> true_seconds_;
  std::mt19937_64 random_;
};

}  // namespace tabane::lab::tune
