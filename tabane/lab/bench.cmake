tabane_bench_program(netpipe bench_program_netpipe.cc tabane::lab tabane_bench_served)
