#include "tabane/simd/ladder.h"

#include <utility>

#include "tabane/simd/elementwise.h"
#include "tabane/simd/reduction.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/simd/ladder.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include "tabane/simd/dispatch.h"
#include "tabane/simd/terms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::simd::HWY_NAMESPACE {

using Tag = hn::ScalableTag<double>;
using Single = hn::CappedTag<double, 1>;

template <class Terms>
HWY_INLINE double one_chain(std::size_t n, const Terms& terms) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  auto s = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) s = terms.add(d, i, s);
  auto rest = hn::Zero(Single());
  for (; i < n; ++i) rest = terms.add(Single(), i, rest);
  return hn::GetLane(hn::SumOfLanes(d, s)) + hn::GetLane(rest);
}

template <class Terms>
HWY_INLINE double four_chains(std::size_t n, const Terms& terms) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  std::size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    s0 = terms.add(d, i, s0);
    s1 = terms.add(d, i + lanes, s1);
    s2 = terms.add(d, i + 2 * lanes, s2);
    s3 = terms.add(d, i + 3 * lanes, s3);
  }
  for (; i + lanes <= n; i += lanes) s0 = terms.add(d, i, s0);
  auto rest = hn::Zero(Single());
  for (; i < n; ++i) rest = terms.add(Single(), i, rest);
  const auto s = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
  return hn::GetLane(hn::SumOfLanes(d, s)) + hn::GetLane(rest);
}

// Small enough that y does not grow however often a measurement repeats the call.
constexpr double kFactor = 0x1p-60;

HWY_INLINE void axpy_step(auto d, const double* x, double* y) {
  hn::StoreU(hn::MulAdd(hn::Set(d, kFactor), hn::LoadU(d, x), hn::LoadU(d, y)), d, y);
}

double sum_one(const double* x, double*, std::size_t n) {
  return one_chain(n, SumTerms<double>{x});
}
double sum_four(const double* x, double*, std::size_t n) {
  return four_chains(n, SumTerms<double>{x});
}
double squares_one(const double* x, double*, std::size_t n) {
  return one_chain(n, SquareTerms<double>{x});
}
double squares_four(const double* x, double*, std::size_t n) {
  return four_chains(n, SquareTerms<double>{x});
}
double dot_one(const double* x, double* y, std::size_t n) {
  return one_chain(n, ProductTerms<double>{x, y});
}
double dot_four(const double* x, double* y, std::size_t n) {
  return four_chains(n, ProductTerms<double>{x, y});
}

double axpy_one(const double* x, double* y, std::size_t n) {
  const Tag d;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) axpy_step(d, x + i, y + i);
  for (; i < n; ++i) axpy_step(Single(), x + i, y + i);
  return 0;
}

double axpy_four(const double* x, double* y, std::size_t n) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    axpy_step(d, x + i, y + i);
    axpy_step(d, x + i + lanes, y + i + lanes);
    axpy_step(d, x + i + 2 * lanes, y + i + 2 * lanes);
    axpy_step(d, x + i + 3 * lanes, y + i + 3 * lanes);
  }
  for (; i < n; ++i) axpy_step(Single(), x + i, y + i);
  return 0;
}

// Scalable vectors cannot stand in arrays: the accumulators are parameters.
template <std::size_t... I, class... V>
HWY_INLINE AccumulatedSum sum_chains(const double* x, std::size_t n, std::uint64_t passes,
                                     std::index_sequence<I...>, V... sums) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d), step = sizeof...(I) * lanes;
  n -= n % step;
  for (std::uint64_t pass = 0; pass < passes; ++pass)
    for (std::size_t i = 0; i < n; i += step)
      ((sums = hn::Add(sums, hn::LoadU(d, x + i + I * lanes))), ...);
  auto all = hn::Zero(d);
  ((all = hn::Add(all, sums)), ...);
  return {hn::GetLane(hn::SumOfLanes(d, all)), passes * n};
}

template <std::size_t... I>
HWY_INLINE AccumulatedSum sum_in(const double* x, std::size_t n, std::uint64_t passes,
                                 std::index_sequence<I...> each) {
  return sum_chains(x, n, passes, each, ((void)I, hn::Zero(Tag()))...);
}

// One function for each number of accumulators.
template <std::size_t... K>
HWY_INLINE AccumulatedSum sum_in_one_of(std::size_t accumulators, const double* x, std::size_t n,
                                        std::uint64_t passes, std::index_sequence<K...>) {
  AccumulatedSum found;
  ((K + 1 == accumulators &&
    (found = sum_in(x, n, passes, std::make_index_sequence<K + 1>()), true)) ||
   ...);
  return found;
}

AccumulatedSum sum_accumulated(std::size_t accumulators, const double* x, std::size_t n,
                               std::uint64_t passes) {
  return sum_in_one_of(accumulators, x, n, passes, std::make_index_sequence<kMostAccumulators>());
}

}  // namespace tabane::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::simd {
namespace {

HWY_EXPORT(sum_one);
HWY_EXPORT(sum_four);
HWY_EXPORT(squares_one);
HWY_EXPORT(squares_four);
HWY_EXPORT(dot_one);
HWY_EXPORT(dot_four);
HWY_EXPORT(axpy_one);
HWY_EXPORT(axpy_four);
HWY_EXPORT(sum_accumulated);

using In = std::span<const double>;
using Out = std::span<double>;

constexpr std::string_view kPlain = "plain loop", kOne = "one accumulator", kUnrolled = "unrolled",
                           kShipped = "shipped";

constexpr Rung kLadder[] = {
    {"sum", kPlain,
     [](const double* x, double*, std::size_t n) { return sum_reference(In(x, n)); }},
    {"sum", kOne, [](auto... v) { return TABANE_DISPATCH(sum_one)(v...); }},
    {"sum", kUnrolled, [](auto... v) { return TABANE_DISPATCH(sum_four)(v...); }},
    {"sum", kShipped, [](const double* x, double*, std::size_t n) { return sum(In(x, n)); }},
    {"sum_of_squares", kPlain,
     [](const double* x, double*, std::size_t n) { return sum_of_squares_reference(In(x, n)); }},
    {"sum_of_squares", kOne, [](auto... v) { return TABANE_DISPATCH(squares_one)(v...); }},
    {"sum_of_squares", kUnrolled, [](auto... v) { return TABANE_DISPATCH(squares_four)(v...); }},
    {"sum_of_squares", kShipped,
     [](const double* x, double*, std::size_t n) { return sum_of_squares(In(x, n)); }},
    {"dot", kPlain,
     [](const double* x, double* y, std::size_t n) { return dot_reference(In(x, n), In(y, n)); }},
    {"dot", kOne, [](auto... v) { return TABANE_DISPATCH(dot_one)(v...); }},
    {"dot", kUnrolled, [](auto... v) { return TABANE_DISPATCH(dot_four)(v...); }},
    {"dot", kShipped,
     [](const double* x, double* y, std::size_t n) { return dot(In(x, n), In(y, n)); }},
    {"axpy", kPlain,
     [](const double* x, double* y, std::size_t n) {
       axpy_reference(HWY_NAMESPACE::kFactor, In(x, n), Out(y, n));
       return 0.0;
     }},
    {"axpy", kOne, [](auto... v) { return TABANE_DISPATCH(axpy_one)(v...); }},
    {"axpy", kUnrolled, [](auto... v) { return TABANE_DISPATCH(axpy_four)(v...); }},
    {"axpy", kShipped,
     [](const double* x, double* y, std::size_t n) {
       axpy(HWY_NAMESPACE::kFactor, In(x, n), Out(y, n));
       return 0.0;
     }},
};

}  // namespace

std::span<const Rung> ladder() { return kLadder; }

AccumulatedSum sum_with(int accumulators, std::span<const double> x, std::uint64_t passes) {
  return TABANE_DISPATCH(sum_accumulated)(static_cast<std::size_t>(accumulators), x.data(),
                                          x.size(), passes);
}

}  // namespace tabane::simd
#endif
