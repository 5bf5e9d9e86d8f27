// Kernels that compute each element of a vector alone: set, copy, scale, add, triad (those of the
// STREAM benchmark), axpy, and the numbers that measured buffers hold.
//
// An element gets the same result wherever it is, so results depend neither on the alignment nor on
// the length. All vectors of a call have the same length and may have any alignment; what is
// read may be what is written, no other overlap.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tabane::simd {

// Through the caches go all destinations that are smaller, unless the caller says otherwise.
inline constexpr std::size_t kSmallestStreamBytes = std::size_t{1} << 20;

// Half the last-level cache, 64 MiB at most: a larger destination would push out what the program
// still needs, and none of it would be left in the cache for whoever reads it from its beginning.
// Read once from the topology of this machine, else from the system, else half of 32 MiB. cost: a
// load after the first call.
std::size_t default_stream_bytes();

// How a kernel writes a destination of some size: past the caches or through them.
struct Streaming {
  // Destinations of at least this many bytes are streamed; kDefault asks default_stream_bytes(). A
  // team whose workers have a part of a large vector each passes always() or never().
  std::size_t from_bytes = kDefault;

  static constexpr std::size_t kDefault = ~std::size_t{0} - 1;
  static constexpr Streaming always() { return {0}; }
  static constexpr Streaming never() { return {~std::size_t{0}}; }

  bool applies(std::size_t bytes) const {
    if (from_bytes != kDefault) return bytes >= from_bytes;
    return bytes >= kSmallestStreamBytes && bytes >= default_stream_bytes();
  }
};

// a[i] = s. cost: one store an element.
void set(std::span<double> a, double s, Streaming streaming = {});
void set(std::span<float> a, float s, Streaming streaming = {});

// c[i] = a[i]. Call it qualified: a span argument brings std::copy into an unqualified call.
// cost: one load and one store an element.
void copy(std::span<const double> a, std::span<double> c, Streaming streaming = {});
void copy(std::span<const float> a, std::span<float> c, Streaming streaming = {});

// b[i] = s c[i]. cost: 1 multiplication, one load and one store an element.
void scale(double s, std::span<const double> c, std::span<double> b, Streaming streaming = {});
void scale(float s, std::span<const float> c, std::span<float> b, Streaming streaming = {});

// c[i] = a[i] + b[i]. cost: 1 addition, two loads and one store an element.
void add(std::span<const double> a, std::span<const double> b, std::span<double> c,
         Streaming streaming = {});
void add(std::span<const float> a, std::span<const float> b, std::span<float> c,
         Streaming streaming = {});

// a[i] = b[i] + s c[i].
// Rounded twice an element on x86 without AVX-512 (the product, then the sum), elsewhere once: to
// first order within u (|product| + |result|), u = 2^-53 or 2^-24. cost: an FMA (a multiplication
// and an addition on x86 without AVX-512), two loads and one store an element.
void triad(std::span<const double> b, double s, std::span<const double> c, std::span<double> a,
           Streaming streaming = {});
void triad(std::span<const float> b, float s, std::span<const float> c, std::span<float> a,
           Streaming streaming = {});

// y[i] += a x[i]. Rounding and cost: as of triad.
void axpy(double a, std::span<const double> x, std::span<double> y);
void axpy(float a, std::span<const float> x, std::span<float> y);

// Number i of a sequence of normal numbers in [1, 2): their last 52 bits are those of a multiple of
// the golden ratio, so that neighbours differ in all of them. No hardware can write or read such
// values faster than others; Zen 4 and 5 write lines of zeros at twice the speed of any other.
// Source: Weyl's equidistribution.
double generated(std::size_t i);

// a[i] = generated(i): what a buffer holds whose traffic is measured.
void generate(std::span<double> a, Streaming streaming = {});

// So many bytes of the same values, as a message of random contents.
std::vector<std::byte> generated_bytes(std::size_t bytes);

// The kernels by plain loops.
void set_reference(std::span<double> a, double s);
void set_reference(std::span<float> a, float s);
void copy_reference(std::span<const double> a, std::span<double> c);
void copy_reference(std::span<const float> a, std::span<float> c);
void scale_reference(double s, std::span<const double> c, std::span<double> b);
void scale_reference(float s, std::span<const float> c, std::span<float> b);
void add_reference(std::span<const double> a, std::span<const double> b, std::span<double> c);
void add_reference(std::span<const float> a, std::span<const float> b, std::span<float> c);
void triad_reference(std::span<const double> b, double s, std::span<const double> c,
                     std::span<double> a);
void triad_reference(std::span<const float> b, float s, std::span<const float> c,
                     std::span<float> a);
void axpy_reference(double a, std::span<const double> x, std::span<double> y);
void axpy_reference(float a, std::span<const float> x, std::span<float> y);

}  // namespace tabane::simd
