# LAPACK with OpenBLAS's own threads, which tabane_bench itself is built without.
find_library(OPENBLAS_PTHREAD openblas PATH_SUFFIXES openblas-pthread NO_CACHE)
if(OPENBLAS_PTHREAD MATCHES openblas-pthread)
  tabane_bench_program(dgesv bench_program_dgesv.cc ${OPENBLAS_PTHREAD})
endif()
