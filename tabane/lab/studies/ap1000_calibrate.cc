// Which algorithm of each collective is the fastest here, over sizes and numbers of ranks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <span>

#include "tabane/comm/collectives.h"
#include "tabane/core/clock.h"
#include "tabane/core/units.h"
#include "tabane/lab/studies/ap1000_data.h"

namespace tabane::lab {
namespace ap1000 {
namespace {

using comm::Kind;

constexpr std::uint64_t kMostWholeBytes = std::uint64_t{8} << 20;
constexpr std::uint64_t kMostOfAllRanks = std::uint64_t{256} << 20;
constexpr double kSureGain = 1.05;  // less is not worth a rule

const std::uint64_t kSizes[] = {8, 48, 512, 4096, 16384, 65536, 262144, 1048576};

bool has_root(Kind kind) {
  return kind == Kind::broadcast || kind == Kind::reduce || kind == Kind::scatter ||
         kind == Kind::gather;
}

// One rank's buffers, that all its collectives share: of the largest.
struct Buffers {
  std::vector<std::byte> values, whole_in, whole_out;

  void fit(std::size_t bytes, std::size_t ranks) {
    values.resize(std::max(values.size(), bytes));
    whole_in.resize(std::max(whole_in.size(), bytes * ranks));
    whole_out.resize(whole_in.size());
  }
};

// A rank's call of a collective of doubles.
comm::Call call_of(Kind kind, std::size_t bytes, std::size_t ranks, Buffers& buffers,
                   const comm::Combine& combine) {
  comm::Call call;
  call.kind = kind;
  call.bytes = bytes;
  call.element = {comm::type_code<double>(), sizeof(double)};
  call.combine = &combine;
  const std::span<std::byte> values = std::span(buffers.values).first(bytes);
  const bool in_place = kind == Kind::broadcast || kind == Kind::reduce || kind == Kind::all_reduce;
  if (in_place) {
    call.values = values;
  } else if (kind != Kind::barrier) {
    const bool whole_in = kind == Kind::scatter || kind == Kind::all_to_all;
    call.in = whole_in ? std::span(buffers.whole_in).first(bytes * ranks) : values;
    call.out = kind == Kind::scatter ? values : std::span(buffers.whole_out).first(bytes * ranks);
  }
  return call;
}

RankWork calls(comm::Grid& grid, const comm::Algorithm& algorithm, std::size_t bytes,
               const std::shared_ptr<Buffers>& buffers) {
  const auto ranks = static_cast<std::size_t>(grid.all().size());
  const auto combine =
      std::make_shared<const comm::Combine>(comm::combine_values<double>(comm::Operation::sum));
  buffers->fit(bytes, ranks);
  const comm::Call first = call_of(algorithm.kind, bytes, ranks, *buffers, *combine);
  if (algorithm.refuses(grid.all().group(), first) != nullptr) return {};
  return [=, &grid, &algorithm, roots = Roots(grid.all())](std::uint64_t iterations) mutable {
    // Only now: those that were made later may have moved the buffers.
    comm::Call call = call_of(algorithm.kind, bytes, ranks, *buffers, *combine);
    for (std::uint64_t i = 0; i < iterations; ++i) {
      if (has_root(algorithm.kind)) call.root = roots.next();
      comm::run(grid.all().group(), call, algorithm.name);
    }
  };
}

Job calibration_job(int ranks, std::vector<Point>& points) {
  Job job{.ranks = ranks, .what = fmt::format("{} ranks", ranks)};
  const auto buffers = std::make_shared<Buffers>();
  const auto all = static_cast<std::uint64_t>(ranks);
  for (const comm::Algorithm& algorithm : comm::algorithms()) {
    for (const std::uint64_t size : kSizes) {
      const std::uint64_t bytes = algorithm.kind == Kind::barrier ? 0 : size;
      if (bytes * all > kMostWholeBytes || bytes * all * all > kMostOfAllRanks) break;
      job.points.push_back(points.size());
      job.factors.push_back(1);
      job.workloads.push_back([&algorithm, bytes, buffers](comm::Grid& grid) {
        return calls(grid, algorithm, bytes, buffers);
      });
      points.push_back({.part = std::string(name_of(algorithm.kind)),
                        .way = std::string(algorithm.name),
                        .ranks = ranks,
                        .bytes = bytes});
      if (bytes == 0) break;
    }
  }
  return job;
}

// ---- the choice ----

const Point* of_algorithm(const std::vector<const Point*>& points, std::string_view name) {
  for (const Point* point : points) {
    if (point->way == name) return point;
  }
  return nullptr;
}

// What the built-in rules take; those of an algorithm that could not serve do not fit.
const Point* built_in(comm::Setting setting, Kind kind, const std::vector<const Point*>& points) {
  for (const comm::Rule& rule : comm::default_choice()->rules()) {
    if (rule.setting != setting || rule.kind != kind || points[0]->ranks > rule.most_ranks ||
        points[0]->bytes > rule.most_bytes)
      continue;
    if (const Point* point = of_algorithm(points, rule.algorithm->name)) return point;
  }
  return nullptr;
}

const Point* fastest(const std::vector<const Point*>& points) {
  return *std::min_element(points.begin(), points.end(), [](const Point* a, const Point* b) {
    return a->median() < b->median();
  });
}

bool surely_faster(const Point& point, const Point& incumbent) {
  const auto gain = ratio_in_turn(incumbent, point);
  return gain && gain->interval.low > kSureGain;
}

struct Reach {
  std::uint64_t most_bytes;
  const comm::Algorithm* algorithm;
  bool operator==(const Reach&) const = default;
};

// Halfway between two sizes, as their ratio.
std::uint64_t border(std::uint64_t below, std::uint64_t above) {
  const double middle = std::sqrt(static_cast<double>(below) * static_cast<double>(above));
  return std::max(below, static_cast<std::uint64_t>(std::exp2(std::floor(std::log2(middle)))));
}

// The points of one number of ranks, by size.
std::vector<Reach> reaches(const std::vector<ChoicePoint>& points) {
  std::vector<Reach> all;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const comm::Algorithm* algorithm = comm::find_algorithm(points[i].kind, points[i].chosen->way);
    const bool last = i + 1 == points.size();
    const std::uint64_t most =
        last ? comm::Rule::kAnyBytes : border(points[i].chosen->bytes, points[i + 1].chosen->bytes);
    if (!all.empty() && all.back().algorithm == algorithm)
      all.back().most_bytes = most;
    else
      all.push_back({most, algorithm});
  }
  return all;
}

// ---- what is shown ----

StudyTable choice_table(const std::vector<ChoicePoint>& chosen) {
  StudyTable table{"Where another algorithm is faster than the built-in choice", "", {}};
  table.rows = {
      {"setting", "collective", "ranks", "bytes", "chosen", "time", "built in", "time", "gain"}};
  std::size_t kept = 0;
  for (const ChoicePoint& point : chosen) {
    if (point.chosen == point.built_in) {
      ++kept;
      continue;
    }
    const core::Ratio gain =
        core::interleaved_ratio(point.built_in->seconds, point.chosen->seconds);
    table.rows.push_back({std::string(name_of(point.setting)), std::string(name_of(point.kind)),
                          std::to_string(point.chosen->ranks),
                          core::format_bytes(point.chosen->bytes), point.chosen->way,
                          core::format_seconds(point.chosen->median()), point.built_in->way,
                          core::format_seconds(point.built_in->median()),
                          fmt::format("{:.2f} [{:.2f}, {:.2f}]", gain.value, gain.interval.low,
                                      gain.interval.high)});
  }
  table.remark = fmt::format(
      "{} of {} points keep what is built in: nothing there is surely faster by {:.0f} % "
      "(95 % interval of samples taken in turn).",
      kept, chosen.size(), 100 * (kSureGain - 1));
  return table;
}

void add_results(SurveyRecord& record, const std::vector<Point>& points) {
  for (const Point& point : points) {
    if (!point.measured()) continue;
    Result result;
    result.name = fmt::format("ap1000.calibration.{}.{}.r{}.b{}", point.part, point.way,
                              point.ranks, point.bytes);
    result.what = "time of a collective by one of its algorithms";
    result.unit = "s";
    result.better = Better::lower;
    result.parameters = {{"ranks", point.ranks}, {"bytes", point.bytes}};
    set_samples(result, point.seconds);
    record.results.push_back(std::move(result));
  }
}

}  // namespace

std::vector<ChoicePoint> choose(const std::vector<Point>& points,
                                const std::function<comm::Setting(int ranks)>& setting) {
  std::vector<ChoicePoint> chosen;
  for (int k = 0; k < comm::kKinds; ++k) {
    const auto kind = static_cast<Kind>(k);
    std::map<std::pair<int, std::uint64_t>, std::vector<const Point*>> by_ranks_and_bytes;
    for (const Point& point : points) {
      if (point.measured() && point.part == name_of(kind))
        by_ranks_and_bytes[{point.ranks, point.bytes}].push_back(&point);
    }
    for (const auto& [at, rivals] : by_ranks_and_bytes) {
      const comm::Setting where = setting(at.first);
      const Point* incumbent = built_in(where, kind, rivals);
      const Point* best = fastest(rivals);
      if (incumbent == nullptr) incumbent = best;
      const bool better = surely_faster(*best, *incumbent);
      chosen.push_back({where, kind, better ? best : incumbent, incumbent});
    }
  }
  return chosen;
}

std::vector<comm::Rule> rules_of(const std::vector<ChoicePoint>& chosen) {
  std::map<std::pair<comm::Setting, Kind>, std::map<int, std::vector<ChoicePoint>>> groups;
  for (const ChoicePoint& point : chosen)
    groups[{point.setting, point.kind}][point.chosen->ranks].push_back(point);
  std::vector<comm::Rule> rules;
  for (const auto& [about, by_ranks] : groups) {
    for (auto at = by_ranks.begin(); at != by_ranks.end(); ++at) {
      const auto next = std::next(at);
      const std::vector<Reach> here = reaches(at->second);
      const bool last = next == by_ranks.end();
      if (!last && here == reaches(next->second)) continue;  // the next rules serve these ranks too
      for (const Reach& reach : here) {
        rules.push_back({.setting = about.first,
                         .kind = about.second,
                         .most_ranks = last ? comm::Rule::kAnyRanks : at->first,
                         .most_bytes = reach.most_bytes,
                         .algorithm = reach.algorithm});
      }
    }
  }
  return rules;
}

}  // namespace ap1000

std::optional<Ap1000Calibration> calibrate_ap1000(const core::Topology& topology,
                                                  const Ap1000Options& options,
                                                  const SurveyHooks& hooks) {
  using namespace ap1000;
  Ap1000Calibration calibration;
  Study& study = calibration.study;
  study = {.name = "ap1000-calibration",
           .title = "The fastest algorithm of each collective",
           .source = "tabane study ap1000 --calibrate",
           .tables = {},
           .record = begin_record(topology, options, " --calibrate")};
  const PassOptions passes =
      options.quick ? pass_options(options, 20, 4) : pass_options(options, 90, 8);
  bool shows = true;
  with_runner(topology, options, [&](const RankRunner& runner) {
    shows = runner.shows;
    std::vector<Point> points;
    std::vector<Job> jobs;
    for (const int ranks : plan_ranks(runner.most_ranks))
      jobs.push_back(calibration_job(ranks, points));
    const double begin = core::tick_clock().now();
    study.record.complete = run_passes(runner, jobs, passes, hooks, points);
    study.record.duration_s = core::tick_clock().now() - begin;
    if (!shows) return;
    const std::vector<ChoicePoint> chosen = choose(points, runner.setting);
    add_results(study.record, points);
    study.tables.push_back(choice_table(chosen));
    calibration.choice =
        fmt::format("# {}, {}, over {}\n{}", study.record.command_line, study.record.started,
                    runner.transport, comm::ChoiceTable(rules_of(chosen)).format());
  });
  if (!shows) return {};
  return calibration;
}

}  // namespace tabane::lab
