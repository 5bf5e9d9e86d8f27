#define PEER kNativeUnrolledPeer
#define PEER_TEXT "compiler fast-math native unrolled"
#define PEER_FLAGS "-O3 -ffast-math -march=native -funroll-loops " PEER_EXPANSION
#define PEER_ATTRIBUTE
#include "tabane/simd/bench_peers_loops.inc"
