// Vector kernels against compilers, OpenBLAS, libc and the machine's own limits.
#include "bench/bench.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "tabane/core/binding.h"
#include "tabane/core/memory.h"
#include "tabane/core/threads.h"
#include "tabane/core/topology.h"
#include "tabane/simd/bench_kernels.h"
#include "tabane/simd/elementwise.h"
#include "tabane/simd/roof.h"

namespace tabane::bench {
namespace {

// Makes Work of a loop that only moves data.
using RoofWork = std::function<core::Work(const simd::Roof&)>;

// The two fastest loops for a traffic, the best first, in a short run. Two, because one may be the
// first of many by chance.
std::vector<const simd::Roof*> best_roofs(simd::Traffic traffic, bool streaming,
                                          const RoofWork& work, core::MeasureOptions options) {
  std::vector<const simd::Roof*> roofs;
  std::vector<core::Contender> contenders;
  for (const simd::Roof& roof : simd::roofs()) {
    if (roof.traffic != traffic || (roof.streaming && !streaming)) continue;
    if (roof.available && !roof.available()) continue;
    roofs.push_back(&roof);
    const core::Work passes = work(roof);
    contenders.push_back({std::string(roof.name), passes, [passes] { passes(1); }});
  }
  options.budget_seconds /= 5;
  options.min_epochs = std::max(1, options.min_epochs / 2);
  options.warmup_epochs = 0;
  const auto series = core::measure_interleaved(std::move(contenders), options);
  std::vector<std::size_t> order(roofs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return series[i].median(); });
  std::vector<const simd::Roof*> best;
  for (const std::size_t i : order) best.push_back(roofs[i]);
  best.resize(std::min<std::size_t>(2, best.size()));
  return best;
}

// The best loops as contenders; the faster of the two is the limit.
void add_traffic_roofs(Question& question, const Kernel& kernel, double target, bool streaming,
                       const RoofWork& work) {
  // Searched in the first pass: in memory a search takes longer than a pass.
  static std::map<std::string, std::vector<const simd::Roof*>> found;
  std::vector<const simd::Roof*>& roofs = found[question.name];
  if (roofs.empty()) roofs = best_roofs(kernel.traffic, streaming, work, *question.measure);
  for (const simd::Roof* roof : roofs) {
    question.peers.push_back({.name = "roof: " + std::string(roof->name),
                              .work = work(*roof),
                              .amount = question.ours.amount,
                              .target = target,
                              .roof = true,
                              .limits = "traffic",
                              .how = "the same loads and stores without arithmetic, the best of "
                                     "several loops at this size"});
  }
}

// The peak of the arithmetic as the traffic that a kernel would have at it.
Contender arithmetic_roof(const Kernel& kernel, double target) {
  constexpr std::uint64_t kIterations = 64;
  const bool fma = kernel.arithmetic == Arithmetic::fma;
  Contender roof{.name = fma ? "roof: peak FMA" : "roof: peak addition",
                 .target = target,
                 .roof = true,
                 .limits = "arithmetic",
                 .how = "the kernel's arithmetic alone, in registers"};
  const auto peak = fma ? simd::peak_fma : simd::peak_add;
  roof.work = [peak](std::uint64_t iterations) { peak(iterations * kIterations); };
  const double elements = static_cast<double>(peak(kIterations)) / (fma ? 2 : 1);
  roof.amount = elements * kernel.bytes_per_element;
  return roof;
}

Contender peer_contender(const Candidate& peer, double amount) {
  return {.name = peer.name, .amount = amount, .missing = peer.missing, .how = peer.how};
}

// Arrays in one core's caches.
struct Place {
  std::string name;        // "1024 doubles in L1"
  std::size_t n = 0;       // elements of each array, or
  std::size_t bytes = 0;   // of all arrays of a kernel together
  std::size_t offset = 0;  // elements from the beginning of a line
  double roof_target = 0.95;

  std::size_t elements(const Kernel& kernel) const {
    const std::size_t lines = bytes / 64 / static_cast<std::size_t>(kernel.arrays);
    return n != 0 ? n : lines * 8;
  }
};

constexpr std::size_t kPageDoubles = 512;

// z first, x and y in pages of their own. A load whose low 12 address bits are those of a store
// before it still in the queue (64 at most) waits for it, though the addresses differ: z[i] has
// those bits of x[i + 480] and y[i + 448], more than 100 vectors ahead. Two vectors that are only
// read are one behind the other, each from the beginning of a line.
Arrays arrays_at(double* base, const Kernel& kernel, const Place& place) {
  const std::size_t n = place.elements(kernel);
  const std::size_t pages = (n + 64 + kPageDoubles) / kPageDoubles * kPageDoubles;
  double* const first = base + place.offset;
  if (!kernel.writes()) return {first, first + (n + 7) / 8 * 8, nullptr, n};
  return {first + pages + 32, first + 2 * pages + 64, first, n};
}

Question cache_question(const Kernel& kernel, const Place& place, const Arrays& arrays,
                        core::MeasureOptions options) {
  const double amount = kernel.bytes_per_element * static_cast<double>(arrays.n);
  options.budget_seconds /= 5;
  Question question{kernel.name + ", " + place.name, "B/s", {}, {}, options};
  question.group = place.name;
  question.ours = {.name = "tabane", .work = kernel.ours.repeated(arrays), .amount = amount};
  for (const Candidate& peer : kernel.peers) {
    question.peers.push_back(peer_contender(peer, amount));
    if (peer.missing.empty()) question.peers.back().work = peer.repeated(arrays);
  }
  const RoofOperands operands = roof_operands(kernel, arrays);
  add_traffic_roofs(question, kernel, place.roof_target, false, [operands](const simd::Roof& roof) {
    return [operands, run = roof.run](std::uint64_t passes) {
      run(operands.a, operands.b, operands.c, operands.n, passes);
    };
  });
  if (kernel.arithmetic != Arithmetic::none)
    question.peers.push_back(arithmetic_roof(kernel, place.roof_target));
  // The caches hold what the contender before left there: one pass first.
  question.ours.before = [work = question.ours.work] { work(1); };
  for (Contender& peer : question.peers)
    if (peer.work) peer.before = [work = peer.work] { work(1); };
  return question;
}

void ask_in_cache(Panel& panel, const Place& place) {
  const std::size_t bytes = place.n != 0 ? 3 * place.n * sizeof(double) : place.bytes;
  core::Region region;
  for (const Kernel& kernel : all_kernels()) {
    if (!panel.wants(kernel.name + ", " + place.name)) continue;
    if (region.size() == 0) {
      region = core::Region(bytes + (std::size_t{64} << 10), {.pages = core::PageSize::huge});
      simd::generate(region.as<double>());
    }
    const Arrays arrays = arrays_at(region.as<double>().data(), kernel, place);
    panel.ask(cache_question(kernel, place, arrays, panel.settings().measure));
  }
}

// Three arrays for each worker, large pages asked for, every page first touched by its worker.
class MemoryArrays {
 public:
  MemoryArrays(std::size_t bytes_each, std::size_t workers, core::PinnedPool& pool)
      : region_(3 * bytes_each, {.pages = core::PageSize::huge}), parts_(workers) {
    // Whole pages a worker.
    const std::size_t n = bytes_each / sizeof(double) / workers / kPageDoubles * kPageDoubles;
    pool.run([&](std::size_t w) {
      double* const first = region_.as<double>().data() + 3 * w * n;
      parts_[w] = {first, first + n, first + 2 * n, n, simd::Streaming::always()};
      simd::generate({first, 3 * n});
    });
  }
  const Arrays& part(std::size_t worker) const { return parts_[worker]; }
  double elements() const { return static_cast<double>(parts_[0].n * parts_.size()); }

 private:
  core::Region region_;
  std::vector<Arrays> parts_;
};

core::Work on_pool(Run once, core::PinnedPool& pool, const MemoryArrays& arrays) {
  return [once = std::move(once), &pool, &arrays](std::uint64_t iterations) {
    for (std::uint64_t i = 0; i < iterations; ++i)
      pool.run([&](std::size_t worker) { once(arrays.part(worker)); });
  };
}

Question memory_question(const Kernel& kernel, const std::string& where, core::PinnedPool& pool,
                         const MemoryArrays& arrays, core::MeasureOptions options) {
  const double amount = kernel.bytes_per_element * arrays.elements();
  options.min_epochs = std::min(options.min_epochs, 7);
  options.warmup_epochs = 1;
  Question question{kernel.name + ", " + where, "B/s", {}, {}, options};
  question.group = where;
  question.ours = {
      .name = "tabane", .work = on_pool(kernel.ours.once, pool, arrays), .amount = amount};
  for (const Candidate& peer : kernel.peers) {
    question.peers.push_back(peer_contender(peer, amount));
    if (peer.missing.empty()) question.peers.back().work = on_pool(peer.once, pool, arrays);
  }
  add_traffic_roofs(question, kernel, 0.95, true, [&](const simd::Roof& roof) {
    return on_pool([&roof, &kernel](const Arrays& part) { roof_operands(kernel, part).run(roof); },
                   pool, arrays);
  });
  return question;
}

void ask_in_memory(Panel& panel, const std::string& where, std::span<const unsigned> pus,
                   std::size_t bytes_each) {
  std::vector<Kernel> wanted;
  for (Kernel& kernel : all_kernels())
    if (panel.wants(kernel.name + ", " + where)) wanted.push_back(std::move(kernel));
  if (wanted.empty()) return;
  core::PinnedPool pool(pus);
  const MemoryArrays arrays(bytes_each, pus.size(), pool);
  for (const Kernel& kernel : wanted)
    panel.ask(memory_question(kernel, where, pool, arrays, panel.settings().measure));
}

std::vector<Place> cache_places(const core::Topology& topology) {
  std::vector<Place> places{
      {.name = "1024 doubles in L1", .n = 1024, .roof_target = 0.9},
      {.name = "1024 doubles in L1, misaligned", .n = 1024, .offset = 1, .roof_target = 0.9},
      {.name = "1023 doubles in L1", .n = 1023, .roof_target = 0.9},
      {.name = "2048 doubles", .n = 2048}};
  if (const auto l2 = topology.cache(2)) {
    const std::size_t share = l2->bytes / std::max(1u, l2->pus_sharing);
    places.push_back({.name = "half of L2", .bytes = share / 2});
  }
  if (const auto l3 = topology.cache(3)) {
    const std::size_t share = l3->bytes / std::max(1u, l3->pus_sharing);
    places.push_back(
        {.name = "in L3", .bytes = std::min(share / 4, std::size_t{16} << 20), .roof_target = 0.9});
  }
  return places;
}

// Four times the last-level caches, as STREAM asks, but at most 256 MiB for each core: a virtual
// machine may state a cache of which it has a small part. 128 MiB where the system does not tell.
std::size_t memory_bytes(const core::Topology& topology, std::size_t cores) {
  if (topology.caches().empty()) return std::size_t{128} << 20;
  const core::CacheLevel& last = topology.caches().back();
  const std::size_t caches = std::min<std::size_t>(last.instances, cores);
  return std::min(4 * static_cast<std::size_t>(last.bytes) * caches,
                  (std::size_t{256} << 20) * cores);
}

void ask_all(Panel& panel) {
  const core::Topology topology = core::Topology::detect();
  std::vector<unsigned> pus;  // one a core: a core's second PU shares its path to the memory
  for (const core::Pu& each : topology.pus())
    if (each.smt == 0) pus.push_back(each.os_index);
  const unsigned pu = pus.back();
  {
    const core::ScopedBinding bound(pu);
    for (const Place& place : cache_places(topology)) ask_in_cache(panel, place);
  }
  ask_in_memory(panel, "memory, 1 core", {&pu, 1}, memory_bytes(topology, 1));
  if (pus.size() > 1)
    ask_in_memory(panel, "memory, all cores", pus, memory_bytes(topology, pus.size()));
}

const RegisteredTopic kTopic({"simd", "vector kernels", ask_all, 6});

}  // namespace
}  // namespace tabane::bench
