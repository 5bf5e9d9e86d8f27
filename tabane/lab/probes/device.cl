R"~~~(
// What a coprocessor can do at most. Built with:
//   NUMBER  float, double or int
//   T       NUMBER, or a vector of it
//   FMA(a, b, c)  a * b + c
//   READS   vectors that an item of read_all reads

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

__kernel void nothing() {}

// Eight chains, each of which needs its own last result: together they hide the latency.
__kernel void multiply_add(__global T* out, NUMBER factor, uint rounds) {
  T a = (T)(factor), b = a + (T)(1), c = a + (T)(2), d = a + (T)(3), e = a + (T)(4), f = a + (T)(5),
    g = a + (T)(6), h = a + (T)(7);
  const T m = (T)(factor);
  for (uint i = 0; i < rounds; ++i) {
#pragma unroll
    for (uint k = 0; k < 8; ++k) {
      a = FMA(a, m, m);
      b = FMA(b, m, m);
      c = FMA(c, m, m);
      d = FMA(d, m, m);
      e = FMA(e, m, m);
      f = FMA(f, m, m);
      g = FMA(g, m, m);
      h = FMA(h, m, m);
    }
  }
  out[get_global_id(0)] = a + b + c + d + e + f + g + h;
}

// Data are positive, so that nothing is written, which would be traffic, too. A group reads a block
// of its own once; neighbours read beside each other. One block each, not
// several: on CPUs an item does all its work before the next one begins, and would jump from block
// to block where memory is fast one line after the other.
__kernel void read_all(__global const T* data, __global NUMBER* out) {
  const size_t size = get_local_size(0);
  __global const T* at = data + get_group_id(0) * size * READS + get_local_id(0);
  T sum = (T)(0);
#pragma unroll
  for (uint k = 0; k < READS; ++k) sum += at[k * size];
  const NUMBER* parts = (const NUMBER*)&sum;
  NUMBER total = 0;
#pragma unroll
  for (uint k = 0; k < sizeof(T) / sizeof(NUMBER); ++k) total += parts[k];
  if (total < 0) out[0] = total;
}
)~~~"
