// A module for MPI of another version, which has nothing else.
#include "tabane/comm/transport/mpi_module.h"

const char tabane::comm::tabane_mpi_version[] = "0.0.0";
