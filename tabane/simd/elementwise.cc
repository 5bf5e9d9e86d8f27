#include "tabane/simd/elementwise.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tabane/core/error.h"
#include "tabane/core/topology.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/simd/elementwise.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "tabane/simd/dispatch.h"

#ifndef TABANE_SIMD_ELEMENTWISE_GENERATED_
#define TABANE_SIMD_ELEMENTWISE_GENERATED_
namespace tabane::simd {

constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;        // 2^64 over the golden ratio, odd
constexpr std::uint64_t kOneAndMore = 0x3ff0000000000000;  // the exponent of [1, 2)

// What the lanes of the widest vectors add, 2048 bits.
constexpr auto kMultiples = [] {
  std::array<std::uint64_t, 32> multiples{};
  for (std::size_t lane = 0; lane < multiples.size(); ++lane) multiples[lane] = lane * kStep;
  return multiples;
}();

}  // namespace tabane::simd
#endif

HWY_BEFORE_NAMESPACE();
namespace tabane::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// What a kernel reads.
template <class T>
struct Operands {
  const T* a;
  const T* b;
  T s;
};

struct PlainStore {
  template <class V, class D, class T>
  HWY_INLINE void operator()(V v, D d, T* to) const {
    hn::Store(v, d, to);
  }
};

struct StreamStore {
  template <class V, class D, class T>
  HWY_INLINE void operator()(V v, D d, T* to) const {
    hn::Stream(v, d, to);
  }
};

// Elements before the first whole vector of the destination; at most lanes - 1.
template <class T>
HWY_INLINE std::size_t misaligned_elements(const T* to, std::size_t lanes) {
  const std::size_t vector = lanes * sizeof(T);
  return ((0 - reinterpret_cast<std::uintptr_t>(to)) & (vector - 1)) / sizeof(T);
}

// summand + factor * v. On x86 before AVX-512 a product and a sum, each rounded: on Zen 3 an FMA
// together with a store lasts 1.5 cycles unless the two happen to fall to different schedulers,
// whereas a product, a sum and a store last 1, and as both take their operand from memory there are
// no more instructions. Vectors of 512 bits have two pipes for all arithmetic on Intel's cores:
// there two operations instead of one cost a fifth of the speed.
template <class V>
HWY_INLINE V add_product(V summand, V factor, V v) {
#if HWY_ARCH_X86 && HWY_MAX_BYTES < 64 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  auto product = hn::Mul(factor, v);
  // Else the compiler would make the two an FMA again.
  asm("" : "+v"(product.raw));
  return hn::Add(product, summand);
#else
  return hn::MulAdd(factor, v, summand);
#endif
}

struct Set {
  static constexpr int kReads = 0;
  template <class D, class T>
  static HWY_INLINE hn::Vec<D> of(D d, const Operands<T>& in, std::size_t) {
    return hn::Set(d, in.s);
  }
};

struct Copy {
  static constexpr int kReads = 1;
  template <class D, class T>
  static HWY_INLINE hn::Vec<D> of(D d, const Operands<T>& in, std::size_t i) {
    return hn::LoadU(d, in.a + i);
  }
};

struct Scale {
  static constexpr int kReads = 1;
  template <class D, class T>
  static HWY_INLINE hn::Vec<D> of(D d, const Operands<T>& in, std::size_t i) {
    return hn::Mul(hn::Set(d, in.s), hn::LoadU(d, in.a + i));
  }
};

struct Add {
  static constexpr int kReads = 2;
  template <class D, class T>
  static HWY_INLINE hn::Vec<D> of(D d, const Operands<T>& in, std::size_t i) {
    return hn::Add(hn::LoadU(d, in.a + i), hn::LoadU(d, in.b + i));
  }
};

struct Triad {
  static constexpr int kReads = 2;
  template <class D, class T>
  static HWY_INLINE hn::Vec<D> of(D d, const Operands<T>& in, std::size_t i) {
    return add_product(hn::LoadU(d, in.a + i), hn::Set(d, in.s), hn::LoadU(d, in.b + i));
  }
};

struct Generate {
  static constexpr int kReads = 0;
  template <class D>
  static HWY_INLINE hn::Vec<D> of(D d, const Operands<double>&, std::size_t i) {
    const hn::RebindToUnsigned<D> bits;
    const auto sum = hn::Add(hn::LoadU(bits, kMultiples.data()), hn::Set(bits, i * kStep));
    return hn::BitCast(d, hn::Or(hn::ShiftRight<12>(sum), hn::Set(bits, kOneAndMore)));
  }
};

// The results of an operation: value(d, i) has those of elements [i, i + Lanes(d)).
template <class Operation, class T>
struct Values {
  Operands<T> in;

  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, std::size_t i) const {
    return Operation::of(d, in, i);
  }
  // Asks for what elements [i, i + n) lie `lines` cache lines before.
  HWY_INLINE void fetch(std::size_t i, std::size_t n, int lines) const {
    constexpr std::size_t kLine = 64 / sizeof(T);
    for (std::size_t k = i + kLine * lines; k < i + kLine * lines + n; k += kLine) {
      hwy::Prefetch(in.a + k);
      hwy::Prefetch(in.b + k);
    }
  }
};

#if HWY_ARCH_X86 && HWY_MAX_BYTES == 64
// Sets or copies by the processor's own loop, which writes whole lines without reading them first.
template <class Operation, class T>
HWY_INLINE void move_as_string(T* to, std::size_t n, const Operands<T>& in) {
  std::size_t words = n * sizeof(T) / 8;
  if constexpr (Operation::kReads == 0) {
    std::uint64_t word;
    const T two[] = {in.s, in.s};
    __builtin_memcpy(&word, two, 8);
    if (n * sizeof(T) % 8 != 0) to[n - 1] = in.s;
    asm volatile("rep stosq" : "+D"(to), "+c"(words) : "a"(word) : "memory");
  } else {
    const T* from = in.a;
    std::size_t bytes = n * sizeof(T);
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
  }
}
#endif

// Four vectors at [i, i + 4 Lanes(d)), each stored before the next is loaded: loads and stores then
// reach their pipes evenly mixed. In groups (four vectors of loads, then four stores) Zen 3 needs a
// fifth more cycles.
template <class D, class T, class Value, class StoreTo>
HWY_INLINE void store_four(D d, T* to, std::size_t i, const Value& value, StoreTo store) {
  const std::size_t lanes = hn::Lanes(d);
  store(value(d, i), d, to + i);
  store(value(d, i + lanes), d, to + i + lanes);
  store(value(d, i + 2 * lanes), d, to + i + 2 * lanes);
  store(value(d, i + 3 * lanes), d, to + i + 3 * lanes);
}

// Whole vectors from element i on, kPages pages at once: each page is a stream of its own to the
// prefetchers, which stop at its end. Returns the first element not done.
template <int kPages, class D, class T, class Value, class StoreTo>
HWY_INLINE std::size_t for_pages(D d, T* to, std::size_t i, std::size_t n, const Value& value,
                                 StoreTo store) {
  constexpr std::size_t kPage = 4096 / sizeof(T);
  const std::size_t step = 4 * hn::Lanes(d);
  if (kPage % step != 0) return i;
  for (; i + kPages * kPage <= n; i += kPages * kPage) {
    for (std::size_t k = i; k < i + kPage; k += step)
      for (int page = 0; page < kPages; ++page) store_four(d, to, k + page * kPage, value, store);
  }
  return i;
}

// How a loop goes over whole vectors.
struct Traversal {
  int fours = 1;        // times four vectors an iteration
  int pages = 1;        // at once
  int lines_ahead = 0;  // software prefetch of what is read; 0: none
};

// All whole vectors from element i on.
template <Traversal kTraversal, class D, class T, class Value, class StoreTo>
HWY_INLINE void for_vectors(D d, T* to, std::size_t i, std::size_t n, const Value& value,
                            StoreTo store) {
  const std::size_t lanes = hn::Lanes(d);
  if constexpr (kTraversal.pages > 1) i = for_pages<kTraversal.pages>(d, to, i, n, value, store);
  if constexpr (kTraversal.fours > 1) {
    for (; i + kTraversal.fours * 4 * lanes <= n; i += kTraversal.fours * 4 * lanes) {
      if constexpr (kTraversal.lines_ahead > 0)
        value.fetch(i, kTraversal.fours * 4 * lanes, kTraversal.lines_ahead);
      for (int four = 0; four < kTraversal.fours; ++four)
        store_four(d, to, i + four * 4 * lanes, value, store);
    }
  }
  for (; i + 4 * lanes <= n; i += 4 * lanes) store_four(d, to, i, value, store);
  for (; i + lanes <= n; i += lanes) store(value(d, i), d, to + i);
}

// `count` elements from i on, fewer than Lanes(d), in parts of 1, 2, 4 … as its bits say: the small
// ones first where the elements end at a whole vector of the destination, else last. So no part
// crosses a cache line, which costs as much as two stores, or a page, which costs ten.
template <bool kSmallFirst, std::size_t kPart, class D, class T, class Value>
HWY_INLINE void store_parts(D d, T* to, std::size_t i, std::size_t count, const Value& value) {
  if constexpr (kPart < hn::MaxLanes(D())) {
    if ((count & kPart) != 0) {
      const hn::CappedTag<T, kPart> part;
      const std::size_t at = i + (kSmallFirst ? count & (kPart - 1) : count & ~(2 * kPart - 1));
      hn::StoreU(value(part, at), part, to + at);
    }
    store_parts<kSmallFirst, 2 * kPart>(d, to, i, count, value);
  }
}

// value(d, i): the results of elements [i, i + Lanes(d)). Whole vectors begin at the first aligned
// element of the destination.
template <Traversal kTraversal, class D, class T, class Value, class StoreTo>
HWY_INLINE void for_elements(D d, T* to, std::size_t n, const Value& value, StoreTo store) {
  const std::size_t lanes = hn::Lanes(d);
  if (HWY_UNLIKELY(n < lanes)) {
    const hn::CappedTag<T, 1> one;
    for (std::size_t i = 0; i < n; ++i) hn::StoreU(value(one, i), one, to + i);
    return;
  }
  const std::size_t begin = misaligned_elements(to, lanes);
  const std::size_t left = (n - begin) % lanes;
  if (HWY_UNLIKELY(begin != 0)) store_parts<true, 1>(d, to, 0, begin, value);
  for_vectors<kTraversal>(d, to, begin, n, value, store);
  if (HWY_UNLIKELY(left != 0)) store_parts<false, 1>(d, to, n - left, left, value);
}

// Through the caches. The loop depends on where the arrays have room:
//   in a first-level cache (32 or 48 KiB) 16 vectors an iteration, as a taken branch costs up to
//   2 cycles where two threads share the core;
//   where they just fill it, 4, a fifth faster there on Sapphire Rapids;
//   beyond it 8, so that at most 16 loads are in the loop: with more, Zen 5 reads its
//   second-level cache at half speed, as if prefetchers that follow each load of a loop ran out of
//   entries.
template <class Operation, class D, class T>
HWY_INLINE void store_elements(D d, T* to, std::size_t n, const Operands<T>& in) {
  constexpr std::size_t kKiB = 1024;
  const Values<Operation, T> value{in};
  const std::size_t bytes = n * sizeof(T) * (Operation::kReads + 1);
#if HWY_ARCH_X86 && HWY_MAX_BYTES == 64
  constexpr std::size_t kNear = 64 * kKiB;
  const Habits& habits = simd::habits();
  if constexpr (std::is_same_v<Operation, Set> || std::is_same_v<Operation, Copy>) {
    if (habits.strings.contains(bytes)) return move_as_string<Operation>(to, n, in);
  }
  if (bytes <= kNear ? habits.half_vectors_near : habits.half_vectors_far) {
    const hn::Half<D> half;
    if (bytes <= kNear) return for_elements<Traversal{4}>(half, to, n, value, PlainStore());
    return for_elements<Traversal{2}>(half, to, n, value, PlainStore());
  }
  if constexpr (Operation::kReads == 2) {
    if (habits.prefetch.contains(bytes))
      return for_elements<Traversal{.fours = 2, .lines_ahead = 16}>(d, to, n, value, PlainStore());
  }
#endif
  if (bytes <= 40 * kKiB) return for_elements<Traversal{4}>(d, to, n, value, PlainStore());
  if (bytes <= 64 * kKiB) return for_elements<Traversal{1}>(d, to, n, value, PlainStore());
  for_elements<Traversal{2}>(d, to, n, value, PlainStore());
}

// The same past the caches: saves reading the destination's lines before they are overwritten.
template <class Operation, class D, class T>
HWY_INLINE void stream_elements(D d, T* to, std::size_t n, const Operands<T>& in) {
  constexpr int kPages = Operation::kReads == 1 ? 8 : 4;
  const Values<Operation, T> value{in};
  if (Operation::kReads > 0 && habits().several_pages)
    for_elements<Traversal{4, kPages}>(d, to, n, value, StreamStore());
  else
    for_elements<Traversal{4}>(d, to, n, value, StreamStore());
  hwy::FlushStream();
}

// The four functions of an operation that the table of targets has.
#define TABANE_ELEMENTWISE(operation, name)                                                       \
  void name##_f64(const double* a, const double* b, double s, double* to, std::size_t n) {        \
    store_elements<operation>(hn::ScalableTag<double>(), to, n, Operands<double>{a, b, s});       \
  }                                                                                               \
  void name##_stream_f64(const double* a, const double* b, double s, double* to, std::size_t n) { \
    stream_elements<operation>(hn::ScalableTag<double>(), to, n, Operands<double>{a, b, s});      \
  }                                                                                               \
  void name##_f32(const float* a, const float* b, float s, float* to, std::size_t n) {            \
    store_elements<operation>(hn::ScalableTag<float>(), to, n, Operands<float>{a, b, s});         \
  }                                                                                               \
  void name##_stream_f32(const float* a, const float* b, float s, float* to, std::size_t n) {     \
    stream_elements<operation>(hn::ScalableTag<float>(), to, n, Operands<float>{a, b, s});        \
  }
TABANE_ELEMENTWISE(Set, set)
TABANE_ELEMENTWISE(Copy, copy)
TABANE_ELEMENTWISE(Scale, scale)
TABANE_ELEMENTWISE(Add, add)
TABANE_ELEMENTWISE(Triad, triad)
#undef TABANE_ELEMENTWISE

void generate_f64(double* a, std::size_t n) {
  store_elements<Generate>(hn::ScalableTag<double>(), a, n, Operands<double>{});
}

void generate_stream_f64(double* a, std::size_t n) {
  stream_elements<Generate>(hn::ScalableTag<double>(), a, n, Operands<double>{});
}

}  // namespace tabane::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::simd {
#define TABANE_EXPORT(name)      \
  HWY_EXPORT(name##_f64);        \
  HWY_EXPORT(name##_stream_f64); \
  HWY_EXPORT(name##_f32);        \
  HWY_EXPORT(name##_stream_f32)
TABANE_EXPORT(set);
TABANE_EXPORT(copy);
TABANE_EXPORT(scale);
TABANE_EXPORT(add);
TABANE_EXPORT(triad);
#undef TABANE_EXPORT
HWY_EXPORT(generate_f64);
HWY_EXPORT(generate_stream_f64);

namespace {

// No core has more of a last-level cache for itself; virtual machines state that of several
// sockets.
constexpr std::size_t kMostCacheBytes = std::size_t{128} << 20;

std::size_t last_level_cache_bytes() {
  try {
    const core::Topology topology = core::Topology::detect();
    if (topology.is_this_machine() && !topology.caches().empty())
      return topology.caches().back().bytes;
  } catch (const core::Error&) {
    // The system still knows.
  }
  for (const int name : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    const long bytes = sysconf(name);
    if (bytes > 0) return static_cast<std::size_t>(bytes);
  }
  return std::size_t{32} << 20;
}

}  // namespace

std::size_t default_stream_bytes() {
  static const std::size_t bytes =
      std::clamp(last_level_cache_bytes() / 2, kSmallestStreamBytes, kMostCacheBytes / 2);
  return bytes;
}

// The kernel of the target in use that writes a destination the way that is asked for.
#define TABANE_STORING(name, type, streaming, to)                             \
  (streaming.applies(to.size_bytes()) ? TABANE_DISPATCH(name##_stream_##type) \
                                      : TABANE_DISPATCH(name##_##type))

// The functions of elementwise.h for numbers of a type. axpy is a triad whose summand is the
// destination. The kernel does not know that, which is what makes it fast on Zen 5: loads and
// stores through one address register that changes reach 0.76 of what they do through two.
#define TABANE_FUNCTIONS(T, type)                                                             \
  void set(std::span<T> a, T s, Streaming streaming) {                                        \
    TABANE_STORING(set, type, streaming, a)(nullptr, nullptr, s, a.data(), a.size());         \
  }                                                                                           \
  void copy(std::span<const T> a, std::span<T> c, Streaming streaming) {                      \
    TABANE_ASSERT(a.size() == c.size());                                                      \
    TABANE_STORING(copy, type, streaming, c)(a.data(), nullptr, 0, c.data(), c.size());       \
  }                                                                                           \
  void scale(T s, std::span<const T> c, std::span<T> b, Streaming streaming) {                \
    TABANE_ASSERT(c.size() == b.size());                                                      \
    TABANE_STORING(scale, type, streaming, b)(c.data(), nullptr, s, b.data(), b.size());      \
  }                                                                                           \
  void add(std::span<const T> a, std::span<const T> b, std::span<T> c, Streaming streaming) { \
    TABANE_ASSERT(a.size() == c.size());                                                      \
    TABANE_ASSERT(b.size() == c.size());                                                      \
    TABANE_STORING(add, type, streaming, c)(a.data(), b.data(), 0, c.data(), c.size());       \
  }                                                                                           \
  void triad(std::span<const T> b, T s, std::span<const T> c, std::span<T> a,                 \
             Streaming streaming) {                                                           \
    TABANE_ASSERT(b.size() == a.size());                                                      \
    TABANE_ASSERT(c.size() == a.size());                                                      \
    TABANE_STORING(triad, type, streaming, a)(b.data(), c.data(), s, a.data(), a.size());     \
  }                                                                                           \
  void axpy(T a, std::span<const T> x, std::span<T> y) {                                      \
    TABANE_ASSERT(x.size() == y.size());                                                      \
    TABANE_DISPATCH(triad_##type)(y.data(), x.data(), a, y.data(), y.size());                 \
  }
TABANE_FUNCTIONS(double, f64)
TABANE_FUNCTIONS(float, f32)
#undef TABANE_FUNCTIONS

double generated(std::size_t i) {
  return std::bit_cast<double>(std::uint64_t{i} * kStep >> 12 | kOneAndMore);
}

void generate(std::span<double> a, Streaming streaming) {
  TABANE_STORING(generate, f64, streaming, a)(a.data(), a.size());
}
#undef TABANE_STORING

std::vector<std::byte> generated_bytes(std::size_t bytes) {
  std::vector<double> values((bytes + sizeof(double) - 1) / sizeof(double));
  generate(values);
  std::vector<std::byte> contents(bytes);
  if (bytes > 0) std::memcpy(contents.data(), values.data(), bytes);
  return contents;
}

}  // namespace tabane::simd
#endif
