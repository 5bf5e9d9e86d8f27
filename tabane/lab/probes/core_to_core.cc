#include "tabane/lab/probes/core_to_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/memory.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/probes/common.h"
#include "tabane/lab/record/text.h"

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
  std::ranges::sort(chosen, [](const core::Pu& a, const core::Pu& b) {
    return a.logical_index < b.logical_index;
  });
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

// core_to_core.latency: how long a cache line takes from one PU to another.
//
// Two threads change a number on one line in turn by compare-and-swap; half a round trip is the
// latency. Each pair gets a page of its own on the node of its first PU, so that no third node's
// memory controller or cache directory takes part.

namespace {

constexpr std::uint64_t kRoundTrips = 2000;  // of one epoch
constexpr int kFewestEpochs = 3;
constexpr int kMostEpochs = 41;
constexpr int kWarmUpEpochs = 1;
constexpr double kMostPairSeconds = 3;
constexpr double kInterference = 0.10;
constexpr std::size_t kMostSamples = 2016;   // pairs of 64 PUs
constexpr std::size_t kMostPairsAPass = 64;  // after the first pass

// What a pair shares, and what comes out of it.
struct Duel {
  core::Region page;
  std::atomic<bool> ready{false};
  std::atomic<bool> given_up{false};
  std::vector<double> ns;  // latency, one an epoch
  std::optional<bool> at_home;

  // Neighbouring lines may be fetched in pairs.
  const std::size_t stride = 2 * core::cache_line_bytes();

  std::atomic<std::uint64_t>& line(std::uint64_t epoch) {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(page.data() + epoch % lines() * stride);
  }
  std::uint64_t first_value(std::uint64_t epoch) const { return epoch / lines() * 2 * kRoundTrips; }
  std::uint64_t lines() const { return page.size() / stride; }
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// False at the deadline, or when the partner gave up.
bool may_go_on(Duel& duel, double deadline) {
  if (core::tick_clock().now() > deadline) duel.given_up = true;
  return !duel.given_up;
}

bool play_epoch(Duel& duel, std::uint64_t epoch, bool first, double deadline) {
  const std::uint64_t begin = duel.first_value(epoch);
  return take_turns(duel.line(epoch), begin, begin + 2 * kRoundTrips, first,
                    [&](unsigned) { return may_go_on(duel, deadline); });
}

void play_first(Duel& duel, int epochs) {
  core::Clock& clock = core::tick_clock();
  const double deadline = clock.now() + kMostPairSeconds;
  duel.page.touch();
  duel.ready.store(true, std::memory_order_release);
  for (int epoch = 0; epoch < kWarmUpEpochs + epochs; ++epoch) {
    const double begin = clock.now();
    if (!play_epoch(duel, static_cast<std::uint64_t>(epoch), true, deadline)) return;
    const double seconds = clock.now() - begin;
    // An epoch of few clock steps would say more about the clock than about the line.
    if (epoch >= kWarmUpEpochs && seconds >= 1000 * clock.step())
      duel.ns.push_back(1e9 * seconds / (2 * kRoundTrips));
  }
}

void play_second(Duel& duel, int epochs) {
  const double deadline = core::tick_clock().now() + kMostPairSeconds;
  while (!duel.ready.load(std::memory_order_acquire)) {
    if (!may_go_on(duel, deadline)) return;
    std::this_thread::yield();
  }
  for (int epoch = 0; epoch < kWarmUpEpochs + epochs; ++epoch)
    if (!play_epoch(duel, static_cast<std::uint64_t>(epoch), false, deadline)) return;
}

struct Cell {
  std::vector<double> ns;
  std::optional<bool> at_home;  // whether the line's page was on the node of the first PU
};

class PairMeter {
 public:
  PairMeter(const core::Topology& topology, std::vector<core::Pu> pus)
      : pus_(std::move(pus)),
        several_nodes_(topology.numa_nodes().size() > 1),
        bind_pages_(several_nodes_ && core::numa_calls_available()) {}

  // Plays disjoint pairs at the same time. The cells are in the order of the pairs.
  std::vector<Cell> play(std::span<const PuPair> pairs, int epochs) {
    std::vector<std::unique_ptr<Duel>> duels;
    std::vector<unsigned> threads;
    for (const auto& [a, b] : pairs) {
      duels.push_back(make_duel(pus_[a]));
      threads.push_back(pus_[a].os_index);
      threads.push_back(pus_[b].os_index);
    }
    core::PinnedPool(threads).run([&](std::size_t i) {
      i % 2 == 0 ? play_first(*duels[i / 2], epochs) : play_second(*duels[i / 2], epochs);
    });
    std::vector<Cell> played;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      Cell cell{std::move(duels[i]->ns), std::nullopt};
      if (several_nodes_) cell.at_home = is_at_home(duels[i]->page, pus_[pairs[i].first]);
      played.push_back(std::move(cell));
    }
    return played;
  }

  const std::vector<core::Pu>& pus() const { return pus_; }
  bool bind_pages() const { return bind_pages_; }
  std::map<PuPair, Cell> cells;

 private:
  std::unique_ptr<Duel> make_duel(const core::Pu& home) const {
    auto duel = std::make_unique<Duel>();
    core::MemoryOptions options;
    if (bind_pages_) options = {.policy = core::MemoryPolicy::bind, .nodes = {home.numa_node}};
    try {
      duel->page = core::Region(core::page_bytes(), options);
    } catch (const core::Error&) {  // a node without memory: leave it to the first touch
      duel->page = core::Region(core::page_bytes());
    }
    return duel;
  }
  static std::optional<bool> is_at_home(const core::Region& page, const core::Pu& home) {
    const auto nodes = page.pages_per_node();
    if (!nodes) return std::nullopt;
    return nodes->contains(static_cast<int>(home.numa_node));
  }

  std::vector<core::Pu> pus_;
  bool several_nodes_;
  bool bind_pages_;
};

// Epochs a pair such that `plays` plays fill the budget, from one pair played at the beginning.
int plan_epochs(PairMeter& matrix, ProbeContext& context, std::size_t plays) {
  const PuPair farthest{0, static_cast<unsigned>(matrix.pus().size() - 1)};
  const std::vector<Cell> trial = matrix.play({&farthest, 1}, kFewestEpochs);
  if (trial.front().ns.empty()) return kFewestEpochs;
  const double epoch_seconds = core::median(trial.front().ns) * 1e-9 * 2 * kRoundTrips;
  const double epochs = context.budget_seconds() / static_cast<double>(plays) / epoch_seconds;
  return std::clamp(static_cast<int>(epochs) - kWarmUpEpochs, kFewestEpochs, kMostEpochs);
}

void play_serially(PairMeter& matrix, ProbeContext& context) {
  const auto n = static_cast<unsigned>(matrix.pus().size());
  const std::size_t pairs = std::size_t{n} * (n - 1) / 2;
  const int epochs = plan_epochs(matrix, context, pairs);
  for (unsigned a = 0; a < n; ++a) {
    for (unsigned b = a + 1; b < n; ++b) {
      context.progress(static_cast<double>(matrix.cells.size()) / static_cast<double>(pairs));
      const PuPair pair{a, b};
      matrix.cells[pair] = matrix.play({&pair, 1}, epochs).front();
    }
  }
}

// Median relative difference between pairs of a round played together and the same pairs alone.
double interference(PairMeter& matrix, std::span<const PuPair> round, int epochs) {
  constexpr std::size_t kPairs = 8;
  std::vector<double> differences;
  for (std::size_t i = 0; i < std::min(kPairs, round.size()); ++i) {
    const PuPair pair = round[i * round.size() / std::min(kPairs, round.size())];
    const std::vector<double> alone = matrix.play({&pair, 1}, epochs).front().ns;
    const std::vector<double>& together = matrix.cells[pair].ns;
    if (alone.empty() || together.empty()) continue;
    differences.push_back(std::abs(core::median(together) / core::median(alone) - 1));
  }
  return differences.empty() ? HUGE_VAL : core::median(differences);
}

// Returns the largest interference seen; above kInterference it stopped and the cells are no good.
double play_in_rounds(PairMeter& matrix, ProbeContext& context) {
  const auto rounds = tournament(static_cast<unsigned>(matrix.pus().size()));
  const int epochs = plan_epochs(matrix, context, rounds.size());
  double worst = 0;
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    context.progress(static_cast<double>(r) / static_cast<double>(rounds.size()));
    std::vector<Cell> cells = matrix.play(rounds[r], epochs);
    for (std::size_t i = 0; i < cells.size(); ++i) matrix.cells[rounds[r][i]] = std::move(cells[i]);
    if (r == 0 || r == rounds.size() / 2)
      worst = std::max(worst, interference(matrix, rounds[r], epochs));
    if (worst > kInterference) break;
  }
  return worst;
}

Matrix empty_table(const std::vector<core::Pu>& pus) {
  Matrix table{.unit = "ns", .row_axis = "PU", .column_axis = "PU"};
  for (const core::Pu& pu : pus) table.rows.push_back(std::to_string(pu.os_index));
  table.columns = table.rows;
  table.values.assign(pus.size(), std::vector<std::optional<double>>(pus.size()));
  return table;
}

struct PairValue {
  double value;
  std::size_t from, to;
};

std::vector<PairValue> measured_pairs(const Matrix& matrix) {
  std::vector<PairValue> pairs;
  for (std::size_t i = 0; i < matrix.rows.size(); ++i)
    for (std::size_t j = 0; j < matrix.columns.size(); ++j)
      if (const auto& x = matrix.values[i][j]; x && std::isfinite(*x)) pairs.push_back({*x, i, j});
  return pairs;
}

std::string note_of(const Matrix& matrix, const std::vector<PairValue>& pairs) {
  std::vector<double> values;
  for (const PairValue& pair : pairs) values.push_back(pair.value);
  const std::string middle = show(core::median(values), matrix.unit);
  if (pairs.size() <= 2)
    return fmt::format("A line of memory goes from one PU to the other in {}.", middle);
  const auto [near, far] = std::ranges::minmax_element(pairs, {}, &PairValue::value);
  return fmt::format(
      "A line of memory goes from PU to PU in {} at the median. The nearest pair, {} and {}, needs "
      "{}. The farthest, {} and {}, needs {}, {:.3g} times as long. PUs are in topology order, "
      "so blocks on the diagonal are groups that share a cache.",
      middle, matrix.rows[near->from], matrix.columns[near->to], show(near->value, matrix.unit),
      matrix.rows[far->from], matrix.columns[far->to], show(far->value, matrix.unit),
      near->value > 0 ? far->value / near->value : 0.0);
}

double round_to_hundredths(double ns) { return std::round(100 * ns) / 100; }

void report_matrix(const Probe& probe, ProbeContext& context, const PairMeter& matrix,
                   const Json& details) {
  Matrix middle = empty_table(matrix.pus());
  for (const auto& [pair, cell] : matrix.cells) {
    if (cell.ns.empty()) continue;
    const auto [a, b] = pair;
    middle.values[a][b] = middle.values[b][a] = round_to_hundredths(core::median(cell.ns));
  }
  context.report(View{.name = probe.name,
                      .title = "From core to core",
                      .version = probe.version,
                      .details = details,
                      .content = std::move(middle)},
                 describe_core_to_core);
}

void report_result(const Probe& probe, ProbeContext& context, const PairMeter& matrix,
                   Json& details) {
  std::vector<double> medians;
  double best = std::numeric_limits<double>::infinity(), worst = 0;
  std::size_t at_home = 0, elsewhere = 0;
  for (const auto& [pair, cell] : matrix.cells) {
    if (cell.at_home) ++(*cell.at_home ? at_home : elsewhere);
    if (cell.ns.empty()) continue;
    medians.push_back(core::median(cell.ns));
    const Json names = {matrix.pus()[pair.first].os_index, matrix.pus()[pair.second].os_index};
    if (medians.back() < best) {
      best = medians.back();
      details["best_pair"] = names;
      details["min_ns"] = best;
    }
    if (medians.back() > worst) {
      worst = medians.back();
      details["worst_pair"] = names;
      details["max_ns"] = worst;
    }
  }
  if (medians.empty()) throw NotHere("no pair of PUs ran at the same time long enough");
  details[detail::kPairs] = medians.size();
  details["pairs_not_measured"] = matrix.cells.size() - medians.size();
  if (at_home + elsewhere > 0) {
    details["pages_at_home"] = at_home;
    details["pages_elsewhere"] = elsewhere;
  }
  Result result = probe.result();
  if (medians.size() <= kMostSamples)
    set_samples(result, std::move(medians));
  else
    result.value = core::median(medians);
  result.details = details;
  context.report(std::move(result));
}

}  // namespace

// A later pass of a matrix that takes long: pairs at even distances represent all.
void play_some(PairMeter& matrix, ProbeContext& context, std::size_t most) {
  const auto n = static_cast<unsigned>(matrix.pus().size());
  std::vector<PuPair> all;
  for (unsigned a = 0; a < n; ++a)
    for (unsigned b = a + 1; b < n; ++b) all.emplace_back(a, b);
  const std::size_t count = std::min(most, all.size());
  const int epochs = plan_epochs(matrix, context, count);
  for (std::size_t i = 0; i < count; ++i) {
    context.progress(static_cast<double>(i) / static_cast<double>(count));
    const PuPair pair = all[(i * all.size() + context.pass().index) / count % all.size()];
    matrix.cells[pair] = matrix.play({&pair, 1}, epochs).front();
  }
}

void run_core_to_core(const Probe& probe, ProbeContext& context, CoreToCorePlan plan) {
  Json details = {{"method", "compare-and-swap on one line, half a round trip"},
                  {"round_trips_per_epoch", kRoundTrips}};
  auto matrix = std::make_unique<PairMeter>(context.topology(), plan.pus);
  const std::size_t pairs = plan.pus.size() * (plan.pus.size() - 1) / 2;
  if (!context.pass().first() && pairs > kMostPairsAPass) {
    play_some(*matrix, context, kMostPairsAPass);
  } else if (plan.parallel) {
    const double seen = play_in_rounds(*matrix, context);
    details["interference"] = std::isfinite(seen) ? Json(seen) : Json(nullptr);
    if (!(seen <= kInterference)) {
      plan = plan_core_to_core(context.topology().pus(), context.quick(), context.budget_seconds(),
                               std::numeric_limits<std::size_t>::max());
      plan.subset = "pairs that ran at the same time disturbed each other; " + plan.subset;
      plan.parallel = false;
      matrix = std::make_unique<PairMeter>(context.topology(), plan.pus);
      play_serially(*matrix, context);
    }
  } else {
    play_serially(*matrix, context);
  }
  details["schedule"] = plan.parallel ? "disjoint pairs at the same time" : "one pair at a time";
  details["home_node"] = matrix->bind_pages() ? "bound to the node of the first PU of the pair"
                                              : "first touch by the first PU of the pair";
  details["pus_usable"] = context.topology().pus().size();
  details["pus_measured"] = matrix->pus().size();
  if (!plan.subset.empty()) details["subset"] = plan.subset;
  report_result(probe, context, *matrix, details);
  report_matrix(probe, context, *matrix, details);
}

void describe_core_to_core(View& view, const Record&) {
  const auto& matrix = std::get<Matrix>(view.content);
  if (const auto pairs = measured_pairs(matrix); !pairs.empty()) view.note = note_of(matrix, pairs);
}

std::vector<Probe> core_to_core_probes(const core::Topology& topology) {
  const std::size_t pus = topology.pus().size();
  const auto run = [](const Probe& probe, ProbeContext& context) {
    require_this_machine(context);
    const std::span<const core::Pu> usable = context.topology().pus();
    if (usable.size() < 2) throw NotHere("one usable PU: there is no second one to talk to");
    // The first pass of a large machine takes as long as all later ones together.
    const auto& plan = context.memory().keep<CoreToCorePlan>("core_to_core", [&] {
      return plan_core_to_core(
          usable, context.quick(),
          context.budget_seconds() * static_cast<double>(context.pass().count) / 2);
    });
    run_core_to_core(probe, context, plan);
  };
  return {{.name = "core_to_core.latency",
           .what = "Time that a cache line takes from one PU to another: median over the pairs",
           .unit = "ns",
           .better = Better::lower,
           .version = 2,
           .seconds = {std::clamp(2 * least_seconds(pus, pus > kMostSerialPus), 1.0, 20.0), 0.6},
           .run = run}};
}

}  // namespace tabane::lab
