#include "tabane/tools/tune/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <span>

#include "tabane/comm/collectives.h"
#include "tabane/lab/record_head.h"
#include "tabane/lab/study/study.h"
#include "tabane/tools/tune/search.h"

namespace tabane::lab {
namespace {

constexpr About kAbout = {"collectives", "The fastest algorithm of each collective",
                          "tabane tune --collectives"};

constexpr std::uint64_t kMostWholeBytes = std::uint64_t{8} << 20;
constexpr std::uint64_t kMostOfAllRanks = std::uint64_t{256} << 20;
constexpr double kSureGain = 1.05;  // less is not worth a rule

const std::uint64_t kSizes[] = {8, 48, 512, 4096, 16384, 65536, 262144, 1048576};

// Their time depends on how the parts differ: no one size represents it.
bool has_varying_parts(comm::Kind kind) { return kind >= comm::Kind::gather_varying; }

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
comm::Call call_of(comm::Kind kind, std::size_t bytes, std::size_t ranks, Buffers& buffers,
                   const comm::Combine& combine) {
  comm::Call call;
  call.kind = kind;
  call.bytes = bytes;
  call.element = {comm::type_code<double>(), sizeof(double)};
  call.combine = &combine;
  const std::span<std::byte> values = std::span(buffers.values).first(bytes);
  const bool part_out = kind == comm::Kind::scatter || kind == comm::Kind::reduce_scatter;
  if (kind == comm::Kind::broadcast || (comm::combines(kind) && !part_out)) {
    call.values = values;
  } else if (kind != comm::Kind::barrier) {
    const bool whole_in = part_out || kind == comm::Kind::all_to_all;
    call.in = whole_in ? std::span(buffers.whole_in).first(bytes * ranks) : values;
    call.out = part_out ? values : std::span(buffers.whole_out).first(bytes * ranks);
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

Block block_of(const RankRunner& runner, int ranks) {
  std::vector<RankContender> contenders;
  const auto buffers = std::make_shared<Buffers>();
  const auto all = static_cast<std::uint64_t>(ranks);
  for (const comm::Algorithm& algorithm : comm::algorithms()) {
    if (has_varying_parts(algorithm.kind)) continue;
    for (const std::uint64_t size : kSizes) {
      const std::uint64_t bytes = algorithm.kind == comm::Kind::barrier ? 0 : size;
      if (bytes * all > kMostWholeBytes || bytes * all * all > kMostOfAllRanks) break;
      contenders.push_back({{{"collective", std::string(name_of(algorithm.kind))},
                             {"algorithm", std::string(algorithm.name)},
                             {"ranks", ranks},
                             {"bytes", bytes}},
                            [&algorithm, bytes, buffers](comm::Grid& grid) {
                              return calls(grid, algorithm, bytes, buffers);
                            }});
      if (bytes == 0) break;
    }
  }
  return rank_block(runner, ranks, fmt::format("{} ranks", ranks), std::move(contenders));
}

// ---- the choice ----

const Point* of_algorithm(const std::vector<const Point*>& points, std::string_view name) {
  for (const Point* point : points) {
    if (point->text("algorithm") == name) return point;
  }
  return nullptr;
}

// What the built-in rules take; those of an algorithm that could not serve do not fit.
const Point* built_in(comm::Setting setting, comm::Kind kind,
                      const std::vector<const Point*>& points) {
  for (const comm::Rule& rule : comm::default_choice()->rules()) {
    if (rule.setting != setting || rule.kind != kind ||
        points[0]->number("ranks") > rule.most_ranks ||
        points[0]->number("bytes") > static_cast<double>(rule.most_bytes))
      continue;
    if (const Point* point = of_algorithm(points, rule.algorithm->name)) return point;
  }
  return nullptr;
}

bool surely_faster(const Point& point, const Point& incumbent) {
  const auto gain = ratio_in_turn(&incumbent, &point);
  return gain && tune::surely_better(*gain, kSureGain);
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

std::uint64_t bytes_of(const Choice& choice) {
  return static_cast<std::uint64_t>(choice.chosen->number("bytes"));
}

// The choices of one number of ranks, by size.
std::vector<Reach> reaches(const std::vector<Choice>& choices) {
  std::vector<Reach> all;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const comm::Algorithm* algorithm =
        comm::find_algorithm(choices[i].kind, choices[i].chosen->text("algorithm"));
    const bool last = i + 1 == choices.size();
    const std::uint64_t most =
        last ? comm::Rule::kAnyBytes : border(bytes_of(choices[i]), bytes_of(choices[i + 1]));
    if (!all.empty() && all.back().algorithm == algorithm)
      all.back().most_bytes = most;
    else
      all.push_back({most, algorithm});
  }
  return all;
}

// ---- what is shown ----

void add_choices(Record& record, const std::vector<Choice>& choices) {
  Rows rows{
      {"setting", "collective", "ranks", "bytes", "chosen", "time", "built in", "time", "gain"},
      {}};
  for (const Choice& choice : choices) {
    if (choice.chosen == choice.built_in) continue;
    rows.rows.push_back({std::string(name_of(choice.setting)),
                         std::string(name_of(choice.kind)),
                         {choice.chosen->number("ranks"), "1"},
                         {choice.chosen->number("bytes"), "B"},
                         choice.chosen->text("algorithm"),
                         median_entry(choice.chosen),
                         choice.built_in->text("algorithm"),
                         median_entry(choice.built_in),
                         ratio_entry(choice.built_in, choice.chosen)});
  }
  const std::size_t kept = choices.size() - rows.rows.size();
  record.sentences.push_back(
      fmt::format("{} of {} points keep what is built in: nothing there is surely faster by {:.0f} "
                  "% (95 % interval of samples taken in turn).",
                  kept, choices.size(), 100 * (kSureGain - 1)));
  add_table(record, "Where another algorithm is faster than the built-in choice", std::move(rows),
            "");
}

}  // namespace

std::vector<Choice> choose_algorithms(const Points& points,
                                      const std::function<comm::Setting(int ranks)>& setting) {
  std::vector<Choice> choices;
  for (int k = 0; k < comm::kKinds; ++k) {
    const auto kind = static_cast<comm::Kind>(k);
    const Factors collective{{"collective", std::string(name_of(kind))}};
    for (const double ranks : points.numbers("ranks", collective)) {
      const Factors grid = collective.with({{"ranks", ranks}});
      for (const double bytes : points.numbers("bytes", grid)) {
        const auto rivals = points.where(grid.with({{"bytes", bytes}}));
        const comm::Setting where = setting(static_cast<int>(ranks));
        const Point* best = fastest(rivals);
        const Point* incumbent = built_in(where, kind, rivals);
        if (incumbent == nullptr) incumbent = best;
        const bool better = surely_faster(*best, *incumbent);
        choices.push_back({where, kind, better ? best : incumbent, incumbent});
      }
    }
  }
  return choices;
}

std::vector<comm::Rule> rules_of(const std::vector<Choice>& choices) {
  std::map<std::pair<comm::Setting, comm::Kind>, std::map<int, std::vector<Choice>>> groups;
  for (const Choice& choice : choices)
    groups[{choice.setting, choice.kind}][static_cast<int>(choice.chosen->number("ranks"))]
        .push_back(choice);
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

std::optional<CollectivesTuning> tune_collectives(const core::Topology& topology,
                                                  const CollectivesOptions& options,
                                                  const Hooks& hooks) {
  RunningStudy study(topology, kAbout, options.quick);
  study.record.command_line = options.command_line;
  const double usual = options.quick ? 20 : 90;
  const double budget = options.budget_seconds > 0 ? options.budget_seconds : usual;
  const double most = options.most_seconds > 0 ? options.most_seconds : 2 * budget;
  std::optional<CollectivesTuning> tuning;
  with_ranks(topology, options.ranks, [&](const RankRunner& runner) {
    Campaign campaign(runner.shows ? hooks : Hooks{});
    for (const int ranks : plan_ranks(runner.most_ranks)) campaign.add(block_of(runner, ranks));
    const bool complete = campaign.run({.passes = options.quick ? 4 : 8,
                                        .budget_seconds = budget,
                                        .most_seconds = most,
                                        .agree = runner.agree});
    if (!runner.shows) return;
    tuning.emplace();
    study.add(campaign, complete,
              [](const Point&) { return "time of a collective by one of its algorithms"; });
    Record& record = tuning->record;
    record = study.finish();
    const auto choices = choose_algorithms(campaign.points, runner.setting);
    add_choices(record, choices);
    if (complete)
      tuning->choice = fmt::format("# {}, {}, over {}\n{}", record.command_line, record.started,
                                   runner.transport, comm::ChoiceTable(rules_of(choices)).format());
  });
  return tuning;
}

}  // namespace tabane::lab
