// The expected time until the last of n tasks is done when workers take them one by one: the mean
// work of a worker, and the tail in which some already wait.
#pragma once

#include <span>

namespace tabane::team {

struct WorkerClass {
  double rate = 1;   // tasks of mean size per second, each worker
  double count = 1;  // workers
};

// Expected seconds for n tasks whose times have the relative standard deviation `variation`.
// Without variation exact for workers that begin together; with it, gamma-distributed times are
// assumed, and the phases of the workers drift apart from round to round. n, rates > 0.
double expected_makespan(double n, std::span<const WorkerClass> workers, double variation);

}  // namespace tabane::team
