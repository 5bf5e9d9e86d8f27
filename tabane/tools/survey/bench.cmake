# Programs that know nothing of tabane, against which the survey is held, with multiply-adds in one.
foreach(program alone together)
  tabane_bench_program(truth_${program} bench_truth/${program}.cc)
  target_compile_options(tabane_bench_truth_${program} PRIVATE -O3 -march=native -ffp-contract=fast)
endforeach()
target_link_libraries(tabane_bench_truth_together PRIVATE OpenMP::OpenMP_CXX)
