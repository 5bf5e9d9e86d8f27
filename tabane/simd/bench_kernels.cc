#include "tabane/simd/bench_kernels.h"

#include <cblas.h>
#include <fmt/format.h>
#include <gnu/libc-version.h>

#include <bit>
#include <cstdint>
#include <cstring>

#include "bench/command.h"
#include "tabane/simd/bench_peers.h"
#include "tabane/simd/reduction.h"

namespace tabane::bench {
namespace {

using core::keep;

// What `set` sets: not zero, which some processors write at twice the speed of anything else, and
// what memset can write, too.
constexpr unsigned char kByte = 0x3f;
const double kFill = std::bit_cast<double>(std::uint64_t{0x0101010101010101} * kByte);

// The factor of axpy: y does not grow however often the call is repeated.
constexpr double kTiny = 0x1p-60;

Candidate candidate(std::string name, auto f, std::string how = {}) {
  return {std::move(name),
          [f](const Arrays& arrays) {
            return core::repeat([f, arrays] {
              f(arrays);
              asm volatile("" : : : "memory");
            });
          },
          f,
          {},
          std::move(how)};
}

const LoopPeer* const kLoopPeers[] = {&kFastMathPeer, &kNativePeer,    &kNativeUnrolledPeer,
                                      &kClonesPeer,   &kEightfoldPeer, &kSixteenfoldPeer};

// f(peer, arrays) for each compiler peer.
std::vector<Candidate> compiler_peers(auto f) {
  std::vector<Candidate> peers;
  for (const LoopPeer* peer : kLoopPeers) {
    peers.push_back(candidate(
        peer->name, [peer, f](const Arrays& a) { f(*peer, a); },
        fmt::format("a plain loop, compiled by {} {}", compiler_version(), peer->flags)));
  }
  return peers;
}

// A macro because without the library f cannot be compiled.
std::string openblas_how() { return std::string("linked, one thread; ") + openblas_get_config(); }
#define OPENBLAS_PEER(call) \
  candidate(                \
      "OpenBLAS", [](const Arrays& a) { call; }, openblas_how())
std::string libc_how() { return std::string("glibc ") + gnu_get_libc_version(); }

#define BLAS_N(a) static_cast<int>((a).n)

std::vector<Candidate> with(std::vector<Candidate> peers, Candidate last) {
  peers.push_back(std::move(last));
  return peers;
}

std::vector<Kernel> reductions() {
  return {
      {"sum", 8, 1, simd::Traffic::read, Arithmetic::add,
       candidate("tabane", [](const Arrays& a) { keep(simd::sum(a.in_x())); }),
       with(compiler_peers([](const LoopPeer& p, const Arrays& a) { keep(p.sum(a.x, a.n)); }),
            OPENBLAS_PEER(keep(cblas_dsum(BLAS_N(a), a.x, 1))))},
      {"sum_of_squares", 8, 1, simd::Traffic::read, Arithmetic::fma,
       candidate("tabane", [](const Arrays& a) { keep(simd::sum_of_squares(a.in_x())); }),
       with(compiler_peers(
                [](const LoopPeer& p, const Arrays& a) { keep(p.sum_of_squares(a.x, a.n)); }),
            OPENBLAS_PEER(keep(cblas_ddot(BLAS_N(a), a.x, 1, a.x, 1))))},
      {"dot", 16, 2, simd::Traffic::read, Arithmetic::fma,
       candidate("tabane", [](const Arrays& a) { keep(simd::dot(a.in_x(), a.in_y())); }),
       with(compiler_peers([](const LoopPeer& p, const Arrays& a) { keep(p.dot(a.x, a.y, a.n)); }),
            OPENBLAS_PEER(keep(cblas_ddot(BLAS_N(a), a.x, 1, a.y, 1))))},
  };
}

std::vector<Kernel> writers() {
  return {
      {"axpy", 24, 2, simd::Traffic::read2_write, Arithmetic::fma,
       candidate("tabane", [](const Arrays& a) { simd::axpy(kTiny, a.in_x(), a.out_z()); }),
       with(
           compiler_peers([](const LoopPeer& p, const Arrays& a) { p.axpy(kTiny, a.x, a.z, a.n); }),
           OPENBLAS_PEER(cblas_daxpy(BLAS_N(a), kTiny, a.x, 1, a.z, 1)))},
      {"set", 8, 1, simd::Traffic::write, Arithmetic::none,
       candidate("tabane", [](const Arrays& a) { simd::set(a.out_z(), kFill, a.streaming); }),
       with(compiler_peers([](const LoopPeer& p, const Arrays& a) { p.set(a.z, kFill, a.n); }),
            candidate(
                "libc memset",
                [](const Arrays& a) { std::memset(a.z, kByte, a.n * sizeof(double)); },
                libc_how()))},
      {"copy", 16, 2, simd::Traffic::read_write, Arithmetic::none,
       candidate("tabane", [](const Arrays& a) { simd::copy(a.in_x(), a.out_z(), a.streaming); }),
       with(with(compiler_peers([](const LoopPeer& p, const Arrays& a) { p.copy(a.x, a.z, a.n); }),
                 candidate(
                     "libc memcpy",
                     [](const Arrays& a) { std::memcpy(a.z, a.x, a.n * sizeof(double)); },
                     libc_how())),
            OPENBLAS_PEER(cblas_dcopy(BLAS_N(a), a.x, 1, a.z, 1)))},
      {"scale", 16, 2, simd::Traffic::read_write, Arithmetic::none,
       candidate("tabane",
                 [](const Arrays& a) { simd::scale(0.5, a.in_x(), a.out_z(), a.streaming); }),
       compiler_peers([](const LoopPeer& p, const Arrays& a) { p.scale(0.5, a.x, a.z, a.n); })},
      {"add", 24, 3, simd::Traffic::read2_write, Arithmetic::add,
       candidate("tabane",
                 [](const Arrays& a) { simd::add(a.in_x(), a.in_y(), a.out_z(), a.streaming); }),
       compiler_peers([](const LoopPeer& p, const Arrays& a) { p.add(a.x, a.y, a.z, a.n); })},
      {"triad", 24, 3, simd::Traffic::read2_write, Arithmetic::fma,
       candidate(
           "tabane",
           [](const Arrays& a) { simd::triad(a.in_x(), 0.5, a.in_y(), a.out_z(), a.streaming); }),
       compiler_peers(
           [](const LoopPeer& p, const Arrays& a) { p.triad(a.x, 0.5, a.y, a.z, a.n); })},
  };
}

}  // namespace

std::vector<Kernel> all_kernels() {
  std::vector<Kernel> kernels = reductions();
  for (Kernel& kernel : writers()) kernels.push_back(std::move(kernel));
  return kernels;
}

RoofOperands roof_operands(const Kernel& kernel, const Arrays& v) {
  switch (kernel.traffic) {
    case simd::Traffic::read:
      return {.a = v.x, .n = v.n * static_cast<std::size_t>(kernel.arrays)};
    case simd::Traffic::write:
      return {.a = v.z, .n = v.n};
    case simd::Traffic::read_write:
      return {.a = v.z, .b = v.x, .n = v.n};
    case simd::Traffic::read2_write:
      break;
  }
  // A kernel of two arrays reads the one that it writes.
  return {.a = v.z, .b = v.x, .c = kernel.arrays == 2 ? v.z : v.y, .n = v.n};
}

}  // namespace tabane::bench
