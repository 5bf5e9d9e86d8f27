#include "tabane/lab/probes/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "tabane/lab/record/text.h"

namespace tabane::lab {
namespace {

struct Cache {
  int level = 0;
  double bytes = 0;
};

// The machine's caches with a known size, from level 1 up.
std::vector<Cache> caches_of(const Record& record) {
  std::vector<Cache> caches;
  for (const Json& cache : record.machine.value("caches", Json::array()))
    if (const auto bytes = cache.at("bytes").get<double>(); bytes > 0)
      caches.push_back({cache.at("level").get<int>(), bytes});
  return caches;
}

}  // namespace

bool keep_drawable(Curves& curves) {
  std::erase_if(curves.series, [](const Curve& curve) { return curve.x.empty(); });
  return std::ranges::any_of(curves.series, [](const Curve& curve) { return curve.x.size() > 1; });
}

// Of each cache the largest size that takes at most half of it and does not fit into the one
// before, as the single results do.
std::string levels_sentence(const Record& record, const Curve& curve, std::string_view unit) {
  std::vector<std::string> parts;
  double before = 0;
  for (const Cache& cache : caches_of(record)) {
    std::optional<double> best;
    for (std::size_t i = 0; i < curve.x.size(); ++i)
      if (curve.x[i] > before && curve.x[i] <= 0.5 * cache.bytes) best = curve.y[i];
    if (best) parts.push_back(fmt::format("{} in L{}", show(*best, unit), cache.level));
    before = cache.bytes;
  }
  const double last = curve.x.back();
  if (parts.empty() || last > 2 * before)
    parts.push_back(fmt::format("{} {} {}", show(curve.y.back(), unit),
                                before > 0 && last > 2 * before ? "beyond the caches, at" : "at",
                                show(last, "B")));
  return join(parts);
}

std::string mark_caches(const Record& record, Curves& curves) {
  curves.marks.clear();
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const Curve& curve : curves.series) {
    low = std::min(low, curve.x.front());
    high = std::max(high, curve.x.back());
  }
  std::vector<std::string> parts;
  for (const Cache& cache : caches_of(record)) {
    if (cache.bytes > low && cache.bytes < high)
      curves.marks.push_back({cache.bytes, fmt::format("L{}", cache.level)});
    parts.push_back(fmt::format("L{} {}", cache.level, show(cache.bytes, "B")));
  }
  return parts.empty() ? "" : fmt::format(" The dashed lines are the caches: {}.", join(parts));
}

std::string count_cores(double n) { return fmt::format("{:.0f} {}", n, n == 1 ? "core" : "cores"); }

}  // namespace tabane::lab
