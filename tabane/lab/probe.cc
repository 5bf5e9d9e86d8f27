#include "tabane/lab/probe.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <ranges>

#include "tabane/core/error.h"

namespace tabane::lab {
namespace {

bool selects(std::string_view pattern, std::string_view name) {
  if (pattern.find('*') != std::string_view::npos)
    return fnmatch(std::string(pattern).c_str(), std::string(name).c_str(), 0) == 0;
  const auto below = [](std::string_view inner, std::string_view outer) {
    return inner.starts_with(outer) && inner.size() > outer.size() && inner[outer.size()] == '.';
  };
  // "memory.latency.l1" is a result of the probe memory.latency.
  return name == pattern || below(name, pattern) || below(pattern, name);
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

std::string closest_names(const std::vector<Probe>& probes, std::string_view pattern) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const Probe& probe : probes)
    ranked.emplace_back(edit_distance(probe.name, pattern), probe.name);
  std::ranges::sort(ranked);
  if (ranked.size() > 3) ranked.resize(3);
  return fmt::format("{}", fmt::join(std::views::values(ranked), ", "));
}

}  // namespace

void ProbeContext::report(Result result) {
  auto known = std::ranges::find(record_.results, result.name, &Result::name);
  if (known == record_.results.end())
    known = record_.results.insert(known, std::move(result));
  else
    add_pass(*known, std::move(result));
  if (pass_.last()) hooks_.on_result(*known);
}

void ProbeContext::report(View view, Describe* describe) {
  std::vector<View>& passes = memory_.views(view.name);
  passes.push_back(std::move(view));
  View joined = join_passes(passes);
  if (describe != nullptr) describe(joined, record_);
  if (View* known = record_.find_view(joined.name))
    *known = std::move(joined);
  else
    record_.views.push_back(std::move(joined));
}

std::vector<std::span<const Probe>> visits_of(std::span<const Probe> probes) {
  std::vector<std::span<const Probe>> visits;
  for (std::size_t begin = 0; begin < probes.size();) {
    std::size_t end = begin + 1;
    while (!probes[begin].group.empty() && end < probes.size() &&
           probes[end].group == probes[begin].group)
      ++end;
    visits.push_back(probes.subspan(begin, end - begin));
    begin = end;
  }
  return visits;
}

void visit(std::span<const Probe> probes, ProbeContext& context) {
  const Probe& first = probes.front();
  if (first.run_group)
    first.run_group(probes, context);
  else
    first.run(first, context);
  context.progress(1);
}

Result Probe::result() const {
  return {.name = name, .what = what, .unit = unit, .better = better, .version = version};
}

Result Probe::result(std::vector<double> samples, Json details) const {
  Result result = this->result();
  result.details = std::move(details);
  set_samples(result, std::move(samples));
  return result;
}

std::vector<Probe> all_probes(const core::Topology& topology) {
  std::vector<Probe> all;
  for (const auto family : {clock_probes, compute_probes, level_probes, bandwidth_probes,
                            ladder_probes, latency_probes, core_to_core_probes, numa_probes,
                            process_probes, team_probes, comm_probes, device_probes}) {
    for (Probe& probe : family(topology)) all.push_back(std::move(probe));
  }
  return all;
}

std::vector<Probe> select_probes(std::vector<Probe> probes, std::span<const std::string> patterns) {
  if (patterns.empty()) return probes;
  for (const std::string& pattern : patterns) {
    const bool known =
        std::ranges::any_of(probes, [&](const Probe& p) { return selects(pattern, p.name); });
    if (!known) {
      throw core::UsageError("no probe is named '{}'; the closest names are {}; --list shows all",
                             pattern, closest_names(probes, pattern));
    }
  }
  std::erase_if(probes, [&](const Probe& probe) {
    return std::ranges::none_of(
        patterns, [&](const std::string& pattern) { return selects(pattern, probe.name); });
  });
  return probes;
}

}  // namespace tabane::lab
