tabane_bench_program(comm bench_program_comm.cc tabane::comm tabane_bench_served)

# The same messages over each MPI that pkg-config knows.
foreach(mpi openmpi mpich)
  string(REPLACE openmpi ompi-c package ${mpi})
  pkg_check_modules(MPI_${mpi} QUIET IMPORTED_TARGET ${package})
  if(MPI_${mpi}_FOUND)
    tabane_bench_program(${mpi} bench_program_mpi.cc tabane::core
                         tabane_bench_served PkgConfig::MPI_${mpi})
    target_compile_definitions(tabane_bench_${mpi} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  endif()
endforeach()
