# Programs that know nothing of tabane, against which the survey is held, with multiply-adds in one.
foreach(program chase fma ping_pong read start stream touch)
  tabane_bench_program(truth_${program} bench_truth/${program}.cc)
  target_compile_options(tabane_bench_truth_${program} PRIVATE -O3 ${native} -ffp-contract=fast
                                                               -Wall -Wextra -Wpedantic -Wshadow)
  if(NOT program MATCHES "chase|start")
    target_link_libraries(tabane_bench_truth_${program} PRIVATE OpenMP::OpenMP_CXX)
  endif()
endforeach()
