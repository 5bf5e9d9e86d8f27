#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tabane/core/cgroup.h"
#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/lab/record/published.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/study/study.h"
#include "tabane/studies/process_thread/process_thread.h"
#include "tabane/team/places.h"
#include "tabane/tools/mine/pairs_problem.h"
#include "tabane/tools/mine/plain_counter.h"
#include "tabane/tools/mine/server.h"

namespace tabane::lab::process_thread {
namespace {

namespace mining = mine;

mining::PairsProblem problem_of(std::size_t transactions) { return {.transactions = transactions}; }

mining::DatabaseShape shape_of(const mining::PairsProblem& problem, std::size_t slots) {
  return {.items = problem.items, .blocks = mining::blocks_of(problem.transactions, slots)};
}

team::Team all_threads() {
  return team::Team(
      {.processes = 1, .threads = static_cast<int>(team::known_topology().pus().size())});
}

}  // namespace

// Members refer to those before them.
struct MiningWork::State {
  mining::Client client;
  mining::PublicKeys keys;
  mining::Itemsets pairs;
  std::vector<std::uint64_t> expected = {};
  std::optional<mining::ValueDatabase> values = {};
  std::optional<mining::EncryptedDatabase> encrypted = {};
  std::size_t blocks = 0;

  explicit State(const mining::PairsProblem& problem)
      : client(mining::Client::with_new_keys(mining::key_spec_of(problem))),
        keys(client.public_keys()),
        pairs(mining::all_pairs(problem.items)) {}

  std::vector<mining::bgv::Ciphertext> count(team::Team& team) const {
    if (values) return mining::count_pairs(*values, pairs, team);
    mining::Work work;
    return mining::Server(keys, *encrypted).sums(pairs, team, work);
  }
};

MiningWork::MiningWork(const std::string& workload, std::size_t transactions) {
  const mining::PairsProblem problem = problem_of(transactions);
  const mining::Bitmaps plain = mining::transactions_of(problem);
  const auto state = std::make_shared<State>(problem);
  team::Team threads = all_threads();
  state->expected = mining::PlainCounter(plain, threads).count(state->pairs);
  if (program_of(workload) == "values") {
    state->values.emplace(state->client, plain, threads);
  } else {
    state->encrypted.emplace(mining::encrypt(state->client, plain, threads));
  }
  state->blocks = shape_of(problem, state->client.context()->parameters().slots()).blocks;
  state_ = state;
}

double MiningWork::count(team::Team& team) const {
  core::Clock& clock = core::tick_clock();
  const double begin = clock.now();
  const std::vector<mining::bgv::Ciphertext> sums = state_->count(team);
  const double seconds = clock.now() - begin;
  team::Team here({.processes = 1, .threads = 1});
  const auto counted = mining::decrypt(state_->client, sums, here);
  for (std::size_t pair = 0; pair < counted.size(); ++pair) {
    if (counted[pair] != state_->expected[pair])
      throw core::VerificationError(fmt::format("transactions with the items of pair {}", pair),
                                    static_cast<double>(counted[pair]),
                                    static_cast<double>(state_->expected[pair]));
  }
  return seconds;
}

std::uint64_t MiningWork::products() const { return state_->pairs.size() * state_->blocks; }

std::vector<WorkerStart> plan_starts(int pus, bool few) {
  constexpr int kSmallMachine = 4, kFewWorkers = 8, kLevels = 9;
  const bool small = pus <= kSmallMachine;
  std::set<int> numbers = {pus};
  for (int workers = 2; small && workers <= kFewWorkers; workers *= 2) numbers.insert(workers);
  const int step = std::max(1, pus / kLevels);
  for (int workers = step; !small && workers <= pus; workers += step) numbers.insert(workers);
  if (few) numbers = {pus};
  numbers.erase(1);
  std::vector<WorkerStart> starts = {{"threads", {1, 1}}};
  for (const int workers : numbers) {
    starts.push_back({"threads", {1, workers}});
    const auto team = small ? Shape{workers, 1} : report_team(workers);
    if (!team) continue;
    starts.push_back({"serial", *team});
    starts.push_back({"tree", *team});
  }
  return starts;
}

Factors mining_factors(const std::string& program, const std::string& allocator,
                       const WorkerStart& start) {
  return {{"part", "mining"},
          {"program", program},
          {"under", allocator},
          {"start", start.way},
          {"workers", start.shape.workers()},
          {"team_processes", start.shape.processes}};
}

std::string program_of(const std::string& workload) {
  return workload.substr(workload.find('-') + 1);
}

std::size_t mining_transactions(double scale) {
  const double all = static_cast<double>(mining::PairsProblem{}.transactions);
  return static_cast<std::size_t>(std::max(1.0, std::round(scale * all)));
}

void require_mining_memory(double scale, std::size_t meters) {
  const mining::PairsProblem problem = problem_of(mining_transactions(scale));
  const auto parameters = mining::choose_parameters(mining::key_spec_of(problem));
  const double wanted = static_cast<double>(meters) *
                        mining::database_bytes(parameters, shape_of(problem, parameters.slots()));
  // Results, and the other half of what the kernel keeps for forks, need room, too.
  const auto usable = core::usable_memory_bytes();
  if (!usable || wanted <= *usable / 2) return;
  throw core::UsageError(fmt::format(
      "--scale {}: an encrypted database under each of {} allocators takes {}, more than half of "
      "the {} that are free; use a smaller scale, or fewer allocators (--malloc)",
      scale, meters, core::format_bytes(static_cast<std::uint64_t>(wanted)),
      core::format_bytes(static_cast<std::uint64_t>(*usable))));
}

std::vector<Contender> mining_contenders(const ProcessThreadMeters::Ask& meter,
                                         const std::string& workload, const std::string& allocator,
                                         std::size_t transactions,
                                         const std::vector<WorkerStart>& starts) {
  const Json prepared =
      ask(meter, {{"do", "prepare"}, {"workload", workload}, {"transactions", transactions}});
  std::vector<Contender> contenders;
  for (const WorkerStart& start : starts) {
    const Json request = {{"do", "measure"},
                          {"processes", start.shape.processes},
                          {"threads", start.shape.threads},
                          {"fork", start.way == "serial" ? "serial" : "tree"}};
    contenders.push_back(
        {mining_factors(program_of(workload), allocator, start),
         [meter, request, products = prepared.at("requests").get<double>()]() -> Sample {
           const Json answer = ask(meter, request);
           return {answer["seconds"].get<double>(),
                   {{"start_s", answer["start_s"].get<double>()},
                    {"fork_s", answer["fork_s"].get<double>()},
                    {"join_s", answer["join_s"].get<double>()},
                    {"requests", products}}};
         }});
  }
  return contenders;
}

std::string mining_sentence(std::size_t transactions) {
  const mining::PairsProblem problem = problem_of(transactions);
  const auto parameters = mining::choose_parameters(mining::key_spec_of(problem));
  const std::size_t pairs = mining::all_pairs(problem.items).size();
  const mining::DatabaseShape shape = shape_of(problem, parameters.slots());
  return fmt::format(
      "mining counts {} pairs of {} items in {} random transactions under BGV, {}: {} products of "
      "ciphertexts, {} of ciphertexts to read.",
      pairs, problem.items, transactions, parameters.text(), pairs * shape.blocks,
      core::format_bytes(static_cast<std::uint64_t>(mining::database_bytes(parameters, shape))));
}

// ---- what is shown ----

namespace {

constexpr struct {
  const char *name, *title;
} kWays[] = {
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

Entry team_in_row(const Points& points, const Factors& row) {
  return processes_of(points.find(row.with({{"start", "tree"}})));
}

std::vector<Line> lines(const Factors& what) {
  std::vector<Line> all;
  for (const auto& way : kWays) all.push_back({way.title, what.with({{"start", way.name}})});
  return all;
}

// ---- total time ----

void total_time(const Mined& mined, const Factors& what) {
  const Point* one = mined.one_worker(what);
  if (one == nullptr) return;
  const Factors alone = what.with({{"start", "threads"}, {"workers", 1}});
  std::vector<Column> columns = {{"workers", level_of("workers")}};
  for (const char* head : {"threads", "serial forks", "tree of forks"}) {
    const Factors way{{"start", kWays[(columns.size() - 1) / 2].name}};
    columns.push_back({head, time_of(way)});
    columns.push_back({"speed-up", ratio_of(alone, way, false)});  // the chart shows the interval
  }
  columns.push_back({"P x T", team_in_row});
  add_table(mined.record, title_of(what) + ": total time and speed-up over one worker",
            rows_of(columns, mined.points, combinations(mined.points, {"workers"}, what)),
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
  const auto share_of_total = [&](const Points& created, const Factors& row) {
    Entry share = ratio_entry(created.find(row.with(tree)), mined.points.find(row.with(tree)));
    share.unit = "share";
    share.interval.reset();
    return share;
  };
  std::vector<Factors> several = combinations(starts, {"workers"}, what);
  std::erase_if(several, [](const Factors& row) { return *row.find("workers") == Level(1); });
  add_table(mined.record, title_of(what) + ": creation time",
            rows_of({{"workers", level_of("workers")},
                     {"threads", time_of({{"start", "threads"}})},
                     {"serial forks", time_of(serial)},
                     {"tree of forks", time_of(tree)},
                     {"serial / tree", ratio_of(serial, tree)},
                     {"tree / total time", share_of_total},
                     {"P x T", team_in_row}},
                    starts, several),
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

// Measured at different times, so only medians are compared.
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
