target_link_libraries(tabane_bench PRIVATE OpenSSL::Crypto)
tabane_bench_program(aes_ranks bench_program_aes_ranks.cc tabane::encrypt tabane_bench_served)
