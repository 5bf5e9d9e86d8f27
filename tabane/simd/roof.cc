#include "tabane/simd/roof.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/simd/roof.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "tabane/simd/dispatch.h"

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

#ifndef TABANE_SIMD_ROOF_SHAPE_
#define TABANE_SIMD_ROOF_SHAPE_
namespace tabane::simd {

// What distinguishes the loops of vectors.
struct Shape {
  int vectors = 0;        // of each array and stream in one iteration; a multiple of 4 if grouped
  int streams = 1;        // parts of the arrays that are gone through at once
  bool paged = false;     // the parts are pages side by side; else equal parts of the whole
  int lines_ahead = 0;    // software prefetch; 0: none
  bool grouped = false;   // four vectors loaded, then four stored; else each stored at once
  bool combined = false;  // what is read goes through OR instead of nowhere
  bool streaming = false;
  bool half_width = false;  // vectors of 256 bits where the target has 512
};

constexpr std::size_t kLine = 8, kPage = 512;  // doubles

// What loops that only write begin with: as many numbers in [1, 1.5) as four of the widest vectors
// have. What they add to the bits of each after every store: so little that after 2^51 /
// kWrittenStep stores it still is a number in [1, 2), and so much that no line is like another.
constexpr std::size_t kWritten = 128;
constexpr std::uint64_t kWrittenStep = 0x9e37;
constexpr auto kFirstWritten = [] {
  std::array<std::uint64_t, kWritten> first{};
  for (std::size_t i = 0; i < kWritten; ++i)
    first[i] = 0x3ff0000000000000 | (i * 0x9e3779b97f4a7c15) >> 13;
  return first;
}();

}  // namespace tabane::simd
#endif

HWY_BEFORE_NAMESPACE();
namespace tabane::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// An empty use of v in a register: the load happens, in the order written, and costs no other
// instruction. It also hides from the compiler that a loop is a memset or memcpy.
template <class V>
HWY_INLINE void pin(V& v) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  asm volatile("" : "+m"(v));
#elif HWY_ARCH_X86
  asm volatile("" : "+v"(v.raw));
#elif HWY_ARCH_ARM
  if constexpr (requires { v.raw; })
    asm volatile("" : "+w"(v.raw));
  else  // a vector of SVE
    asm volatile("" : "+w"(v));
#else
  asm volatile("" : "+m"(v));
#endif
}

template <Traffic kTraffic>
inline constexpr bool kStores = kTraffic != Traffic::read;

// One pass of one shape. D: the vectors.
template <Traffic kTraffic, Shape kShape, class D>
class Pass {
  using V = hn::Vec<D>;
  static constexpr int kVectors = kShape.vectors;

 public:
  Pass(double* a, const double* b, const double* c) : a_(a), b_(b), c_(c) {}

  HWY_INLINE void run(std::size_t n) const {
    std::size_t begin = 0;
    if constexpr (kStores<kTraffic>) begin = move_single_until_aligned(n);
    const std::size_t lanes = hn::Lanes(D()), step = kVectors * lanes;
    if constexpr (kShape.paged) {
      constexpr std::size_t kPages = kPage * kShape.streams;
      if (kPage % step == 0)
        for (; begin + kPages <= n; begin += kPages) move_blocks(begin, begin + kPage, kPage);
    }
    const std::size_t part = (n - begin) / kShape.streams / kLine * kLine;
    const std::size_t blocks_end = part / step * step;
    move_blocks(begin, begin + blocks_end, part);
    // What does not fill a block: behind each stream, and behind the last.
    for (int s = 0; s < kShape.streams; ++s) {
      std::size_t i = begin + s * part + blocks_end;
      const std::size_t end = s + 1 == kShape.streams ? n : begin + (s + 1) * part;
      for (; i + lanes <= end; i += lanes) store(i, load(D(), i));
      for (; i < end; ++i) move_single(i);
    }
    if constexpr (kShape.streaming) hwy::FlushStream();
  }

 private:
  HWY_INLINE void move_blocks(std::size_t begin, std::size_t end, std::size_t part) const {
    const std::size_t lanes = hn::Lanes(D());
    V s0 = first(0), s1 = first(lanes), s2 = first(2 * lanes), s3 = first(3 * lanes);
    for (std::size_t i = begin; i < end; i += kVectors * lanes) {
      for (int s = 0; s < kShape.streams; ++s) {
        const std::size_t at = i + s * part;
        prefetch(at);
        block(at, s0, s1, s2, s3, std::make_index_sequence<kVectors>());
      }
    }
    if constexpr (kShape.combined) {
      s0 = hn::Or(hn::Or(s0, s1), hn::Or(s2, s3));
      pin(s0);
    }
  }

  template <std::size_t... k>
  HWY_INLINE void block(std::size_t i, V& s0, V& s1, V& s2, V& s3,
                        std::index_sequence<k...>) const {
    const std::size_t lanes = hn::Lanes(D());
    if constexpr (kTraffic == Traffic::write)
      (write(i + k * lanes, k % 4 == 0 ? s0 : k % 4 == 1 ? s1 : k % 4 == 2 ? s2 : s3), ...);
    else if constexpr (kShape.grouped)
      ((k % 4 == 0 ? move_four(i + k * lanes) : void()), ...);
    else if constexpr (kShape.combined)
      ((k % 4 == 0 ? combine_four(i + k * lanes, s0, s1, s2, s3) : void()), ...);
    else
      (store(i + k * lanes, load(D(), i + k * lanes)), ...);
  }

  // What sums, or values that are written, begin with.
  HWY_INLINE V first(std::size_t i) const {
    if constexpr (kTraffic == Traffic::write) return load(D(), i);
    return hn::Zero(D());
  }

  HWY_INLINE void write(std::size_t i, V& v) const {
    const hn::RebindToUnsigned<D> bits;
    pin(v);
    store(i, v);
    v = hn::BitCast(D(), hn::Add(hn::BitCast(bits, v), hn::Set(bits, kWrittenStep)));
  }

  HWY_INLINE void move_four(std::size_t i) const {
    const std::size_t lanes = hn::Lanes(D());
    const V v0 = load(D(), i), v1 = load(D(), i + lanes), v2 = load(D(), i + 2 * lanes),
            v3 = load(D(), i + 3 * lanes);
    store(i, v0);
    store(i + lanes, v1);
    store(i + 2 * lanes, v2);
    store(i + 3 * lanes, v3);
  }

  HWY_INLINE void combine_four(std::size_t i, V& s0, V& s1, V& s2, V& s3) const {
    const std::size_t lanes = hn::Lanes(D());
    s0 = hn::Or(s0, hn::LoadU(D(), a_ + i));
    s1 = hn::Or(s1, hn::LoadU(D(), a_ + i + lanes));
    s2 = hn::Or(s2, hn::LoadU(D(), a_ + i + 2 * lanes));
    s3 = hn::Or(s3, hn::LoadU(D(), a_ + i + 3 * lanes));
  }

  // What is stored at element i.
  template <class DV>
  HWY_INLINE hn::Vec<DV> load(DV d, std::size_t i) const {
    auto v = hn::Zero(d);
    if constexpr (kTraffic == Traffic::write) {
      const hn::RebindToUnsigned<DV> bits;
      v = hn::BitCast(d, hn::LoadU(bits, kFirstWritten.data() + i % (kWritten / 2)));
    }
    if constexpr (kTraffic == Traffic::read) v = hn::LoadU(d, a_ + i);
    if constexpr (kTraffic == Traffic::read_write) v = hn::LoadU(d, b_ + i);
    if constexpr (kTraffic == Traffic::read2_write) {
      auto dropped = hn::LoadU(d, b_ + i);
      pin(dropped);
      v = hn::LoadU(d, c_ + i);
    }
    pin(v);
    return v;
  }

  HWY_INLINE void store(std::size_t i, V v) const {
    if constexpr (kShape.streaming)
      hn::Stream(v, D(), a_ + i);
    else if constexpr (kStores<kTraffic>)
      hn::Store(v, D(), a_ + i);
  }

  HWY_INLINE void prefetch(std::size_t i) const {
    if constexpr (kShape.lines_ahead != 0) {
      const std::size_t lines = kVectors * hn::Lanes(D()) / kLine;
      for (std::size_t line = 0; line < lines; ++line) {
        const std::size_t at = i + (line + kShape.lines_ahead) * kLine;
        if constexpr (kTraffic == Traffic::read) hwy::Prefetch(a_ + at);
        if constexpr (kTraffic == Traffic::read_write) hwy::Prefetch(b_ + at);
        if constexpr (kTraffic == Traffic::read2_write) {
          hwy::Prefetch(b_ + at);
          hwy::Prefetch(c_ + at);
        }
      }
    }
  }

  HWY_INLINE void move_single(std::size_t i) const {
    const hn::CappedTag<double, 1> one;
    const auto v = load(one, i);
    if constexpr (kStores<kTraffic>) hn::StoreU(v, one, a_ + i);
  }

  // Streaming stores must be aligned, others should be. Returns the first element not moved.
  HWY_INLINE std::size_t move_single_until_aligned(std::size_t n) const {
    const std::size_t mask = hn::Lanes(D()) * sizeof(double) - 1;
    std::size_t i = 0;
    for (; i < n && (reinterpret_cast<std::uintptr_t>(a_ + i) & mask) != 0; ++i) move_single(i);
    return i;
  }

  double* a_;
  const double* b_;
  const double* c_;
};

template <Traffic kTraffic, Shape kShape>
void run(double* a, const double* b, const double* c, std::size_t n, std::uint64_t passes) {
#if HWY_ARCH_X86 && HWY_MAX_BYTES == 64
  using D = hn::CappedTag<double, kShape.half_width ? 4 : 8>;
#else
  using D = hn::ScalableTag<double>;
#endif
  const Pass<kTraffic, kShape, D> pass(a, b, c);
  for (; passes != 0; --passes) pass.run(n);
}

// once(a, b, n) is a pass.
template <auto once>
void run(double* a, const double* b, const double*, std::size_t n, std::uint64_t passes) {
  for (; passes != 0; --passes) once(a, b, n);
}

void libc_copy(double* a, const double* b, std::size_t n) {
  if (n != 0) std::memcpy(a, b, n * sizeof(double));
}

#if HWY_ARCH_X86
// The processor's own loop, which may skip reading lines that are overwritten as a whole.
void string_copy(double* a, const double* b, std::size_t n) {
  std::size_t bytes = n * sizeof(double);
  asm volatile("rep movsb" : "+D"(a), "+S"(b), "+c"(bytes) : : "memory");
}

// The same for one number everywhere, as kernels set it, but another one in every pass.
void string_set(double* a, const double*, std::size_t n) {
  static thread_local std::uint64_t pass = 0;
  const std::uint64_t number = kFirstWritten[++pass % kWritten];
  asm volatile("rep stosq" : "+D"(a), "+c"(n) : "a"(number) : "memory");
}

// Without this bit (ERMS) it moves single bytes.
bool has_fast_strings() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx >> 9 & 1) != 0;
}
#endif

template <Traffic kTraffic, Shape kShape>
constexpr Roof loop(std::string_view name) {
  return {name, kTraffic, kShape.streaming, nullptr, run<kTraffic, kShape>};
}

constexpr Roof kRoofs[] = {
    loop<Traffic::read, Shape{.vectors = 2}>("2 vectors"),
    loop<Traffic::read, Shape{.vectors = 4}>("4 vectors"),
    loop<Traffic::read, Shape{.vectors = 8}>("8 vectors"),
    loop<Traffic::read, Shape{.vectors = 16}>("16 vectors"),
    loop<Traffic::read, Shape{.vectors = 32}>("32 vectors"),
    loop<Traffic::read, Shape{.vectors = 8, .combined = true}>("8 vectors, combined"),
    loop<Traffic::read, Shape{.vectors = 16, .combined = true}>("16 vectors, combined"),
    loop<Traffic::read, Shape{.vectors = 4, .streams = 2}>("4 vectors, two streams"),
    loop<Traffic::read, Shape{.vectors = 8, .streams = 2}>("8 vectors, two streams"),
    loop<Traffic::read, Shape{.vectors = 2, .streams = 4}>("2 vectors, four streams"),
    loop<Traffic::read, Shape{.vectors = 8, .lines_ahead = 16}>("8 vectors, 16 lines ahead"),
    loop<Traffic::read, Shape{.vectors = 8, .lines_ahead = 64}>("8 vectors, 64 lines ahead"),
    loop<Traffic::read, Shape{.vectors = 4, .streams = 4, .lines_ahead = 32}>(
        "4 vectors, four streams, 32 lines ahead"),

    loop<Traffic::read, Shape{.vectors = 4, .streams = 4, .paged = true}>("4 vectors, four pages"),

    loop<Traffic::write, Shape{.vectors = 2}>("2 vectors"),
    loop<Traffic::write, Shape{.vectors = 4}>("4 vectors"),
    loop<Traffic::write, Shape{.vectors = 8}>("8 vectors"),
    loop<Traffic::write, Shape{.vectors = 16}>("16 vectors"),
    loop<Traffic::write, Shape{.vectors = 4, .streams = 2}>("4 vectors, two streams"),
    loop<Traffic::write, Shape{.vectors = 4, .streaming = true}>("4 vectors, streaming"),
    loop<Traffic::write, Shape{.vectors = 16, .streaming = true}>("16 vectors, streaming"),
    loop<Traffic::write, Shape{.vectors = 4, .streams = 2, .streaming = true}>(
        "4 vectors, two streams, streaming"),

    loop<Traffic::read_write, Shape{.vectors = 2}>("2 vectors"),
    loop<Traffic::read_write, Shape{.vectors = 4}>("4 vectors"),
    loop<Traffic::read_write, Shape{.vectors = 8}>("8 vectors"),
    loop<Traffic::read_write, Shape{.vectors = 16}>("16 vectors"),
    loop<Traffic::read_write, Shape{.vectors = 4, .grouped = true}>("4 vectors, grouped"),
    loop<Traffic::read_write, Shape{.vectors = 16, .grouped = true}>("16 vectors, grouped"),
    loop<Traffic::read_write, Shape{.vectors = 4, .streams = 2}>("4 vectors, two streams"),
    loop<Traffic::read_write, Shape{.vectors = 8, .lines_ahead = 16}>("8 vectors, 16 lines ahead"),
    loop<Traffic::read_write, Shape{.vectors = 4, .streaming = true}>("4 vectors, streaming"),
    loop<Traffic::read_write, Shape{.vectors = 16, .grouped = true, .streaming = true}>(
        "16 vectors, grouped, streaming"),
    loop<Traffic::read_write, Shape{.vectors = 4, .streams = 2, .streaming = true}>(
        "4 vectors, two streams, streaming"),
    loop<Traffic::read_write, Shape{.vectors = 8, .lines_ahead = 32, .streaming = true}>(
        "8 vectors, 32 lines ahead, streaming"),
    loop<Traffic::read_write, Shape{.vectors = 4, .streams = 8, .paged = true, .streaming = true}>(
        "4 vectors, eight pages, streaming"),
    {"libc memcpy", Traffic::read_write, false, nullptr, run<libc_copy>},

    loop<Traffic::read2_write, Shape{.vectors = 2}>("2 vectors"),
    loop<Traffic::read2_write, Shape{.vectors = 4}>("4 vectors"),
    loop<Traffic::read2_write, Shape{.vectors = 8}>("8 vectors"),
    loop<Traffic::read2_write, Shape{.vectors = 16}>("16 vectors"),
    loop<Traffic::read2_write, Shape{.vectors = 8, .grouped = true}>("8 vectors, grouped"),
    loop<Traffic::read2_write, Shape{.vectors = 8, .lines_ahead = 16}>("8 vectors, 16 lines ahead"),
    loop<Traffic::read2_write, Shape{.vectors = 4, .streaming = true}>("4 vectors, streaming"),
    loop<Traffic::read2_write, Shape{.vectors = 16, .grouped = true, .streaming = true}>(
        "16 vectors, grouped, streaming"),
    loop<Traffic::read2_write, Shape{.vectors = 8, .lines_ahead = 32, .streaming = true}>(
        "8 vectors, 32 lines ahead, streaming"),

    loop<Traffic::read2_write, Shape{.vectors = 4, .streams = 4, .paged = true, .streaming = true}>(
        "4 vectors, four pages, streaming"),

#if HWY_ARCH_X86
    {"rep movsb", Traffic::read_write, false, has_fast_strings, run<string_copy>},
    {"rep stosq", Traffic::write, false, has_fast_strings, run<string_set>},
#if HWY_MAX_BYTES == 64
    loop<Traffic::read, Shape{.vectors = 8, .half_width = true}>("8 half vectors"),
    loop<Traffic::read, Shape{.vectors = 16, .half_width = true}>("16 half vectors"),
    loop<Traffic::write, Shape{.vectors = 8, .half_width = true}>("8 half vectors"),
    loop<Traffic::read_write, Shape{.vectors = 8, .half_width = true}>("8 half vectors"),
    loop<Traffic::read2_write, Shape{.vectors = 8, .half_width = true}>("8 half vectors"),
#endif
#endif
};

const Roof* first_roof() { return kRoofs; }
std::size_t roof_count() { return std::size(kRoofs); }

}  // namespace tabane::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::simd {

HWY_EXPORT(first_roof);
HWY_EXPORT(roof_count);

std::span<const Roof> roofs() {
  return {TABANE_DISPATCH(first_roof)(), TABANE_DISPATCH(roof_count)()};
}

}  // namespace tabane::simd
#endif
