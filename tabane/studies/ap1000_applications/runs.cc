#include "tabane/studies/ap1000_applications/runs.h"

#include <algorithm>
#include <array>
#include <exception>
#include <numeric>
#include <optional>
#include <utility>

#include "tabane/comm/collective/calls.h"
#include "tabane/comm/collectives.h"
#include "tabane/comm/launch.h"
#include "tabane/comm/simulated_run.h"
#include "tabane/comm/transport/conventional.h"
#include "tabane/core/clock.h"
#include "tabane/core/file.h"
#include "tabane/lab/campaign/ranks.h"
#include "tabane/lab/record/text.h"
#include "tabane/solver/picture.h"
#include "tabane/tools/linpack/solve.h"
#include "tabane/tools/scg/solve.h"
#include "tabane/tools/slalom/solve.h"

namespace tabane::lab::ap1000_applications {
namespace {

// Measuring takes longer than a small problem.
bool measures_limit(const Run& run, const MechanismSet& set) {
  return !run.counts && !run.is_simulated && set.name == "all";
}

// A small system first, so that the ranks have code and buffers at hand when the clock starts.
solver::Solution solve_linpack(comm::Comm& comm, const Run& run, const MechanismSet& set,
                               const core::ScratchFolder& /*inputs*/) {
  linpack::SolveOptions options{
      .grid = run.grid,
      .messages = set.look_ahead ? linpack::Messages::look_ahead : linpack::Messages::plain};
  if (run.is_simulated) options.messages = linpack::Messages::by_rows;
  if (!run.counts && !run.is_simulated)
    linpack::solve(comm, linpack::RandomSystem(std::min(run.n, 400), 1), options);
  options.measure_limit = measures_limit(run, set);
  return linpack::solve(comm, linpack::RandomSystem(run.n, 1), options).solution;
}

solver::Solution solve_scg(comm::Comm& comm, const Run& run, const MechanismSet& set,
                           const core::ScratchFolder& /*inputs*/) {
  const auto side = static_cast<std::size_t>(run.n);
  return scg::solve(comm, {.rows = side, .columns = side},
                    {.grid = run.grid, .measure_limit = measures_limit(run, set)})
      .solution;
}

slalom::Problem box_problem(int n, const core::ScratchFolder& inputs) {
  return {.geometry = inputs / "geom", .patches = n, .answer = inputs / "answer"};
}

solver::Solution solve_slalom(comm::Comm& comm, const Run& run, const MechanismSet& /*set*/,
                              const core::ScratchFolder& inputs) {
  slalom::Problem box = box_problem(run.n, inputs);
  box.grid = run.grid;
  box.measure_limit = !run.is_simulated;
  return slalom::solve(comm, box).solution;
}

// The report adds mechanisms in this order; what a barrier alone is worth it leaves open.
std::vector<MechanismSet> sets_of_linpack() {
  return {{"nothing", "", false},
          {"messages", "nothing"},
          {"+broadcast", "messages", true, {.broadcast = true}},
          {"+global", "+broadcast", true, {.broadcast = true, .global = true}},
          {"+gather", "+global", true, {.broadcast = true, .global = true, .gather = true}},
          {"+barrier", "+gather", true, {true, true, true, true}},
          {"barrier alone", "nothing", false, {.barrier = true}},
          {"all", "+barrier", true, {true, true, true, true}, true}};
}

std::vector<MechanismSet> sets_of_scg() {
  return {{"nothing", "", false},
          {"messages", "nothing"},
          {"+broadcast", "messages", true, {.broadcast = true}},
          {"all", "+broadcast", true, {true, true, true, true}}};
}

std::vector<MechanismSet> sets_of_slalom() {
  return {{"nothing", "", false},
          {"+gather", "nothing", false, {.gather = true}},
          {"+messages", "+gather", true, {.gather = true}},
          {"barrier alone", "nothing", false, {.barrier = true}},
          {"all", "+messages", true, {true, true, true, true}}};
}

using TransportPtr = std::unique_ptr<comm::Transport>;

const MechanismSet& set_of(const Run& run) {
  return applications(run.is_simulated)[static_cast<std::size_t>(run.application)]
      .sets[static_cast<std::size_t>(run.set)];
}

// What the ranks of a run use: a transport for its messages, and a counter.
TransportPtr put_on_top(TransportPtr transport, const Run& run, const comm::SocketQueues* queues,
                        comm::CallCounter& counter) {
  const Application& application = applications()[static_cast<std::size_t>(run.application)];
  if (!set_of(run).messages) {
    transport = queues != nullptr ? comm::socket_transport(std::move(transport), *queues)
                                  : comm::buffered_transport(std::move(transport));
  }
  if (!run.counts) return transport;
  return comm::counted_transport(std::move(transport), counter,
                                 {application.steps.begin(), application.steps.end()});
}

std::string rules_of(const Run& run) { return comm::rules_of(set_of(run).collectives); }

// One rank's count, to be sent.
struct CountOfRank {
  std::array<char, 24> call{}, how{};
  std::uint64_t calls = 0;
  double seconds = 0;
};

std::array<char, 24> packed(std::string_view text) {
  std::array<char, 24> to{};
  std::copy_n(text.begin(), std::min(text.size(), to.size() - 1), to.begin());
  return to;
}

// Returns the means on rank 0. All ranks call it.
std::vector<Calls> means(comm::Comm& comm, const comm::CallCounter& counter) {
  const double ticks_per_second = core::tick_rate().ticks_per_second;
  std::vector<CountOfRank> own;
  for (const comm::CallCounter::Count& one : counter.counts()) {
    own.push_back({packed(one.call), packed(one.how), one.calls,
                   static_cast<double>(one.ticks) / ticks_per_second});
  }
  std::vector<Calls> all;
  for (const CountOfRank& one : comm::gather_varying(comm, own, 0).values) {
    const std::string call = one.call.data(), how = one.how.data();
    auto found = std::ranges::find_if(
        all, [&](const Calls& other) { return other.call == call && other.how == how; });
    if (found == all.end()) found = all.insert(all.end(), {call, how});
    found->calls += static_cast<double>(one.calls) / comm.size();
    found->seconds += one.seconds / comm.size();
  }
  return all;
}

Outcome solve_on(comm::Comm& comm, const Run& run, const core::ScratchFolder& inputs,
                 comm::CallCounter& counter) {
  const Application& application =
      applications(run.is_simulated)[static_cast<std::size_t>(run.application)];
  if (run.counts) comm.group().set_counter(&counter);
  Outcome outcome{application.solve(comm, run, set_of(run), inputs)};
  comm.group().set_counter(nullptr);
  if (run.counts) outcome.calls = means(comm, counter);
  return outcome;
}

// Forks ranks for each run, or simulates them.
class LaunchingRunner : public Runner {
 public:
  LaunchingRunner(std::string machine, std::string conventional, std::function<void()> check)
      : machine_(std::move(machine)),
        conventional_(std::move(conventional)),
        check_(std::move(check)) {}

  Outcome solve(const Run& run) override {
    std::optional<comm::SocketQueues> queues;  // two descriptors a rank
    comm::CallCounter counter;
    comm::LaunchOptions options = options_for(run.ranks);
    options.choice_rules = rules_of(run);
    if (machine_.empty()) {
      if (!set_of(run).messages) queues.emplace(run.ranks);
      options.put_on_top = [&](TransportPtr below) {
        return ap1000_applications::put_on_top(std::move(below), run, queues ? &*queues : nullptr,
                                               counter);
      };
    } else if (!set_of(run).messages) {
      options.machine_changes = conventional_;
    }
    return result_of<Outcome>(
        options, [&](comm::Comm& comm) { return solve_on(comm, run, inputs(), counter); });
  }
  double product_rate(int ranks) override {
    return result_of<double>(options_for(ranks),
                             [](comm::Comm& comm) { return solver::measure_product_rate(comm); });
  }

 private:
  comm::LaunchOptions options_for(int ranks) const {
    if (machine_.empty()) return {.ranks = ranks, .transport = comm::TransportKind::shm};
    return {.machine = machine_with(machine_, ranks)};
  }
  template <class R, class F>
  R result_of(const comm::LaunchOptions& options, F f) const {
    std::optional<BlockInterrupts> hold;  // Ctrl-C waits for the end of a run that is forked
    if (machine_.empty()) hold.emplace();
    return *comm::launch_result<R>(options, [&](comm::Comm& comm) {
      comm::check_run(comm.transport(), check_);
      return f(comm);
    });
  }

  std::string machine_, conventional_;
  std::function<void()> check_;
};

// What rank 0 has all ranks do is a run. run.ranks 0: nothing more; run.n 0: the rate of products.
class WorldRunner : public Runner {
 public:
  explicit WorldRunner(comm::Comm& world) : world_(world) {}
  Outcome solve(const Run& run) override { return take_part(run).value(); }
  double product_rate(int ranks) override {
    return take_part({.ranks = ranks}).value().solution.limit;
  }
  void end() { tell({.ranks = 0}); }
  void follow() {
    for (Run run = tell({}); run.ranks > 0; run = tell({})) {
      try {
        work(run);
      } catch (const core::UsageError&) {  // rank 0 tells of it
      }
    }
  }

 private:
  Run tell(Run run) {
    comm::broadcast(world_, run, 0);
    return run;
  }
  std::optional<Outcome> take_part(const Run& run) { return work(tell(run)); }
  // Nothing on ranks that take no part.
  std::optional<Outcome> work(const Run& run);

  comm::Comm& world_;
};

std::optional<Outcome> WorldRunner::work(const Run& run) {
  if (world_.rank() >= run.ranks) return std::nullopt;
  std::vector<int> members(static_cast<std::size_t>(run.ranks));
  std::iota(members.begin(), members.end(), 0);
  comm::CallCounter counter;
  TransportPtr transport = world_.transport().make_group(members, comm::board_request(run.ranks));
  if (run.n == 0) {
    comm::Comm comm(std::move(transport));
    return Outcome{.solution = {.limit = solver::measure_product_rate(comm)}};
  }
  comm::Comm comm(put_on_top(std::move(transport), run, nullptr, counter),
                  std::make_shared<const comm::ChoiceTable>(
                      comm::ChoiceTable::parse(rules_of(run), "rules of the mechanisms")));
  return solve_on(comm, run, inputs(), counter);
}

}  // namespace

const std::vector<Application>& applications(bool is_simulated) {
  static const std::vector<Application> all{
      {"linpack",
       "LINPACK",
       "equations",
       {"panel", "pivot", "swap", "broadcast", "waiting", "update", "substitution"},
       {"pivot", "swap", "broadcast", "waiting"},
       {1000, 2000, 4000},
       {1000},
       1000,
       sets_of_linpack(),
       solve_linpack},
      {"scg",
       "SCG",
       "unknowns a side",
       {"direction", "update", "halo", "waiting", "reductions", "other"},
       {"halo", "waiting", "reductions"},
       {100, 200, 400},
       {100, 200},
       200,
       sets_of_scg(),
       solve_scg},
      {"slalom",
       "SLALOM",
       "patches",
       {"reader", "region", "set-up", "first face", "factor panel", "update", "broadcast",
        "waiting", "substitution", "gather", "storer", "other"},
       {"broadcast", "waiting", "gather"},
       {500, 1000, 2000},
       {500},
       500,
       sets_of_slalom(),
       solve_slalom}};
  static const std::vector<Application> simulated = [] {
    std::vector<Application> those = all;
    Application &linpack = those[0], &slalom = those[2];
    linpack.sets = sets_of_scg();  // with its other calls it has the same
    linpack.quick_sizes = {1000};
    slalom.sizes = {1067, 1666};
    slalom.quick_sizes = {1067};
    slalom.chart_size = 1067;
    std::erase_if(slalom.sets, [](const MechanismSet& set) { return set.name == "barrier alone"; });
    return those;
  }();
  return is_simulated ? simulated : all;
}

Runner::Runner() : inputs_("applications") {
  core::write_file(inputs_ / "geom", slalom::default_geometry_text());
}

Pictures Runner::pictures() const {
  const BlockInterrupts hold;
  const comm::LaunchOptions options{.ranks = 1, .transport = comm::TransportKind::shm};
  slalom::Problem box = box_problem(600, inputs_);
  box.picture = inputs_ / "box.png";
  comm::launch(options, [&](comm::Comm& comm) { slalom::solve(comm, box); });
  constexpr std::size_t kSide = 200;
  const auto mesh = comm::launch_result<std::string>(options, [&](comm::Comm& comm) {
    std::vector<double> values;
    scg::solve(comm, {.rows = kSide, .columns = kSide}, {}, &values);
    return solver::png_of(solver::picture_of(kSide, kSide, values));
  });
  return {to_base64(core::read_file(box.picture)), to_base64(mesh.value())};
}

std::unique_ptr<Runner> launching_runner(std::string machine, std::string conventional,
                                         std::function<void()> check) {
  return std::make_unique<LaunchingRunner>(std::move(machine), std::move(conventional),
                                           std::move(check));
}

std::exception_ptr run_on(comm::Comm& world, const std::function<void(Runner&)>& body) {
  WorldRunner runner(world);
  if (world.rank() != 0) return runner.follow(), nullptr;
  std::exception_ptr problem;
  try {
    body(runner);
  } catch (const core::LostError&) {
    throw;
  } catch (...) {
    problem = std::current_exception();
  }
  runner.end();
  return problem;
}

}  // namespace tabane::lab::ap1000_applications
