// What mining on encrypted transactions does, and its tables and charts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
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
#include "tabane/tools/mine/mine.h"
#include "tabane/tools/mine/pairs_problem.h"
#include "tabane/tools/mine/plain_counter.h"
#include "tabane/tools/mine/server.h"

namespace tabane::lab::process_thread {
namespace {

namespace mining = mine;

// A problem, and what its encrypted database takes.
struct MinedSize {
  mining::PairsProblem problem;
  mining::bgv::Parameters parameters = mining::choose_parameters(mining::key_spec_of(problem));
  std::size_t blocks = mining::blocks_of(problem.transactions, parameters.slots());
  std::size_t pairs = mining::all_pairs(problem.items).size();
  double bytes = mining::database_bytes(parameters, {.items = problem.items, .blocks = blocks});
};

MinedSize size_of(std::size_t transactions) { return {{.transactions = transactions}}; }

// An encrypted database, and what is to be counted in it. Members refer to those before them.
struct PairsToCount {
  mining::Client client;
  mining::PublicKeys keys;
  mining::Itemsets pairs;
  std::vector<std::uint64_t> expected = {};
  std::vector<std::uint64_t> checked = {};  // digests of sums that were decrypted and are right
  std::optional<mining::ValueDatabase> values = {};
  std::optional<mining::EncryptedDatabase> encrypted = {};

  explicit PairsToCount(const mining::PairsProblem& problem)
      : client(mining::Client::with_new_keys(mining::key_spec_of(problem))),
        keys(client.public_keys()),
        pairs(mining::all_pairs(problem.items)) {}

  std::vector<mining::bgv::Ciphertext> count(team::Team& team) const {
    if (values) return mining::count_pairs(*values, pairs, team);
    mining::Work work;
    return mining::Server(keys, *encrypted).sums(pairs, team, work);
  }
  // Sums are the same each time, so that those that were checked need not be decrypted again.
  // throws: core::VerificationError if a count is not that of the plain loop.
  void check(const std::vector<mining::bgv::Ciphertext>& sums) const {
    if (digests(sums) == checked) return;
    team::Team here({.processes = 1, .threads = 1});
    const auto counted = mining::decrypt(client, sums, here);
    for (std::size_t pair = 0; pair < counted.size(); ++pair) {
      if (counted[pair] != expected[pair])
        throw core::VerificationError(fmt::format("transactions with the items of pair {}", pair),
                                      static_cast<double>(counted[pair]),
                                      static_cast<double>(expected[pair]));
    }
  }
  // FNV-1a over words.
  static std::vector<std::uint64_t> digests(const std::vector<mining::bgv::Ciphertext>& sums) {
    std::vector<std::uint64_t> all;
    for (const mining::bgv::Ciphertext& sum : sums) {
      std::uint64_t digest = 0xcbf29ce484222325;
      for (const std::uint64_t word : sum.words()) digest = (digest ^ word) * 0x100000001b3;
      all.push_back(digest);
    }
    return all;
  }
};

}  // namespace

PreparedWork prepare_mining(const std::string& program, std::size_t transactions) {
  const mining::PairsProblem problem{.transactions = transactions};
  const mining::Bitmaps plain = mining::transactions_of(problem);
  const auto all = std::make_shared<PairsToCount>(problem);
  team::Team threads = mining::threads_only(team::automatic);
  all->expected = mining::count_plain(plain, all->pairs, threads);
  if (program == "values") {
    all->values.emplace(all->client, plain, threads);
  } else {
    all->encrypted.emplace(mining::encrypt(all->client, plain, threads));
  }
  const std::vector<mining::bgv::Ciphertext> first = all->count(threads);
  all->check(first);
  all->checked = PairsToCount::digests(first);
  const auto measure = [all](team::Team& team) {
    team.run([] {});
    const double start = team.report().seconds;
    core::Clock& clock = core::tick_clock();
    const double begin = clock.now();
    const std::vector<mining::bgv::Ciphertext> sums = all->count(team);
    const double seconds = clock.now() - begin;
    all->check(sums);
    Json answer = report_json(team.report());
    answer.update({{"seconds", seconds}, {"start_s", start}});
    return answer;
  };
  const std::size_t slots = all->client.context()->parameters().slots();
  return {all->pairs.size() * mining::blocks_of(transactions, slots), measure};
}

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
    const Shape team = small ? Shape{workers, 1} : team_of_processes(workers);
    if (!few) starts.push_back({"serial", team});
    starts.push_back({"tree", team});
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

std::size_t mining_transactions(double scale) {
  const double all = static_cast<double>(mining::PairsProblem{}.transactions);
  return static_cast<std::size_t>(std::max(1.0, std::round(scale * all)));
}

void require_mining_memory(double scale, std::size_t meters) {
  const double wanted = static_cast<double>(meters) * size_of(mining_transactions(scale)).bytes;
  // Results, and the other half of what the kernel keeps for forks, need room, too.
  const auto usable = core::usable_memory_bytes();
  if (!usable || wanted <= *usable / 2) return;
  throw core::UsageError(
      "--scale {}: an encrypted database under each of {} allocators takes {}, more than half of "
      "the {} that are free; use a smaller scale, or fewer allocators (--malloc)",
      scale, meters, core::format_bytes(static_cast<std::uint64_t>(wanted)),
      core::format_bytes(static_cast<std::uint64_t>(*usable)));
}

void add_mining_parameters(Record& record, double scale) {
  const MinedSize size = size_of(mining_transactions(scale));
  const mining::bgv::Parameters& parameters = size.parameters;
  const auto add = [&](const char* name, double value, const char* unit = "1") {
    const Result* report = published("process-thread").find(fmt::format("process_thread.{}", name));
    add_result(record, name, report->what, {value, unit}, Better::neither);
  };
  add("mining.transactions", static_cast<double>(size.problem.transactions));
  add("mining.products", static_cast<double>(size.pairs * size.blocks));
  add("mining.modulus", static_cast<double>(parameters.plaintext_modulus()));
  add("mining.levels", static_cast<double>(parameters.primes().size()));
  add("mining.security", 128);
  add("mining.ring", static_cast<double>(2 * parameters.degree()));
  add("mining.slots", static_cast<double>(parameters.slots()));
  add("mining.memory", size.bytes, "B");
}

std::string mining_sentence(std::size_t transactions) {
  const MinedSize size = size_of(transactions);
  return fmt::format(
      "mining counts {} pairs of {} items in {} random transactions under BGV, of degree {} with a "
      "modulus of {:.1f} bits: {} products of ciphertexts, {} of ciphertexts to read.",
      size.pairs, size.problem.items, transactions, size.parameters.degree(),
      size.parameters.modulus_bits(), size.pairs * size.blocks,
      core::format_bytes(static_cast<std::uint64_t>(size.bytes)));
}

// ---- what is shown: of a program under an allocator ----

namespace {

const Factors kThreads{{"start", "threads"}}, kSerial{{"start", "serial"}},
    kTree{{"start", "tree"}};
const Factors kOneThread{{"start", "threads"}, {"workers", 1}};
const std::vector<WorkerLine> kLines = {{"threads", "threads", kThreads},
                                        {"teams, serial forks", "serial forks", kSerial},
                                        {"teams, tree of forks", "tree of forks", kTree}};

std::vector<Line> mining_lines(const Factors& what) {
  return {{kLines[0].name, what.with(kThreads)},
          {kLines[1].name, what.with(kSerial)},
          {kLines[2].name, what.with(kTree)}};
}

// Times of an empty team of the same kind, as a point of their own.
Points creation_points(const Points& all) {
  Points starts;
  for (const Point* point : all.where({{"part", "mining"}}))
    starts.add(
        {.factors = point->factors, .block = point->block, .samples = point->beside.at("start_s")});
  return starts;
}

void total_time(const StudyViews& mined, const Factors& what, CaptionValues values) {
  values["product"] =
      text_of({seconds_per_request(*mined.points.find(what.with(kOneThread))), "s"});
  const std::vector<Factors> rows = combinations(mined.points, {"workers"}, what);
  mined.table("mining.total", speedup_columns(kOneThread, kLines), rows, values);
  mined.chart("mining.time." + values["program"],
              times_over(mined.points, "workers", mining_lines(what), "workers"), values,
              "mining.time");
  mined.chart("mining.speedup." + values["program"],
              speedup_curves(mined.points, kOneThread, kLines, rows), values, "mining.speedup");
}

void creation_time(const StudyViews& mined, const Points& starts, const Factors& what,
                   const CaptionValues& values) {
  const auto share_of_total = [&](const Points& created, const Factors& row) {
    Entry share = ratio_entry(created.find(row.with(kTree)), mined.points.find(row.with(kTree)));
    share.unit = "share";
    share.interval.reset();
    return share;
  };
  mined.table("mining.creation.table",
              rows_of({{"workers", level_of("workers")},
                       {"threads", time_of(kThreads)},
                       {"serial forks", time_of(kSerial)},
                       {"tree of forks", time_of(kTree)},
                       {"serial / tree", ratio_of(kSerial, kTree)},
                       {"tree / total time", share_of_total},
                       {"P x T", shown_of(kTree, shape_label)}},
                      starts,
                      only(combinations(starts, {"workers"}, what), "workers",
                           [](double workers) { return workers != 1; })),
              values);
  mined.chart("mining.creation." + values.at("program"),
              times_over(starts, "workers", mining_lines(what), "workers"), values,
              "mining.creation");
}

// What is mined and how it is encrypted, here and in the report.
void mining_parameters(const StudyViews& mined) {
  const std::string begin = family(mined.record) + ".mining.";
  const std::map<std::string, const char*> other_ways = {
      {"columns", "no key switches"}, {"weight", "random, -1, 0 or 1"}, {"relinearised", "no"}};
  const auto is_parameter = [&](const Result& result) {
    return result.name.starts_with(begin) && result.samples.empty();
  };
  const auto row_of = [&](const Result& reported) -> std::vector<Entry> {
    if (!is_parameter(reported)) return {};
    const auto other = other_ways.find(reported.name.substr(begin.size()));
    return {reported.what,
            other != other_ways.end() ? Entry(other->second)
                                      : published_entry(mined.record, reported.name),
            published_entry(mined.report, reported.name)};
  };
  const auto& all = mined.record.results;
  if (std::ranges::any_of(all, is_parameter))
    mined.table("mining.parameters", rows_of({"", "here", "report"}, mined.report.results, row_of));
}

void mining_allocators(const StudyViews& mined, int pus) {
  const auto all = [pus](const Factors& way) { return way.with({{"workers", pus}}); };
  const Pick one(kOneThread), threads(all(kThreads)), serial(all(kSerial)), tree(all(kTree));
  const Points& points = mined.points;
  const std::vector<Factors> rows =
      having(combinations(points, {"program", "under"}), points, {one, threads, tree});
  for (const Factors& row : rows)
    add_gain(mined, "mining-" + row.word("program"), row.word("under"),
             "a team made by a tree of forks", ratio_of(threads, tree)(points, row));
  mined.table("mining.allocators",
              {{"program", word_of("program")},
               {"allocator", word_of("under")},
               {"one worker", time_of(one)},
               {"threads", time_of(threads)},
               {"serial forks", time_of(serial)},
               {"tree of forks", time_of(tree)},
               {"P x T", shown_of(tree, shape_label)},
               {"threads / serial", ratio_of(threads, serial)},
               {"threads / tree", ratio_of(threads, tree)},
               {fmt::format("report, {} workers", mined.reported("workers")),
                published_of(mined.report, "gain.mining")}},
              rows);
}

// Measured at different times, so only medians are compared.
void mining_programs(const StudyViews& mined) {
  const auto row_of = [&](const Factors& under) -> std::vector<Entry> {
    std::vector<Entry> row = {under.word("under")};
    for (const char* program : {"values", "in-place"}) {
      const Factors what = under.with({{"program", program}});
      const Point* one = mined.points.find(what.with(kOneThread));
      if (one == nullptr) return {};
      const double requests = one->beside.at("requests").front();
      row.push_back({seconds_per_request(*one), "s"});
      row.push_back({fastest(mined.points.where(what))->median() / requests, "s"});
    }
    row.push_back({*row[1].value / *row[3].value, "ratio"});
    row.push_back({*row[2].value / *row[4].value, "ratio"});
    return row;
  };
  mined.table(
      "mining.programs",
      rows_of({"allocator", "values, one worker", "values, best", "in-place, one worker",
               "in-place, best", "values / in-place, one worker", "values / in-place, best"},
              combinations(mined.points, {"under"}), row_of));
}

}  // namespace

void add_mining_views(Record& record, const Points& points, int pus) {
  const auto is_mining = [](const Point& point) {
    return point.measured() && point.factors.match({{"part", "mining"}});
  };
  if (std::ranges::none_of(points, is_mining)) return;
  const StudyViews mined{
      record, points, published("process-thread"), {{"pus", std::to_string(pus)}}};
  mining_parameters(mined);
  const Points starts = creation_points(points);
  const std::string under = points.words("under").front();
  for (const std::string& program : points.words("program")) {
    const Factors what{{"program", program}, {"under", under}};
    const CaptionValues values = {{"program", program}, {"under", under}};
    if (points.find(what.with(kOneThread)) != nullptr) total_time(mined, what, values);
    creation_time(mined, starts, what, values);
  }
  mining_allocators(mined, pus);
  mining_programs(mined);
}

}  // namespace tabane::lab::process_thread
