pkg_check_modules(SIMGRID QUIET IMPORTED_TARGET simgrid)
if(SIMGRID_FOUND)
  tabane_bench_program(simgrid bench_program_simgrid.cc PkgConfig::SIMGRID)
endif()
