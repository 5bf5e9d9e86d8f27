// The operations that MPI does itself, and does right: MPICH 4.0 compares unsigned integers as if
// they were signed.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>

#include "tabane/comm/operation.h"

namespace tabane::comm::mpi {

class Operations {
 public:
  struct Native {
    MPI_Datatype type;
    MPI_Op operation;
  };

  // All ranks of `comm` call it. Each operation is tried on numbers at the edges of each type,
  // where one wrong result on one rank is enough. cost: 24 reductions of 64 elements, under way at
  // the same time, and a gather. yields: while it waits.
  Operations(MPI_Comm comm, bool yields);

  // Nothing if MPI has none for it, or a wrong one. The same on all ranks.
  std::optional<Native> find(TypeCode type, Operation operation) const;

 private:
  std::uint64_t wrong_ = 0;  // a bit per type and operation
};

}  // namespace tabane::comm::mpi
