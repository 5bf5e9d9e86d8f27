target_sources(tabane_bench PRIVATE ${CMAKE_CURRENT_LIST_DIR}/synthetic_command_test.cc)
configure_file(${CMAKE_CURRENT_LIST_DIR}/bench_optuna.py tune_optuna.py COPYONLY)
tabane_bench_program(allocations bench_program_allocations.cc Threads::Threads)
