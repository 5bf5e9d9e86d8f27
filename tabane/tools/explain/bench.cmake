tabane_bench_program(causes bench_program_causes.cc Threads::Threads)
