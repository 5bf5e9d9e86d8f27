// Says what machine this is, and how much faster tabane's dot product is than the plain loop here.
#include <cstdio>
#include <exception>
#include <vector>

#include "tabane/core/measurement.h"
#include "tabane/core/statistics.h"
#include "tabane/core/topology.h"
#include "tabane/core/units.h"
#include "tabane/simd/reduction.h"

namespace {

// Two vectors that fit the first-level cache together: the loops, not the memory, are compared.
constexpr std::size_t kElements = 1000;

void print_machine() {
  const auto topology = tabane::core::Topology::detect();
  std::printf("This process may use %s.\n", topology.summary().c_str());
}

void compare_dot_products() {
  using namespace tabane;
  const std::vector<double> x(kElements, 0.5), y(kElements, 2.0);
  const auto series = core::measure_interleaved({
      {"plain loop", core::repeat([&] { core::keep(simd::dot_reference(x, y)); })},
      {"tabane", core::repeat([&] { core::keep(simd::dot(x, y)); })},
  });
  for (const auto& one : series)
    std::printf("%-10s  %s for %zu elements, median of %zu samples\n", one.name.c_str(),
                core::format_seconds(one.median()).c_str(), kElements, one.samples.size());

  const auto ratio = core::interleaved_ratio(series[0].samples, series[1].samples);
  std::printf("ratio       %.2f, 95 %% interval %.2f to %.2f%s\n", ratio.value, ratio.interval.low,
              ratio.interval.high, ratio.undecided() ? ": no difference seen" : "");
}

}  // namespace

int main() try {
  print_machine();
  compare_dot_products();
} catch (const std::exception& error) {
  std::fprintf(stderr, "hello_limits: %s\n", error.what());
  return 1;
}
