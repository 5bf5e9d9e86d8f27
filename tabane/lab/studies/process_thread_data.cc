// What the study process-thread knows of its workloads and shapes, and reads out of its samples.
#include "tabane/lab/studies/process_thread_data.h"

#include <algorithm>
#include <set>

#include "tabane/core/error.h"
#include "tabane/core/units.h"

namespace tabane::lab {

std::vector<std::string> process_thread_workloads() {
  std::vector<std::string> names;
  for (const auto& workload : process_thread::workloads()) names.emplace_back(workload.name);
  return names;
}

namespace process_thread {

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> all = {
      {.name = "malloc-small", .title = "malloc, up to 4 KiB", .report = "both scale"},
      {.name = "malloc-large",
       .title = "malloc, from 256 KiB",
       .report = "9.3 (10.6 / 1.14)",
       .large_share = 1},
      {.name = "insert-10", .title = "std::map, 10 % new keys", .report = "4.84", .new_share = 0.1},
      {.name = "insert-100", .title = "std::map, 100 % new keys", .report = "9.83", .new_share = 1},
      {.name = "words", .title = "counting words", .report = "–"}};
  return all;
}

const Workload& find_workload(const std::string& name) {
  std::string names;
  for (const Workload& workload : workloads()) {
    if (name == workload.name) return workload;
    names += (names.empty() ? "" : ", ") + std::string(workload.name);
  }
  throw core::UsageError("workload " + name + ": use " + names);
}

std::vector<double> Series::seconds() const {
  std::vector<double> all;
  for (const Run& run : runs) all.push_back(run.seconds);
  return all;
}

const Series* Cell::find(Shape shape) const {
  for (const Series& one : series) {
    if (one.shape == shape && !one.runs.empty()) return &one;
  }
  return nullptr;
}

namespace {

template <class Take>
const Series* fastest(const std::vector<Series>& series, Take take) {
  const Series* best = nullptr;
  for (const Series& one : series) {
    if (one.runs.empty() || !take(one.shape)) continue;
    if (best == nullptr || one.median() < best->median()) best = &one;
  }
  return best;
}

}  // namespace

const Series* Cell::best() const {
  return fastest(series, [](Shape) { return true; });
}

const Series* Cell::best_team(int workers) const {
  return fastest(series,
                 [=](Shape shape) { return shape.processes > 1 && shape.workers() == workers; });
}

std::optional<double> Cell::speedup(Shape shape) const {
  const Series *one = find({1, 1}), *other = find(shape);
  if (one == nullptr || other == nullptr) return std::nullopt;
  return core::interleaved_ratio(one->seconds(), other->seconds()).value;
}

std::string pieces_label(std::uint64_t piece_bytes) {
  return piece_bytes == 0 ? "at once" : core::format_bytes(piece_bytes) + " pieces";
}

std::string label(Shape shape) {
  return std::to_string(shape.processes) + " x " + std::to_string(shape.threads);
}

std::optional<Shape> report_team(int workers) {
  constexpr int kMostThreads = 9;
  for (int processes = 2; processes <= workers; processes *= 2) {
    if (workers % processes == 0 && workers / processes <= kMostThreads)
      return Shape{processes, workers / processes};
  }
  return std::nullopt;
}

std::vector<Shape> plan_shapes(int pus) {
  constexpr int kSmallMachine = 4, kLevels = 9;
  std::set<Shape> shapes = {{1, 1}, {1, pus}, {pus, 1}};
  const int most = 2 * pus;
  if (pus <= kSmallMachine) {
    for (int p = 1; p <= most; ++p) {
      for (int t = 1; p * t <= most; ++t) shapes.insert({p, t});
    }
    return {shapes.begin(), shapes.end()};
  }
  for (int p = 1; p <= most; p *= 2) {
    for (int t = 1; p * t <= most; t *= 2) shapes.insert({p, t});
  }
  const int step = std::max(1, pus / kLevels);
  for (int workers = step; workers <= pus; workers += step) {
    shapes.insert({1, workers});
    shapes.insert({workers, 1});
    if (const auto team = report_team(workers)) shapes.insert(*team);
  }
  shapes.insert({{1, most}, {most, 1}});
  return {shapes.begin(), shapes.end()};
}

std::vector<team::SpeedupPoint> speedups(const Cell& cell, bool threads_only, int most_workers) {
  std::vector<team::SpeedupPoint> points;
  for (const Series& one : cell.series) {
    const Shape shape = one.shape;
    if ((threads_only ? shape.processes : shape.threads) != 1) continue;
    if (shape.workers() > most_workers) continue;
    if (const auto speedup = cell.speedup(shape))
      points.push_back({static_cast<double>(shape.workers()), *speedup});
  }
  std::sort(points.begin(), points.end(),
            [](const auto& a, const auto& b) { return a.workers < b.workers; });
  return points;
}

}  // namespace process_thread
}  // namespace tabane::lab
