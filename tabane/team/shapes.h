// Which shapes are worth weighing.
#pragma once

#include <cstddef>
#include <vector>

#include "tabane/team/machine_load.h"
#include "tabane/team/shape.h"

namespace tabane::team {

// Shapes of at most `most_workers` workers in at most `most_processes` processes for n tasks: all
// of them on small machines; on large ones those that fill cores, nodes or the machine, divisors,
// powers of two and their halves between, and those that leave no worker idle in the last round.
std::vector<Shape> candidate_shapes(const Machine& machine, std::size_t n, int most_workers,
                                    int most_processes);

// Shapes a little larger and smaller than this one, within the same bounds.
std::vector<Shape> shapes_near(Shape shape, int most_workers, int most_processes);

}  // namespace tabane::team
