#include "tabane/comm/transport/mpi_places.h"

namespace tabane::comm {

const core::ModulePlaces& mpi_module_places() {
  static const core::ModulePlaces places{TABANE_BUILD_DIR, TABANE_MPI_BUILD_DIR,
                                         TABANE_MPI_FROM_PROGRAM, TABANE_MPI_INSTALL_DIR};
  return places;
}

}  // namespace tabane::comm
