#include "tabane/lab/study/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <utility>

#include "tabane/comm/machine.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/lab/study/views.h"

namespace tabane::lab {
namespace {

using comm::Activities;
using comm::Activity;
using comm::SimulatedRun;
using comm::sim::Machine;

constexpr const char* kAsItIs = "as it is";
constexpr std::size_t kMostRows = 64;  // of a timeline

std::string on_path(std::string_view activity) { return fmt::format("path.{}", activity); }

bool can_change(Machine machine, const std::string& change) {
  try {
    comm::sim::scale(machine, change);
    return true;
  } catch (const core::UsageError&) {
    return false;
  }
}

// "" first. Without changes, those that a buyer of this machine may think of.
std::vector<std::string> changes_of(const Simulation& simulation, const Machine& machine) {
  std::vector<std::string> changes{""};
  if (simulation.changes.empty())
    for (const char* const change : {"setup=0.5", "byte=0.5", "compute=0.5"})
      if (can_change(machine, change)) changes.push_back(change);
  for (const std::string& change : simulation.changes) {
    Machine changed = machine;
    comm::sim::scale(changed, change);
    changes.push_back(change);
  }
  return changes;
}

std::string name_of(const std::string& change) { return change.empty() ? kAsItIs : change; }

struct MachineShape {
  int rows, columns;
  int ranks() const { return rows * columns; }
  std::string text() const { return fmt::format("{}x{}", rows, columns); }
};

// From the machine's own to one rank, each about half of the one before.
std::vector<MachineShape> shapes_of(const Machine& machine) {
  std::vector<MachineShape> shapes;
  for (int rows = machine.rows, columns = machine.columns;;
       (rows > columns ? rows : columns) /= 2) {
    shapes.push_back({rows, columns});
    if (rows * columns == 1) return shapes;
  }
}

// Of all ranks together.
Activities total(const SimulatedRun& run) {
  Activities all;
  for (const auto& rank : run.ranks)
    for (const Activities& slice : rank)
      for (std::size_t i = 0; i < all.of.size(); ++i) all.of[i] += slice.of[i];
  return all;
}

Point point_of(const SimulatedRun& run, const Simulation& simulation, const std::string& change,
               const std::string& shape) {
  Point point;
  point.factors = {{"machine", name_of(change)}, {"shape", shape}, {"ranks", run.ranks.size()}};
  point.samples = {run.seconds / simulation.times};
  const auto see = [&](std::string what, double value) { point.beside[std::move(what)] = {value}; };
  const Activities all = total(run);
  for (std::size_t i = 0; i < all.of.size(); ++i) {
    see(std::string(comm::kActivityNames[i]), all.of[i] / all.sum());
    see(on_path(comm::kActivityNames[i]), run.path.of[i] / run.seconds);
  }
  see(on_path("messages"), static_cast<double>(run.path_messages) / simulation.times);
  return point;
}

// ---- tables ----

Cell beside(std::string what, std::string unit) {
  return shown_of({}, [what = std::move(what), unit = std::move(unit)](const Point& point) {
    return Entry(median_beside(point, what), unit);
  });
}

Cell speedup() { return medians_ratio_of({{"ranks", 1}, {"shape", "1x1"}}, {}); }

Cell efficiency() {
  return [](const Points& points, const Factors& row) {
    const Entry times = speedup()(points, row);
    return times.value ? Entry(*times.value / row.number("ranks"), "share") : Entry();
  };
}

void add_tables(Record& record, const Simulation& simulation, const Points& points,
                const Factors& all_ranks) {
  const std::vector<Factors> changes = combinations(points, {"machine"}, all_ranks);
  add_table(record, "What changes of the machine are worth",
            rows_of({{"machine", word_of("machine")},
                     {simulation.what, time_of()},
                     {"computing", beside("compute", "share")},
                     {"speedup", speedup()},
                     {"faster", medians_ratio_of({{"machine", kAsItIs}}, {})}},
                    points, changes),
            "Computing is its share of all ranks' time, the speedup is over one rank of the same "
            "machine.");
  std::vector<Column> columns{{"machine", word_of("machine")}};
  for (const std::string_view activity : comm::kActivityNames)
    columns.push_back({activity == "wait" ? "on the way" : std::string(activity),
                       beside(on_path(activity), "share")});
  columns.push_back({"messages", beside(on_path("messages"), "1")});
  add_table(record, "Where the critical path goes", rows_of(columns, points, changes),
            "The chain of computing and messages that ends last: only what is on it makes the "
            "whole faster. On the way: messages between two ranks of the path, as many as the last "
            "column says.");
  std::vector<Factors> shapes = combinations(points, {"ranks"}, {{"machine", kAsItIs}});
  for (Factors& row : shapes) row = points.find(row)->factors;
  add_table(record, "Over the number of ranks",
            rows_of({{"ranks", level_of("ranks")},
                     {"shape", word_of("shape")},
                     {simulation.what, time_of()},
                     {"speedup", speedup()},
                     {"efficiency", efficiency()},
                     {"computing", beside("compute", "share")}},
                    points, shapes),
            "");
}

// ---- charts ----

void add_scaling(Record& record, const Points& points) {
  Curves times{{"ranks", "", true}, {"speedup", "", true}, {}};
  Curves efficient{{"ranks", "", true}, {"efficiency", "share"}, {}};
  times.ideal = efficient.ideal = true;
  for (const Factors& change : combinations(points, {"machine"})) {
    const std::string& name = change.word("machine");
    const std::vector<Factors> rows = combinations(points, {"ranks"}, change);
    add_curve(times, curve_of(name, speedup(), points, rows, "ranks"));
    add_curve(efficient, curve_of(name, efficiency(), points, rows, "ranks"));
  }
  add_chart(record, "speedup", "Speedup over one rank",
            "Each curve is over one rank of the same machine, so that a machine that computes "
            "faster scales less far.",
            std::move(times));
  add_chart(record, "efficiency", "Parallel efficiency", "The speedup, divided by the ranks.",
            std::move(efficient));
}

// Neighbouring ranks share a row where there are many.
void add_timeline(Record& record, const SimulatedRun& run, const char* name, std::string title,
                  std::initializer_list<Activity> activities) {
  const std::size_t ranks = run.ranks.size(), step = (ranks + kMostRows - 1) / kMostRows;
  Matrix matrix{.unit = "share", .row_axis = "rank", .column_axis = "time"};
  const auto slices = static_cast<std::size_t>(run.seconds / run.slice_seconds);
  if (slices == 0) return;
  for (std::size_t slice = 0; slice < slices; ++slice)
    matrix.columns.push_back(core::format_seconds(static_cast<double>(slice) * run.slice_seconds));
  for (std::size_t first = 0; first < ranks; first += step) {
    const std::size_t end = std::min(first + step, ranks);
    matrix.rows.push_back(step == 1 ? fmt::format("{}", first)
                                    : fmt::format("{}-{}", first, end - 1));
    auto& row = matrix.values.emplace_back();
    for (std::size_t slice = 0; slice < slices; ++slice) {
      double sum = 0;
      for (std::size_t rank = first; rank < end; ++rank)
        for (const Activity one : activities) sum += run.ranks[rank][slice][one];
      row.push_back(sum / run.slice_seconds / static_cast<double>(end - first));
    }
  }
  add_chart(record, name, std::move(title),
            fmt::format("Its share of each {} of one run, as far as these are whole.",
                        core::format_seconds(run.slice_seconds)),
            std::move(matrix));
}

void add_views(Record& record, const Simulation& simulation, const Points& points,
               const SimulatedRun& run) {
  add_results(record, points, [&](const Point& point) {
    return fmt::format("{} on {} ranks of the machine {}", simulation.what, point.text("ranks"),
                       point.text("machine"));
  });
  add_tables(record, simulation, points, {{"ranks", run.ranks.size()}});
  add_scaling(record, points);
  add_timeline(record, run, "timeline.compute", "When each rank computes", {Activity::compute});
  add_timeline(record, run, "timeline.messages", "When each rank is busy with messages",
               {Activity::send, Activity::receive, Activity::collective});
  add_timeline(record, run, "timeline.wait", "When each rank waits", {Activity::wait});
  for (const std::string& warning : run.warnings) {
    record.warnings.push_back(
        {"not_simulated", warning, "the program depends on time that is not the machine's",
         "tell Comm::compute() what takes time, wait only for messages, and read Comm::now()"});
  }
}

}  // namespace

Record simulate(const core::Topology& topology, const Simulation& simulation, const Hooks& hooks) {
  const Machine machine = comm::sim::machine_named(simulation.machine, 0);
  std::vector<std::string> changes = changes_of(simulation, machine);
  std::vector<MachineShape> shapes = shapes_of(machine);
  if (simulation.quick) {
    changes.resize(1);
    shapes.resize(1);
  }
  Record record = begin_record(topology, Kind::study, simulation.about, "", simulation.quick);
  record.warnings.clear();  // of this computer
  std::vector<double> planned;
  for (const MachineShape& shape : shapes)
    planned.insert(planned.end(), changes.size(), 1e-3 * shape.ranks());
  StepProgress progress(hooks, std::move(planned));
  Points points;
  std::optional<SimulatedRun> first;
  try {
    for (const MachineShape& shape : shapes) {
      for (const std::string& change : changes) {
        const std::string what = fmt::format("{}, {}", shape.text(), name_of(change));
        progress.show(what, 0);
        try {
          SimulatedRun run = simulation.run(
              comm::sim::name_in_shape(simulation.machine, shape.rows, shape.columns), change);
          if (run.seconds > 0) {
            points.add(point_of(run, simulation, change, shape.text()));
            if (!first) first = std::move(run);
          } else {
            record.skipped.push_back({what, "it takes no time"});
          }
        } catch (const core::UsageError& error) {
          if (&shape == &shapes.front()) throw;
          record.skipped.push_back({what, error.what()});
        }
        progress.next_step();
      }
    }
    record.complete = true;
  } catch (const Stopped&) {
    if (!first) throw;
  }
  record.duration_s = progress.elapsed_seconds();
  if (!first) return record;
  add_views(record, simulation, points, *first);
  record.views.front().details["simulated_machine"] = machine.format();
  return record;
}

}  // namespace tabane::lab
