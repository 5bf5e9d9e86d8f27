#define PEER kNativePeer
#define PEER_TEXT "compiler -O3 fast-math native"
#define PEER_FLAGS "-O3 -ffast-math -march=native"
#define PEER_ATTRIBUTE
#include "tabane/simd/bench_peers_loops.inc"
