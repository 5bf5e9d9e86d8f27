// What an expert writes by hand for one machine: the compiler's own vectors, 8 or 16 at a time,
// each with its accumulator.
#include <cstring>

#include "tabane/simd/bench_peers.h"

namespace tabane::bench {
namespace {

// As wide as the machine's registers.
constexpr std::size_t kLanes = __BIGGEST_ALIGNMENT__ / sizeof(double);
using Vector = double __attribute__((vector_size(__BIGGEST_ALIGNMENT__)));

// What is at a place: numbers for a whole vector, or one.
constexpr auto kVectorAt = [](const double* from) {
  Vector v;
  std::memcpy(&v, from, sizeof(v));
  return v;
};
constexpr auto kNumberAt = [](const double* from) { return *from; };

// term(at, i): of elements from i on, which are at(x + i).
template <int kFold>
inline double reduce(std::size_t n, auto term) {
  Vector sums[kFold] = {};
  std::size_t i = 0;
  for (; i + kFold * kLanes <= n; i += kFold * kLanes) {
#pragma GCC unroll 16
    for (int k = 0; k < kFold; ++k) sums[k] += term(kVectorAt, i + k * kLanes);
  }
  for (; i + kLanes <= n; i += kLanes) sums[0] += term(kVectorAt, i);
#pragma GCC unroll 16
  for (int k = 1; k < kFold; ++k) sums[0] += sums[k];
  double sum = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) sum += sums[0][lane];
  for (; i < n; ++i) sum += term(kNumberAt, i);
  return sum;
}

template <int kFold>
inline void write(double* to, std::size_t n, auto value) {
  const auto store = [=](std::size_t i) {
    const Vector v = value(kVectorAt, i);
    std::memcpy(to + i, &v, sizeof(v));
  };
  std::size_t i = 0;
  for (; i + kFold * kLanes <= n; i += kFold * kLanes) {
#pragma GCC unroll 16
    for (int k = 0; k < kFold; ++k) store(i + k * kLanes);
  }
  for (; i + kLanes <= n; i += kLanes) store(i);
  for (; i < n; ++i) to[i] = value(kNumberAt, i);
}

template <int kFold>
double sum(const double* x, std::size_t n) {
  return reduce<kFold>(n, [=](auto at, std::size_t i) { return at(x + i); });
}

template <int kFold>
double sum_of_squares(const double* x, std::size_t n) {
  return reduce<kFold>(n, [=](auto at, std::size_t i) { return at(x + i) * at(x + i); });
}

template <int kFold>
double dot(const double* x, const double* y, std::size_t n) {
  return reduce<kFold>(n, [=](auto at, std::size_t i) { return at(x + i) * at(y + i); });
}

template <int kFold>
void axpy(double a, const double* x, double* y, std::size_t n) {
  write<kFold>(y, n, [=](auto at, std::size_t i) { return at(y + i) + a * at(x + i); });
}

template <int kFold>
void set(double* a, double s, std::size_t n) {
  write<kFold>(a, n, [=](auto at, std::size_t) { return decltype(at(a)){} + s; });
}

template <int kFold>
void copy(const double* a, double* c, std::size_t n) {
  write<kFold>(c, n, [=](auto at, std::size_t i) { return at(a + i); });
}

template <int kFold>
void scale(double s, const double* c, double* b, std::size_t n) {
  write<kFold>(b, n, [=](auto at, std::size_t i) { return s * at(c + i); });
}

template <int kFold>
void add(const double* a, const double* b, double* c, std::size_t n) {
  write<kFold>(c, n, [=](auto at, std::size_t i) { return at(a + i) + at(b + i); });
}

template <int kFold>
void triad(const double* b, double s, const double* c, double* a, std::size_t n) {
  write<kFold>(a, n, [=](auto at, std::size_t i) { return at(b + i) + s * at(c + i); });
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
