#include "tabane/lab/probes/core_to_core.h"

#include <algorithm>
#include <map>

namespace tabane::lab {
namespace {

// Of one pair with the fewest epochs, with its two threads, on a machine with slow links.
constexpr double kPairSeconds = 4e-3;
constexpr double kThreadSeconds = 50e-6;
constexpr std::size_t kMostQuickPus = 16;

}  // namespace

std::vector<std::vector<PuPair>> tournament(unsigned n) {
  std::vector<std::vector<PuPair>> rounds;
  if (n < 2) return rounds;
  const unsigned seats = n + n % 2;  // the last seat of an odd number is empty
  const unsigned turning = seats - 1;
  for (unsigned r = 0; r < turning; ++r) {
    std::vector<PuPair> round;
    const auto add = [&](unsigned a, unsigned b) {
      if (a < n && b < n) round.emplace_back(std::min(a, b), std::max(a, b));
    };
    // The last seat stays; the others move on by one seat around a circle.
    add(r, turning);
    for (unsigned k = 1; k < seats / 2; ++k) add((r + k) % turning, (r + turning - k) % turning);
    rounds.push_back(std::move(round));
  }
  return rounds;
}

std::vector<core::Pu> sample_pus(std::span<const core::Pu> pus, std::size_t most) {
  if (pus.size() <= most) return {pus.begin(), pus.end()};
  std::map<unsigned, std::vector<core::Pu>> groups;
  std::size_t cores = 0;
  for (const core::Pu& pu : pus) {
    if (pu.smt != 0) continue;
    groups[pu.last_level_cache].push_back(pu);
    ++cores;
  }
  if (cores < 2) return {pus.begin(), pus.begin() + static_cast<std::ptrdiff_t>(most)};
  std::vector<core::Pu> chosen;
  if (groups.size() > most) {
    std::size_t index = 0, taken = 0;
    for (const auto& [cache, group] : groups) {
      if (index++ * most / groups.size() < taken) continue;
      chosen.push_back(group.front());
      ++taken;
    }
  } else {
    for (std::size_t depth = 0; chosen.size() < std::min(most, cores); ++depth) {
      for (const auto& [cache, group] : groups)
        if (depth < group.size() && chosen.size() < most) chosen.push_back(group[depth]);
    }
  }
  std::sort(chosen.begin(), chosen.end(),
            [](const core::Pu& a, const core::Pu& b) { return a.logical_index < b.logical_index; });
  return chosen;
}

double least_seconds(std::size_t pus, bool parallel) {
  const auto n = static_cast<double>(pus);
  return parallel ? n * (kPairSeconds + n * kThreadSeconds) : 0.5 * n * (n - 1) * kPairSeconds;
}

CoreToCorePlan plan_core_to_core(std::span<const core::Pu> pus, bool quick, double budget_seconds,
                                 std::size_t most_serial) {
  CoreToCorePlan plan;
  plan.parallel = !quick && pus.size() > most_serial;
  std::size_t most = quick ? kMostQuickPus : pus.size();
  if (quick && pus.size() > most) plan.subset = "a quick survey samples the PUs";
  while (most > 2 &&
         least_seconds(std::min(most, pus.size()), plan.parallel) > 2 * budget_seconds) {
    --most;
    if (most < pus.size()) plan.subset = "all PUs would take too long";
  }
  if (most <= most_serial) plan.parallel = false;
  plan.pus = sample_pus(pus, std::max<std::size_t>(most, 2));
  return plan;
}

}  // namespace tabane::lab
