// Tables and charts of mining on encrypted transactions: total time, creation time, allocators.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tabane/lab/record/published.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/study/study.h"
#include "tabane/studies/process_thread/process_thread_mining.h"

namespace tabane::lab::process_thread {
namespace {

struct Way {
  const char* name;
  const char* title;
};
constexpr Way kWays[] = {
    {"threads", "threads"}, {"serial", "teams, serial forks"}, {"tree", "teams, tree of forks"}};

struct Mined {
  Record& record;
  const Points& points;  // of mining alone
  int pus;
  const Record& report = published("process-thread");

  const Point* at(const Factors& what, const char* way, double workers) const {
    return points.find(what.with({{"start", way}, {"workers", workers}}));
  }
  const Point* one_worker(const Factors& what) const { return at(what, "threads", 1); }
  std::string reported(const char* name) const {
    return text_of(published_entry(report, std::string("process_thread.") + name));
  }
};

std::string title_of(const Factors& what) {
  return fmt::format("Mining encrypted transactions, {} ({})", what.find("program")->word(),
                     what.find("under")->word());
}

Points mined_points(const Points& all) {
  Points mined;
  mined.declare(mining_factors("", "", {}));
  for (const Point& point : all) {
    if (point.factors.match({{"part", "mining"}})) mined.add(point);
  }
  return mined;
}

// Times of an empty team of the same kind, as a point of their own.
Points creation_points(const Points& mined) {
  Points starts;
  starts.declare(mining_factors("", "", {}));
  for (const Point& point : mined) {
    const auto seen = point.beside.find("start_s");
    if (point.measured() && seen != point.beside.end())
      starts.add({.factors = point.factors, .block = point.block, .samples = seen->second});
  }
  return starts;
}

Entry processes_of(const Point* team) {
  if (team == nullptr) return {};
  const double processes = team->number("team_processes");
  return fmt::format("{:.0f} x {:.0f}", processes, team->number("workers") / processes);
}

std::vector<Line> lines(const Factors& what) {
  std::vector<Line> all;
  for (const Way& way : kWays) all.push_back({way.title, what.with({{"start", way.name}})});
  return all;
}

// ---- total time ----

void total_time(const Mined& mined, const Factors& what) {
  const Point* one = mined.one_worker(what);
  if (one == nullptr) return;
  const auto row_of = [&](double workers) {
    std::vector<Entry> row = {count_entry(workers)};
    for (const Way& way : kWays) {
      const Point* point = mined.at(what, way.name, workers);
      row.push_back(median_entry(point));
      row.push_back(ratio_entry(one, point));
      row.back().interval.reset();  // the chart shows it
    }
    row.push_back(processes_of(mined.at(what, "tree", workers)));
    return row;
  };
  add_table(mined.record, title_of(what) + ": total time and speed-up over one worker",
            rows_of({"workers", "threads", "speed-up", "serial forks", "speed-up", "tree of forks",
                     "speed-up", "P x T"},
                    mined.points.numbers("workers", what), row_of),
            fmt::format("From the call until the sums are there, creation of the workers included. "
                        "A product takes one worker {}. The report: {} products of ciphertexts "
                        "with {} slots, about as many transactions as --scale 1.",
                        text_of({one->median() / one->beside.at("requests").front(), "s"}),
                        mined.reported("mining.products"), mined.reported("mining.slots")));
}

void speedup_chart(const Mined& mined, const Factors& what) {
  const Point* one = mined.one_worker(what);
  Curves curves{.x = {"workers", ""}, .y = {"speed-up", "ratio"}, .series = {}, .ideal = true};
  for (const Line& line : lines(what)) {
    Curve curve{.name = line.name};
    for (const Point* point : mined.points.where(line.factors, "workers")) {
      const Entry speedup = ratio_entry(one, point);
      if (speedup.value)
        add_place(curve, point->number("workers"), *speedup.value, speedup.interval);
    }
    add_curve(curves, std::move(curve));
  }
  add_chart(mined.record, "mining.speedup." + what.find("program")->word(),
            title_of(what) + ": speed-up over one worker",
            "Total time of one worker over that of several, creation of the workers included.",
            curves);
}

// ---- creation time ----

void creation_time(const Mined& mined, const Points& starts, const Factors& what) {
  const Factors serial{{"start", "serial"}}, tree{{"start", "tree"}};
  const auto share_of_total = [&](const Factors& row) {
    Entry share = ratio_entry(starts.find(row.with(tree)), mined.points.find(row.with(tree)));
    share.unit = "share";
    share.interval.reset();
    return share;
  };
  std::vector<Factors> several = combinations(starts, {"workers"}, what);
  std::erase_if(several, [](const Factors& row) { return *row.find("workers") == Level(1); });
  add_table(
      mined.record, title_of(what) + ": creation time",
      PointTable(starts)
          .level("workers", "workers")
          .time("threads", {{"start", "threads"}})
          .time("serial forks", serial)
          .time("tree of forks", tree)
          .ratio("serial / tree", serial, tree)
          .column("tree / total time", share_of_total)
          .column("P x T",
                  [&](const Factors& row) { return processes_of(starts.find(row.with(tree))); })
          .rows(several),
      fmt::format("Start and end of workers that do nothing, in the process that holds the "
                  "encrypted database. The report: {}.",
                  mined.reported("forks.proportional_above")));
  add_chart(mined.record, "mining.creation." + what.find("program")->word(),
            title_of(what) + ": creation time of workers",
            "Start and end of workers that do nothing, in the process that holds the encrypted "
            "database. Both axes are logarithmic.",
            times_over(starts, "workers", lines(what), "workers"));
}

// ---- allocators ----

void allocators(const Mined& mined) {
  const auto row_of = [&](const Factors& what) -> std::vector<Entry> {
    const Point* one = mined.one_worker(what);
    const Point* threads = mined.at(what, "threads", mined.pus);
    const Point* serial = mined.at(what, "serial", mined.pus);
    const Point* tree = mined.at(what, "tree", mined.pus);
    if (one == nullptr || threads == nullptr || tree == nullptr) return {};
    const std::string program = what.find("program")->word();
    const Entry gain = ratio_entry(threads, tree);
    add_result(
        mined.record, fmt::format("gain.mining-{}.{}", program, what.find("under")->word()),
        "time of threads only over that of a team made by a tree of forks, one worker per PU", gain,
        Better::higher);
    return {program,
            what.find("under")->word(),
            median_entry(one),
            median_entry(threads),
            median_entry(serial),
            median_entry(tree),
            processes_of(tree),
            ratio_entry(threads, serial),
            gain,
            published_entry(mined.report, "process_thread.gain.mining")};
  };
  add_table(
      mined.record,
      fmt::format("Mining encrypted transactions: threads against teams, {} workers", mined.pus),
      rows_of({"program", "allocator", "one worker", "threads", "serial forks", "tree of forks",
               "P x T", "threads / serial", "threads / tree",
               fmt::format("report, {} workers", mined.reported("workers"))},
              combinations(mined.points, {"program", "under"}), row_of),
      "values allocates the result of every operation, as the report's program did with its "
      "library; in-place keeps its sums, and reduces each once. Ratios are medians of pairs "
      "measured in turn, with 95 % intervals; above 1 teams are faster. The report's is that of "
      "its program with a tree of forks; fewer cores show less.");
}

// Measured at different times, so only medians stand beside each other.
void programs(const Mined& mined) {
  const auto row_of = [&](const Level& allocator) -> std::vector<Entry> {
    std::vector<Entry> row = {allocator.word()};
    std::vector<double> best;
    for (const char* program : {"values", "in-place"}) {
      const Factors what{{"program", program}, {"under", allocator}};
      const Point *one = mined.one_worker(what), *least = fastest(mined.points.where(what));
      if (one == nullptr) return {};
      const double products = one->beside.at("requests").front();
      row.push_back({one->median() / products, "s"});
      row.push_back({least->median() / products, "s"});
      best.insert(best.end(), {one->median() / products, least->median() / products});
    }
    row.push_back({best[0] / best[2], "ratio"});
    row.push_back({best[1] / best[3], "ratio"});
    return row;
  };
  add_table(mined.record, "Mining encrypted transactions: values against in-place, per product",
            rows_of({"allocator", "values, one worker", "values, best", "in-place, one worker",
                     "in-place, best", "values / in-place, one worker", "best"},
                    mined.points.levels("under"), row_of),
            "Best: the fastest number and kind of workers. Both programs count the same products; "
            "what differs is where results lie, and that in-place reduces a sum once.");
}

}  // namespace

void add_mining_views(Record& record, const Points& points, int pus) {
  const Points mined_only = mined_points(points), starts = creation_points(mined_only);
  const Mined mined{record, mined_only, pus};
  const std::vector<std::string> under = mined_only.words("under");
  if (under.empty()) return;
  for (const std::string& program : mined_only.words("program")) {
    const Factors what{{"program", program}, {"under", under.front()}};
    total_time(mined, what);
    speedup_chart(mined, what);
    creation_time(mined, starts, what);
  }
  allocators(mined);
  programs(mined);
}

}  // namespace tabane::lab::process_thread
