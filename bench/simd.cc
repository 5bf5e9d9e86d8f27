// Vector kernels against compilers, OpenBLAS, libc and the machine's own limits.
#include <fmt/format.h>
#include <gnu/libc-version.h>

#include <cstring>
#include <optional>
#include <string>

#include "bench/bench.h"
#include "bench/peer_version.h"
#include "bench/peers_simd.h"
#include "tabane/core/binding.h"
#include "tabane/core/keep.h"
#include "tabane/core/memory.h"
#include "tabane/core/pinned_pool.h"
#include "tabane/core/topology.h"
#include "tabane/simd/add.h"
#include "tabane/simd/axpy.h"
#include "tabane/simd/copy.h"
#include "tabane/simd/dot.h"
#include "tabane/simd/peak.h"
#include "tabane/simd/scale.h"
#include "tabane/simd/set.h"
#include "tabane/simd/sum.h"
#include "tabane/simd/sum_of_squares.h"
#include "tabane/simd/triad.h"

#ifdef TABANE_BENCH_OPENBLAS
#include <cblas.h>
#endif

namespace tabane::bench {
namespace {

using core::keep;
using In = std::span<const double>;
using Out = std::span<double>;

// The factor of axpy: y does not grow however often the call is repeated.
constexpr double kTiny = 0x1p-60;

struct Arrays {
  double* x = nullptr;
  double* y = nullptr;
  double* z = nullptr;
  std::size_t n = 0;
  simd::Streaming streaming{};

  In in_x() const { return {x, n}; }
  In in_y() const { return {y, n}; }
  Out out_z() const { return {z, n}; }
};

using Run = std::function<void(const Arrays&)>;

struct Candidate {
  std::string name;
  std::function<core::Work(const Arrays&)> repeated;  // the call itself inside the loop
  Run once;
  std::string missing;
  std::string how = {};
};

template <class F>
Candidate candidate(std::string name, F f, std::string how = {}) {
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

// What limits a kernel: its traffic through the first-level cache, and its arithmetic.
enum class Traffic { read, write, read_write, read2_write };
enum class Arithmetic { none, add, fma };

struct Kernel {
  std::string name;
  double bytes_per_element = 0;
  Traffic traffic;
  Arithmetic arithmetic;
  Candidate ours;
  std::vector<Candidate> peers;
};

const LoopPeer* const kLoopPeers[] = {&kFastMathPeer, &kNativePeer, &kNativeUnrolledPeer,
                                      &kClonesPeer};

// f(peer, arrays) for each compiler peer.
template <class F>
std::vector<Candidate> compiler_peers(F f) {
  std::vector<Candidate> peers;
  for (const LoopPeer* peer : kLoopPeers) {
    peers.push_back(candidate(
        peer->name, [peer, f](const Arrays& a) { f(*peer, a); },
        fmt::format("a plain loop, compiled by {} {}", compiler_version(), peer->flags)));
  }
  return peers;
}

// A macro because without the library f cannot be compiled.
#ifdef TABANE_BENCH_OPENBLAS
std::string openblas_how() { return std::string("linked, one thread; ") + openblas_get_config(); }
#define OPENBLAS_PEER(call) \
  candidate(                \
      "OpenBLAS", [](const Arrays& a) { call; }, openblas_how())
#else
#define OPENBLAS_PEER(call) \
  Candidate { "OpenBLAS", {}, {}, "OpenBLAS was not found when this was built" }
#endif
std::string libc_how() { return std::string("glibc ") + gnu_get_libc_version(); }

#define BLAS_N(a) static_cast<int>((a).n)

std::vector<Candidate> with(std::vector<Candidate> peers, Candidate last) {
  peers.push_back(std::move(last));
  return peers;
}

std::vector<Kernel> reductions() {
  return {
      {"sum", 8, Traffic::read, Arithmetic::add,
       candidate("tabane", [](const Arrays& a) { keep(simd::sum(a.in_x())); }),
       with(compiler_peers([](const LoopPeer& p, const Arrays& a) { keep(p.sum(a.x, a.n)); }),
            OPENBLAS_PEER(keep(cblas_dsum(BLAS_N(a), a.x, 1))))},
      {"sum_of_squares", 8, Traffic::read, Arithmetic::fma,
       candidate("tabane", [](const Arrays& a) { keep(simd::sum_of_squares(a.in_x())); }),
       with(compiler_peers(
                [](const LoopPeer& p, const Arrays& a) { keep(p.sum_of_squares(a.x, a.n)); }),
            OPENBLAS_PEER(keep(cblas_ddot(BLAS_N(a), a.x, 1, a.x, 1))))},
      {"dot", 16, Traffic::read, Arithmetic::fma,
       candidate("tabane", [](const Arrays& a) { keep(simd::dot(a.in_x(), a.in_y())); }),
       with(compiler_peers([](const LoopPeer& p, const Arrays& a) { keep(p.dot(a.x, a.y, a.n)); }),
            OPENBLAS_PEER(keep(cblas_ddot(BLAS_N(a), a.x, 1, a.y, 1))))},
  };
}

std::vector<Kernel> writers() {
  return {
      {"axpy", 24, Traffic::read2_write, Arithmetic::fma,
       candidate("tabane", [](const Arrays& a) { simd::axpy(kTiny, a.in_x(), a.out_z()); }),
       with(
           compiler_peers([](const LoopPeer& p, const Arrays& a) { p.axpy(kTiny, a.x, a.z, a.n); }),
           OPENBLAS_PEER(cblas_daxpy(BLAS_N(a), kTiny, a.x, 1, a.z, 1)))},
      {"set", 8, Traffic::write, Arithmetic::none,
       candidate("tabane", [](const Arrays& a) { simd::set(a.out_z(), 0.0, a.streaming); }),
       with(compiler_peers([](const LoopPeer& p, const Arrays& a) { p.set(a.z, 0.0, a.n); }),
            candidate(
                "libc memset", [](const Arrays& a) { std::memset(a.z, 0, a.n * sizeof(double)); },
                libc_how()))},
      {"copy", 16, Traffic::read_write, Arithmetic::none,
       candidate("tabane", [](const Arrays& a) { simd::copy(a.in_x(), a.out_z(), a.streaming); }),
       with(with(compiler_peers([](const LoopPeer& p, const Arrays& a) { p.copy(a.x, a.z, a.n); }),
                 candidate(
                     "libc memcpy",
                     [](const Arrays& a) { std::memcpy(a.z, a.x, a.n * sizeof(double)); },
                     libc_how())),
            OPENBLAS_PEER(cblas_dcopy(BLAS_N(a), a.x, 1, a.z, 1)))},
      {"scale", 16, Traffic::read_write, Arithmetic::none,
       candidate("tabane",
                 [](const Arrays& a) { simd::scale(0.5, a.in_x(), a.out_z(), a.streaming); }),
       compiler_peers([](const LoopPeer& p, const Arrays& a) { p.scale(0.5, a.x, a.z, a.n); })},
      {"add", 24, Traffic::read2_write, Arithmetic::add,
       candidate("tabane",
                 [](const Arrays& a) { simd::add(a.in_x(), a.in_y(), a.out_z(), a.streaming); }),
       compiler_peers([](const LoopPeer& p, const Arrays& a) { p.add(a.x, a.y, a.z, a.n); })},
      {"triad", 24, Traffic::read2_write, Arithmetic::fma,
       candidate(
           "tabane",
           [](const Arrays& a) { simd::triad(a.in_x(), 0.5, a.in_y(), a.out_z(), a.streaming); }),
       compiler_peers(
           [](const LoopPeer& p, const Arrays& a) { p.triad(a.x, 0.5, a.y, a.z, a.n); })},
  };
}

std::vector<Kernel> all_kernels() {
  std::vector<Kernel> kernels = reductions();
  for (Kernel& kernel : writers()) kernels.push_back(std::move(kernel));
  return kernels;
}

Entrant traffic_roof(const Kernel& kernel, const Arrays& a) {
  Entrant roof{.name = "roof: first-level cache",
               .target = 0.95,
               .roof = true,
               .how = "the kernel's loads and stores alone, without arithmetic"};
  switch (kernel.traffic) {
    case Traffic::read:
      roof.work = [a](std::uint64_t passes) { simd::read(a.in_x(), passes); };
      roof.amount = 8.0 * static_cast<double>(a.n);
      break;
    case Traffic::write:
      roof.work = [a](std::uint64_t passes) { simd::write(a.out_z(), passes); };
      roof.amount = 8.0 * static_cast<double>(a.n);
      break;
    case Traffic::read_write:
      roof.work = [a](std::uint64_t passes) { simd::read_write(a.in_x(), a.out_z(), passes); };
      roof.amount = 16.0 * static_cast<double>(a.n);
      break;
    case Traffic::read2_write:
      roof.work = [a](std::uint64_t passes) {
        simd::read2_write(a.in_x(), a.in_y(), a.out_z(), passes);
      };
      roof.amount = 24.0 * static_cast<double>(a.n);
      break;
  }
  return roof;
}

// The peak of the arithmetic as the traffic that a kernel would have at it.
Entrant arithmetic_roof(const Kernel& kernel) {
  constexpr std::uint64_t kIterations = 64;
  const bool fma = kernel.arithmetic == Arithmetic::fma;
  Entrant roof{.name = fma ? "roof: peak FMA" : "roof: peak addition",
               .target = 0.95,
               .roof = true,
               .how = "the kernel's arithmetic alone, in registers"};
  const auto peak = fma ? simd::peak_fma<double> : simd::peak_add<double>;
  roof.work = [peak](std::uint64_t iterations) { peak(iterations * kIterations); };
  const double elements = static_cast<double>(peak(kIterations)) / (fma ? 2 : 1);
  roof.amount = elements * kernel.bytes_per_element;
  return roof;
}

void ask_in_cache(Panel& panel, const std::string& where, const Arrays& arrays) {
  for (const Kernel& kernel : all_kernels()) {
    const double amount = kernel.bytes_per_element * static_cast<double>(arrays.n);
    Question question{kernel.name + ", " + where, "B/s", {}, {}};
    question.group = where;
    question.ours = {.name = "tabane", .work = kernel.ours.repeated(arrays), .amount = amount};
    for (const Candidate& peer : kernel.peers) {
      Entrant entrant{
          .name = peer.name, .amount = amount, .missing = peer.missing, .how = peer.how};
      if (entrant.missing.empty()) entrant.work = peer.repeated(arrays);
      question.peers.push_back(std::move(entrant));
    }
    question.peers.push_back(traffic_roof(kernel, arrays));
    if (kernel.arithmetic != Arithmetic::none) question.peers.push_back(arithmetic_roof(kernel));
    panel.ask(question);
  }
}

// Three arrays for each worker, large pages asked for, every page first touched by its worker.
class MemoryArrays {
 public:
  MemoryArrays(std::size_t bytes_each, std::size_t workers, core::PinnedPool& pool)
      : x_(bytes_each, kHuge), y_(bytes_each, kHuge), z_(bytes_each, kHuge), parts_(workers) {
    // Whole pages a worker.
    const std::size_t n = bytes_each / sizeof(double) / workers / 512 * 512;
    pool.run([&](std::size_t w) {
      const auto part = [&](core::Region& r) { return r.as<double>().data() + w * n; };
      parts_[w] = {part(x_), part(y_), part(z_), n, simd::Streaming::always()};
      simd::set({parts_[w].x, n}, 1.0);
      simd::set({parts_[w].y, n}, 2.0);
      simd::set({parts_[w].z, n}, 3.0);
    });
  }
  const Arrays& part(std::size_t worker) const { return parts_[worker]; }
  double elements() const { return static_cast<double>(parts_[0].n * parts_.size()); }

 private:
  static inline const core::MemoryOptions kHuge{.pages = core::PageSize::huge};
  core::Region x_, y_, z_;
  std::vector<Arrays> parts_;
};

core::Work on_pool(Run once, core::PinnedPool& pool, const MemoryArrays& arrays) {
  return [once = std::move(once), &pool, &arrays](std::uint64_t iterations) {
    for (std::uint64_t i = 0; i < iterations; ++i) {
      pool.run([&](std::size_t worker) { once(arrays.part(worker)); });
    }
  };
}

Question memory_question(const Kernel& kernel, const std::string& where, core::PinnedPool& pool,
                         const MemoryArrays& arrays) {
  const double amount = kernel.bytes_per_element * arrays.elements();
  Question question{kernel.name + ", " + where, "B/s", {}, {}};
  question.group = where;
  question.ours = {
      .name = "tabane", .work = on_pool(kernel.ours.once, pool, arrays), .amount = amount};
  for (const Candidate& peer : kernel.peers) {
    Entrant entrant{.name = peer.name,
                    .amount = amount,
                    .target = 0.95,
                    .missing = peer.missing,
                    .how = peer.how};
    if (entrant.missing.empty()) entrant.work = on_pool(peer.once, pool, arrays);
    question.peers.push_back(std::move(entrant));
  }
  return question;
}

// A name is enough to list; data is made only for questions that are wanted.
void ask_in_memory(Panel& panel, const std::string& where, std::span<const unsigned> pus,
                   std::size_t bytes_each) {
  std::vector<Kernel> wanted;
  for (Kernel& kernel : all_kernels()) {
    const std::string name = kernel.name + ", " + where;
    if (panel.settings().list_only) {
      panel.ask({name, "B/s", {}, {}});
    } else if (panel.settings().wanted(name)) {
      wanted.push_back(std::move(kernel));
    }
  }
  if (wanted.empty()) return;
  core::PinnedPool pool(pus);
  const MemoryArrays arrays(bytes_each, pus.size(), pool);
  for (const Kernel& kernel : wanted) panel.ask(memory_question(kernel, where, pool, arrays));
}

// Four times all last-level caches, as STREAM asks; 128 MiB where the system does not tell.
std::size_t memory_bytes(const core::Topology& topology) {
  if (topology.caches().empty()) return std::size_t{128} << 20;
  const core::CacheLevel& last = topology.caches().back();
  return 4 * static_cast<std::size_t>(last.bytes) * last.instances;
}

}  // namespace

void ask_simd(Panel& panel) {
#ifdef TABANE_BENCH_OPENBLAS
  openblas_set_num_threads(1);  // all-core questions give each worker its own part
#endif
  const core::Topology topology = core::Topology::detect();
  std::vector<unsigned> pus;  // one a core: a core's second PU shares its path to the memory
  for (const core::Pu& each : topology.pus()) {
    if (each.smt == 0) pus.push_back(each.os_index);
  }
  const unsigned pu = pus.back();
  {
    const core::ScopedBinding bound(pu);
    core::Region region(std::size_t{1} << 20);
    region.touch();
    // Three arrays, each in two pages of its own. A load whose low 12 address bits are those of a
    // store before it still in the queue (64 at most) waits for it, though the addresses differ:
    // z[i] has those bits of x[i + 448] and y[i + 480], more than 100 vectors ahead.
    double* const base = region.as<double>().data();
    const auto arrays = [&](std::size_t n, std::size_t offset) {
      return Arrays{base + 8192 + 64 + offset, base + 4096 + 32 + offset, base + offset, n};
    };
    ask_in_cache(panel, "1024 doubles in L1", arrays(1024, 0));
    ask_in_cache(panel, "1024 doubles in L1, misaligned", arrays(1024, 1));
    ask_in_cache(panel, "1023 doubles in L1", arrays(1023, 0));
  }
  ask_in_memory(panel, "memory, 1 core", {&pu, 1}, memory_bytes(topology));
  if (pus.size() > 1) ask_in_memory(panel, "memory, all cores", pus, memory_bytes(topology));
}

}  // namespace tabane::bench
