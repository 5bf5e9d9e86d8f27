#include "tabane/tools/slalom/answer.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <iterator>

namespace tabane::slalom {

std::string answer_text(const Geometry& geometry, const Region& region,
                        std::span<const double> radiosities) {
  const auto n = static_cast<std::size_t>(region.size());
  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "{} patches:\n", n);
  fmt::format_to(out, " patch  face         w         h         d     width    height\n");
  for (std::size_t i = 0; i < n; ++i) {
    const Patch& patch = region.patches[i];
    fmt::format_to(out, FMT_COMPILE("{:6} {:5} {:9.5f} {:9.5f} {:9.5f} {:9.5f} {:9.5f}\n"), i + 1,
                   patch.face + 1, patch.w, patch.h, geometry.depth(patch.face), patch.width,
                   patch.height);
  }
  fmt::format_to(out, "\n patch  face              red            green             blue\n");
  for (std::size_t i = 0; i < n; ++i) {
    fmt::format_to(out, FMT_COMPILE("{:6} {:5} {:16.9g} {:16.9g} {:16.9g}\n"), i + 1,
                   region.patches[i].face + 1, radiosities[i], radiosities[n + i],
                   radiosities[2 * n + i]);
  }
  return fmt::to_string(text);
}

}  // namespace tabane::slalom
