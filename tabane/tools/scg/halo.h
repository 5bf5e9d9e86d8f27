// The elements at the edges of blocks, to and from the neighbours.
#pragma once

#include <array>
#include <vector>

#include "tabane/comm/comm.h"
#include "tabane/tools/scg/block.h"
#include "tabane/tools/scg/field.h"
#include "tabane/tools/scg/kernels.h"

namespace tabane::scg {

// At most four messages each way, of a row or a column.
class Halo {
 public:
  // The communicator and the block must outlive it.
  Halo(comm::Comm& comm, const Block& block);

  // Starts to exchange the edges of p as it is; of what r + beta p will be.
  void begin(const Field& p);
  void begin(const Field& r, double beta, const Field& p);
  // Waits for the neighbours' edges, which place() then writes into the frame of p.
  void wait();
  void place(const Field& p);
  // All three, for the edges of p as it is.
  void exchange(const Field& p) {
    begin(p);
    wait();
    place(p);
  }

  // Of (p, A p): the products over the edges between unknowns of this rank and of its neighbours to
  // the north and to the west; the others count the rest. After place().
  double cut_edges(const Field& p, const Couplings& couplings) const;

 private:
  struct Edge {
    std::vector<double> sent, received;
  };
  std::size_t length(int side) const;
  void copy_edge(const Field& field, int side, std::vector<double>& to) const;
  void start();

  comm::Comm& comm_;
  const Block& block_;
  std::array<Edge, kSides> edges_;
  std::vector<double> spare_;
  std::vector<comm::Request> requests_;
};

}  // namespace tabane::scg
