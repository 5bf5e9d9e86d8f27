#define PEER kClonesPeer
#define PEER_TEXT "compiler fast-math run-time clones"
#define PEER_FLAGS \
  "-O3 -ffast-math, target_clones: znver3, znver2, skylake-avx512, haswell, default"
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
// Named by CPU: a clone for an instruction set alone would lack FMA.
#define PEER_ATTRIBUTE                                                              \
  __attribute__((target_clones("arch=znver3", "arch=znver2", "arch=skylake-avx512", \
                               "arch=haswell", "default")))
#else
#define PEER_ATTRIBUTE
#endif
#include "tabane/simd/bench_peers_loops.inc"
