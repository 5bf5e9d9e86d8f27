// The peers of the vector kernels that a compiler makes: plain loops under an expert's flags.
#pragma once

#include <cstddef>

namespace tabane::bench {

struct LoopPeer {
  const char* name;
  const char* flags;
  double (*sum)(const double* x, std::size_t n);
  double (*sum_of_squares)(const double* x, std::size_t n);
  double (*dot)(const double* x, const double* y, std::size_t n);
  void (*axpy)(double a, const double* x, double* y, std::size_t n);
  void (*set)(double* a, double s, std::size_t n);
  void (*copy)(const double* a, double* c, std::size_t n);
  void (*scale)(double s, const double* c, double* b, std::size_t n);
  void (*add)(const double* a, const double* b, double* c, std::size_t n);
  void (*triad)(const double* b, double s, const double* c, double* a, std::size_t n);
};

// One a translation unit; the flags are in CMakeLists.txt.
extern const LoopPeer kFastMathPeer;        // -O3 -ffast-math
extern const LoopPeer kNativePeer;          // -O3 -ffast-math -march=native
extern const LoopPeer kNativeUnrolledPeer;  // the same, unrolled into several accumulators
extern const LoopPeer kClonesPeer;       // -O3 -ffast-math with run-time dispatch by the compiler
extern const LoopPeer kEightfoldPeer;    // native, unrolled by hand into 8 vectors
extern const LoopPeer kSixteenfoldPeer;  // native, unrolled by hand into 16 vectors

}  // namespace tabane::bench
