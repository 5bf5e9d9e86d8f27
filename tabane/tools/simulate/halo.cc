#include "tabane/tools/simulate/halo.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tabane/comm/collectives.h"
#include "tabane/comm/launch.h"
#include "tabane/comm/machine.h"
#include "tabane/core/error.h"

namespace tabane::simulate {
namespace {

struct Neighbour {
  int rank;
  std::size_t points;  // of the border between them
};

int share(int side, int parts, int index) {
  return static_cast<int>(std::int64_t{side} * (index + 1) / parts) -
         static_cast<int>(std::int64_t{side} * index / parts);
}

// Those above, below, left and right: the mesh ends where the machine does, though that is a torus.
std::vector<Neighbour> neighbours(const comm::sim::Machine& machine, int rank, int rows,
                                  int columns) {
  const int row = rank / machine.columns, column = rank % machine.columns;
  std::vector<Neighbour> all;
  if (row > 0) all.push_back({rank - machine.columns, static_cast<std::size_t>(columns)});
  if (row + 1 < machine.rows) {
    all.push_back({rank + machine.columns, static_cast<std::size_t>(columns)});
  }
  if (column > 0) all.push_back({rank - 1, static_cast<std::size_t>(rows)});
  if (column + 1 < machine.columns) all.push_back({rank + 1, static_cast<std::size_t>(rows)});
  return all;
}

}  // namespace

comm::SimulatedRun simulate_halo(const std::string& name, const std::string& changes,
                                 const Halo& halo, const std::function<void()>& check) {
  const comm::sim::Machine machine = comm::sim::machine_named(name, 0);
  if (halo.side < std::max(machine.rows, machine.columns)) {
    throw core::UsageError(
        "a mesh of {} points a side is too small for {}x{} ranks: give at least {}", halo.side,
        machine.rows, machine.columns, std::max(machine.rows, machine.columns));
  }
  comm::SimulatedRun run;
  comm::launch({.machine = name, .machine_changes = changes}, [&](comm::Comm& comm) {
    if (comm.rank() == 0) {
      comm::record_run(comm.transport(), run);
      comm::check_run(comm.transport(), check);
    }
    const int rows = share(halo.side, machine.rows, comm.rank() / machine.columns);
    const int columns = share(halo.side, machine.columns, comm.rank() % machine.columns);
    const std::vector<Neighbour> all = neighbours(machine, comm.rank(), rows, columns);
    std::vector<double> border(static_cast<std::size_t>(std::max(rows, columns)));
    for (int step = 0; step < halo.steps; ++step) {
      for (const Neighbour& one : all) comm.send(one.rank, std::span(border).first(one.points));
      for (const Neighbour& one : all) comm.recv(one.rank, std::span(border).first(one.points));
      const double points = static_cast<double>(rows) * columns;
      comm.compute({.kind = "stencil",
                    .operations = halo.operations * points,
                    .bytes = halo.bytes * points});
      for (int sum = 0; sum < halo.sums; ++sum) {
        comm::all_reduce(comm, 1.0, comm::Operation::sum);
      }
    }
  });
  return run;
}

}  // namespace tabane::simulate
