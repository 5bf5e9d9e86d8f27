#define PEER kFastMathPeer
#define PEER_TEXT "compiler -O3 -ffast-math"
#define PEER_FLAGS "-O3 -ffast-math"
#define PEER_ATTRIBUTE
#include "tabane/simd/bench_peers_loops.inc"
