tabane_bench_program(comm bench_program_comm.cc tabane::comm tabane_bench_served)

# The same messages over each MPI that is there.
foreach(mpi openmpi mpich)
  if(TARGET PkgConfig::MPI_${mpi})
    tabane_bench_program(${mpi} bench_program_mpi.cc tabane::core
                         tabane_bench_served PkgConfig::MPI_${mpi})
  endif()
endforeach()
