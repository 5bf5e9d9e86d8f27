#include "tabane/studies/process_thread/process_thread_mining.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "tabane/core/cgroup.h"
#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"
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

std::vector<Start> plan_starts(int pus, bool few) {
  constexpr int kSmallMachine = 4, kFewWorkers = 8, kLevels = 9;
  const bool small = pus <= kSmallMachine;
  std::set<int> numbers = {pus};
  for (int workers = 2; small && workers <= kFewWorkers; workers *= 2) numbers.insert(workers);
  const int step = std::max(1, pus / kLevels);
  for (int workers = step; !small && workers <= pus; workers += step) numbers.insert(workers);
  if (few) numbers = {pus};
  numbers.erase(1);
  std::vector<Start> starts = {{"threads", {1, 1}}};
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
                       const Start& start) {
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
  // Results, and the other half of what the kernel keeps for forks, need room beside them.
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
                                         const std::vector<Start>& starts) {
  const Json prepared =
      ask(meter, {{"do", "prepare"}, {"workload", workload}, {"transactions", transactions}});
  std::vector<Contender> contenders;
  for (const Start& start : starts) {
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

}  // namespace tabane::lab::process_thread
