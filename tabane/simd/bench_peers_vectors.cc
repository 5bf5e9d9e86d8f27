// What an expert writes by hand for one machine: the compiler's own vectors, 8 or 16 at a time,
// each with its accumulator.
#include <cstring>

#include "tabane/simd/bench_peers.h"

namespace tabane::bench {
namespace {

// As wide as the machine's registers.
constexpr std::size_t kLanes = __BIGGEST_ALIGNMENT__ / sizeof(double);
using Vector = double __attribute__((vector_size(__BIGGEST_ALIGNMENT__)));

inline Vector load(const double* from) {
  Vector v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}

inline void store(double* to, Vector v) { std::memcpy(to, &v, sizeof(v)); }

// term(i) for whole vectors, last(i) for the elements behind them.
template <int kFold, class Term, class Last>
inline double reduce(std::size_t n, Term term, Last last) {
  Vector sums[kFold] = {};
  std::size_t i = 0;
  for (; i + kFold * kLanes <= n; i += kFold * kLanes) {
#pragma GCC unroll 16
    for (int k = 0; k < kFold; ++k) sums[k] += term(i + k * kLanes);
  }
  for (; i + kLanes <= n; i += kLanes) sums[0] += term(i);
#pragma GCC unroll 16
  for (int k = 1; k < kFold; ++k) sums[0] += sums[k];
  double sum = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) sum += sums[0][lane];
  for (; i < n; ++i) sum += last(i);
  return sum;
}

template <int kFold, class Value, class Last>
inline void write(double* to, std::size_t n, Value value, Last last) {
  std::size_t i = 0;
  for (; i + kFold * kLanes <= n; i += kFold * kLanes) {
#pragma GCC unroll 16
    for (int k = 0; k < kFold; ++k) store(to + i + k * kLanes, value(i + k * kLanes));
  }
  for (; i + kLanes <= n; i += kLanes) store(to + i, value(i));
  for (; i < n; ++i) to[i] = last(i);
}

template <int kFold>
double sum(const double* x, std::size_t n) {
  return reduce<kFold>(
      n, [=](std::size_t i) { return load(x + i); }, [=](std::size_t i) { return x[i]; });
}

template <int kFold>
double sum_of_squares(const double* x, std::size_t n) {
  const auto term = [=](std::size_t i) {
    const Vector v = load(x + i);
    return v * v;
  };
  return reduce<kFold>(n, term, [=](std::size_t i) { return x[i] * x[i]; });
}

template <int kFold>
double dot(const double* x, const double* y, std::size_t n) {
  return reduce<kFold>(
      n, [=](std::size_t i) { return load(x + i) * load(y + i); },
      [=](std::size_t i) { return x[i] * y[i]; });
}

template <int kFold>
void axpy(double a, const double* x, double* y, std::size_t n) {
  write<kFold>(
      y, n, [=](std::size_t i) { return load(y + i) + a * load(x + i); },
      [=](std::size_t i) { return y[i] + a * x[i]; });
}

template <int kFold>
void set(double* a, double s, std::size_t n) {
  write<kFold>(
      a, n, [=](std::size_t) { return Vector{} + s; }, [=](std::size_t) { return s; });
}

template <int kFold>
void copy(const double* a, double* c, std::size_t n) {
  write<kFold>(
      c, n, [=](std::size_t i) { return load(a + i); }, [=](std::size_t i) { return a[i]; });
}

template <int kFold>
void scale(double s, const double* c, double* b, std::size_t n) {
  write<kFold>(
      b, n, [=](std::size_t i) { return s * load(c + i); },
      [=](std::size_t i) { return s * c[i]; });
}

template <int kFold>
void add(const double* a, const double* b, double* c, std::size_t n) {
  write<kFold>(
      c, n, [=](std::size_t i) { return load(a + i) + load(b + i); },
      [=](std::size_t i) { return a[i] + b[i]; });
}

template <int kFold>
void triad(const double* b, double s, const double* c, double* a, std::size_t n) {
  write<kFold>(
      a, n, [=](std::size_t i) { return load(b + i) + s * load(c + i); },
      [=](std::size_t i) { return b[i] + s * c[i]; });
}

template <int kFold>
constexpr LoopPeer unrolled(const char* name) {
  return {name,         "-O3 -ffast-math -march=native, unrolled by hand",
          sum<kFold>,   sum_of_squares<kFold>,
          dot<kFold>,   axpy<kFold>,
          set<kFold>,   copy<kFold>,
          scale<kFold>, add<kFold>,
          triad<kFold>};
}

}  // namespace

const LoopPeer kEightfoldPeer = unrolled<8>("native by hand, 8 vectors");
const LoopPeer kSixteenfoldPeer = unrolled<16>("native by hand, 16 vectors");

}  // namespace tabane::bench
