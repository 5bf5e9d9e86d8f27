#include "tabane/studies/process_thread/process_thread.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/lab/campaign/campaign.h"

namespace tabane::lab {
namespace process_thread {

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> all = {
      {.name = "malloc-small", .title = "malloc, up to 4 KiB", .large_share = 0},
      {.name = "malloc-10", .title = "malloc, 10 % large", .large_share = 0.1, .between = true},
      {.name = "malloc-50", .title = "malloc, 50 % large", .large_share = 0.5, .between = true},
      {.name = "malloc-large", .title = "malloc, from 256 KiB", .large_share = 1},
      {.name = "insert-10", .title = "std::map, 10 % new keys", .new_share = 0.1},
      {.name = "insert-50", .title = "std::map, 50 % new keys", .new_share = 0.5, .between = true},
      {.name = "insert-100", .title = "std::map, 100 % new keys", .new_share = 1},
      {.name = "words", .title = "counting words"},
      {.name = "mining-values", .title = "mining, ciphertexts as values", .program = "values"},
      {.name = "mining-in-place", .title = "mining in place", .program = "in-place"}};
  return all;
}

const Workload& find_workload(const std::string& name) {
  std::vector<std::string> names;
  for (const Workload& workload : workloads()) {
    if (name == workload.name) return workload;
    names.emplace_back(workload.name);
  }
  throw core::UsageError("workload {}: use {}", name, fmt::join(names, ", "));
}

Factors shape_factors(const std::string& workload, const std::string& allocator, Shape shape) {
  return {{"workload", workload},
          {"allocator", allocator},
          {"processes", shape.processes},
          {"threads", shape.threads}};
}

Shape shape_of(const Factors& factors) {
  return {static_cast<int>(factors.number("processes")),
          static_cast<int>(factors.number("threads"))};
}

Factors automatic_factors(const std::string& workload, const std::string& allocator) {
  return {{"part", "automatic"}, {"chosen_for", workload}, {"chosen_under", allocator}};
}

std::optional<Shape> report_team(int workers) {
  constexpr int kMostThreads = 9;
  for (int processes = 1; processes <= workers; processes *= 2)
    if (workers % processes == 0 && workers / processes <= kMostThreads)
      return Shape{processes, workers / processes};
  return std::nullopt;
}

Shape team_of_processes(int workers) {
  const auto team = report_team(workers);
  return team && team->processes > 1 ? *team : Shape{workers, 1};
}

std::vector<Shape> plan_shapes(int pus) {
  constexpr int kSmallMachine = 4, kLevels = 9;
  const int most = 2 * pus;
  const auto next = [&](int n) { return pus <= kSmallMachine ? n + 1 : 2 * n; };
  std::set<Shape> shapes = {{1, pus}, {pus, 1}, {1, most}, {most, 1}};
  for (int p = 1; p <= most; p = next(p))
    for (int t = 1; p * t <= most; t = next(t)) shapes.insert({p, t});
  const int step = std::max(1, pus / kLevels);
  for (int workers = step; workers <= pus; workers += step) {
    shapes.insert({{1, workers}, {workers, 1}});
    if (const auto team = report_team(workers)) shapes.insert(*team);
  }
  return {shapes.begin(), shapes.end()};
}

namespace {

constexpr About kAboutProcessThread = {
    "process-thread", "Teams of processes and threads at allocation-heavy work",
    "T. Umayabara, H. Yamana (Waseda University): Scalable parallel processing combining processes "
    "and threads on many-core shared-memory machines (4 x Xeon E7-8880 v3, 72 cores), about 2018"};

// What is measured how long. Times of one worker grow with the machine, so that the shares of its
// many workers are still long against a fork.
struct Setup {
  ProcessThreadOptions options;
  ProcessThreadMeters meters;
  int pus;
  // few: for allocators that are only compared; fewest: of workloads between.
  std::vector<Shape> shapes = {}, few_shapes = {}, fewest_shapes = {};
  std::size_t tasks = 64;
  double one_worker_seconds = 0.12;
  int passes = 3;  // so that intervals cover the run and not one moment of it
  // All passes together: of a workload, of one between, of a program that mines.
  Effort effort{.fewest = 6, .most = 51, .budget_seconds = 24};
  Effort between_effort{.fewest = 6, .most = 51, .budget_seconds = 5};
  Effort mining_effort{.fewest = 6, .most = 51, .budget_seconds = 20};
  ForkPlan forks{.effort = {.fewest = 6, .most = 150, .budget_seconds = 1.2}};
  std::vector<Result> choices = {}, memory = {};
  std::map<std::string, Json> expected = {};  // by workload, once a meter has found it

  // What the first pass found out holds for all.
  struct Prepared {
    double requests = 0;
    std::set<Shape> shapes = {};
  };
  std::map<std::string, Prepared> prepared = {};  // by workload and allocator

  Effort effort_of(const Workload& workload) const {
    if (workload.program == nullptr) return workload.between ? between_effort : effort;
    Effort mining = mining_effort;
    if (briefly(workload)) mining.budget_seconds /= 3;
    return mining;
  }
  // Whether it is measured under the first allocator only, and with few shapes.
  bool briefly(const Workload& workload) const {
    return workload.between ||
           (options.quick && workload.name == std::string_view("mining-in-place"));
  }
  const std::vector<Shape>& shapes_of(const Workload& workload, bool compared) const {
    if (workload.between) return fewest_shapes;
    return compared ? few_shapes : shapes;
  }
  bool mines() const {
    return std::ranges::any_of(options.workloads, [](const std::string& name) {
      return find_workload(name).program != nullptr;
    });
  }
};

// Threads only, processes only, and the report's teams.
bool is_compared(Shape shape) {
  return shape.processes == 1 || shape.threads == 1 || report_team(shape.workers()) == shape;
}

Setup make_setup(int pus, ProcessThreadOptions options, const ProcessThreadMeters& meters) {
  if (options.allocators.empty()) options.allocators = meters.allocators;
  if (options.workloads.empty())
    for (const Workload& workload : workloads()) options.workloads.emplace_back(workload.name);
  const bool quick = options.quick;
  if (options.text_bytes == 0)
    options.text_bytes = quick ? options.kQuickTextBytes : options.kTextBytes;
  if (options.scale == 0) options.scale = quick ? options.kQuickScale : options.kScale;
  Setup setup{.options = std::move(options), .meters = meters, .pus = pus};
  setup.shapes = plan_shapes(pus);
  setup.fewest_shapes = {{1, 1}, {1, pus}, team_of_processes(pus)};
  std::ranges::copy_if(setup.shapes, std::back_inserter(setup.few_shapes), is_compared);
  setup.tasks = static_cast<std::size_t>(std::max(64, 8 * pus));
  setup.one_worker_seconds = (quick ? 0.04 : 0.12) * std::sqrt(std::max(1.0, pus / 2.0));
  setup.forks.quick = quick;
  setup.forks.most_bytes = setup.options.most_fork_bytes;
  if (quick) {
    setup.few_shapes = setup.fewest_shapes;
    setup.passes = 2;
    setup.effort = {.fewest = 2, .most = 10, .budget_seconds = 3.4};
    setup.between_effort = {.fewest = 2, .most = 10, .budget_seconds = 0.8};
    setup.mining_effort = {.fewest = 2, .most = 10, .budget_seconds = 5};
    setup.forks.effort = {.fewest = 4, .most = 50, .budget_seconds = 0.15};
  }
  if (const int runs = static_cast<int>(setup.options.runs); runs > 0)
    for (Effort* effort : {&setup.effort, &setup.between_effort, &setup.mining_effort})
      effort->most = effort->fewest = runs;
  setup.passes = setup.forks.passes = std::min(setup.passes, setup.effort.fewest);
  return setup;
}

// Before anything is measured.
void check_options(const ProcessThreadOptions& options) {
  const std::string& directory = options.text_directory;
  require_option(options.runs <= 100'000, "--runs", options.runs, "at most 100000");
  require_option(options.text_bytes <= std::uint64_t{1} << 40, "--text-size", options.text_bytes,
                 "at most 1T");
  if (options.text_bytes > 0 && !directory.empty())
    throw core::UsageError("--text-size and --text exclude each other");
  require_option(directory.empty() || std::filesystem::is_directory(directory), "--text", directory,
                 "no such directory");
  require_option(options.scale >= 0 && options.scale <= 100, "--scale", options.scale,
                 "above 0, at most 100");
  require_fork_memory(options.most_fork_bytes);
  for (const std::string& name : options.workloads) find_workload(name);
}

}  // namespace

// ---- meters ----

Json ask(const ProcessThreadMeter& meter, const Json& request) {
  Json answer = meter(request);
  if (!answer.contains("error")) return answer;
  const auto what = answer["error"].get<std::string>();
  const auto kind = answer["kind"].get<std::string>();
  if (kind == "verification") throw core::VerificationError(what, 1, 0);
  if (kind == "usage") throw core::UsageError(what);
  throw core::Error(what);
}

namespace {

// Null if the allocator cannot be had, which is noted.
ProcessThreadMeter start_meter(Visit& visit, const Setup& setup, const std::string& allocator) {
  try {
    ProcessThreadMeter meter = setup.meters.start(allocator);
    const auto there = ask(meter, {{"do", "hello"}})["allocator"].get<std::string>();
    if (there == allocator) return meter;
    visit.skip(allocator, "its process runs with " + there + " instead");
  } catch (const core::UsageError& error) {
    visit.skip(allocator, error.what());
  }
  return nullptr;
}

// A workload under an allocator, by its meter.
struct MeteredWork {
  Setup& setup;
  const Workload& workload;
  std::string allocator;
  ProcessThreadMeter meter;
  bool compared = false;  // with the first allocator, and not looked at by itself

  // Returns the requests of all tasks. requests: of a task.
  double prepare(double requests) const {
    Json& expected = setup.expected[workload.name];
    const Json answer = ask(meter, {{"do", "prepare"},
                                    {"workload", workload.name},
                                    {"tasks", setup.tasks},
                                    {"requests", static_cast<std::uint64_t>(requests)},
                                    {"text_bytes", setup.options.text_bytes},
                                    {"text_directory", setup.options.text_directory},
                                    {"transactions", mining_transactions(setup.options.scale)},
                                    {"expected", expected}});
    expected = answer["expected"];
    return answer["requests"].get<double>();
  }
  // what: "measure", or "memory".
  Json measure(Shape shape, const char* order = "tree", const char* what = "measure") const {
    return ask(meter, {{"do", what},
                       {"processes", shape.processes},
                       {"threads", shape.threads},
                       {"fork", order}});
  }
};

// Prepares tasks whose requests keep one worker busy for the planned time. Returns the requests of
// all tasks.
double prepare_fitting(const MeteredWork& work) {
  double requests = 20;
  for (int step = 0; step < 8 && work.workload.name != std::string_view("words"); ++step) {
    work.prepare(requests);
    const auto seconds = work.measure({1, 1})["seconds"].get<double>();
    const double factor = work.setup.one_worker_seconds / std::max(seconds, 1e-6);
    if (factor > 0.7 && factor < 1.4) break;
    requests = std::max(1.0, std::floor(requests * std::min(factor, 30.0)));
  }
  return work.prepare(requests);
}

// What tabane chose by itself at first, and what that took with its sample.
Result choice_result(const MeteredWork& work, const Json& answer) {
  const Json& choice = answer.at("choice");
  const Shape chosen{choice["processes"].get<int>(), choice["threads"].get<int>()};
  Result result{
      .name = fmt::format("process_thread.choice.{}.{}", work.workload.name, work.allocator),
      .what = "predicted time of the chosen processes x threads",
      .unit = "s",
      .factors = shape_factors(work.workload.name, work.allocator, chosen),
      .details = {{"reason", choice["reason"]},
                  {"sample_s", choice["sample_s"]},
                  {"total_with_sample_s", answer["seconds"]},
                  {"fork_s", choice["fork_s"]}}};
  if (choice.contains("predicted")) {
    const Json& predicted = choice["predicted"];
    result.value = predicted["seconds"].get<double>();
    result.interval = {predicted["low_s"].get<double>(), predicted["high_s"].get<double>()};
  }
  return result;
}

// seen: what of an answer is noted beside the seconds.
Sample sample_of(const Json& answer, std::initializer_list<const char*> seen, double requests) {
  Sample sample{answer["seconds"].get<double>(), {{"requests", requests}}};
  for (const char* name : seen) sample.beside.emplace_back(name, answer.at(name).get<double>());
  return sample;
}

// A team that chooses: its time holds the sample.
Sample automatic_sample(const Json& answer) {
  const Json& choice = answer.at("choice");
  double held = std::numeric_limits<double>::quiet_NaN();
  if (choice.contains("predicted")) held = choice["predicted"]["held"].get<bool>() ? 1 : 0;
  return {answer["seconds"].get<double>(),
          {{"sample_s", choice["sample_s"].get<double>()}, {"held", held}}};
}

// The memory that all processes of a measurement take together while they work. measured: factors
// of the point that tells how fast they are.
void note_memory(Setup& setup, const MeteredWork& work, Shape shape, const Factors& measured) {
  const Json bytes = work.measure(shape, "tree", "memory")["bytes"];
  if (!bytes.is_number()) return;
  Result result{.name = "process_thread.memory",
                .what = "memory that all processes take together while they work (PSS)",
                .unit = "B",
                .better = Better::lower,
                .factors = measured};
  for (const Factor& factor : measured)
    result.name += "." + (factor.level.is_number() ? factor.name : "") + factor.level.text();
  result.value = bytes.get<double>();
  setup.memory.push_back(std::move(result));
}

// All shapes, and a team that chooses one. The first pass finds out how much work it is, and
// chooses a shape, which is measured, too.
std::vector<Contender> shape_contenders(Visit& visit, Setup& setup, const MeteredWork& work) {
  const std::string name = work.workload.name;
  const bool chooses = !work.workload.between && !(work.compared && setup.options.quick);
  const auto factors_of = [=, allocator = work.allocator](Shape shape) {
    return shape_factors(name, allocator, shape);
  };
  Setup::Prepared& prepared = setup.prepared[name + (" " + work.allocator)];
  if (prepared.requests > 0) {
    work.prepare(prepared.requests / double(setup.tasks));
  } else {
    const double requests = prepare_fitting(work);
    visit.show(0);
    const auto& planned = setup.shapes_of(work.workload, work.compared);
    prepared = {requests, {planned.begin(), planned.end()}};
    if (chooses) {
      setup.choices.push_back(choice_result(work, work.measure({0, 0})));
      prepared.shapes.insert(shape_of(setup.choices.back().factors));
    }
    for (const Shape shape : std::set{Shape{1, setup.pus}, team_of_processes(setup.pus)})
      note_memory(setup, work, shape, factors_of(shape));
  }
  std::vector<Contender> contenders;
  for (const Shape shape : prepared.shapes)
    contenders.push_back({factors_of(shape), [work, shape, requests = prepared.requests] {
                            return sample_of(work.measure(shape), {"fork_s", "join_s"}, requests);
                          }});
  if (chooses)
    contenders.push_back({automatic_factors(name, work.allocator), [work] {
                            return automatic_sample(work.measure({0, 0}));
                          }});
  return contenders;
}

std::vector<Contender> mining_contenders(Setup& setup, const MeteredWork& work) {
  const double products = work.prepare(0);
  std::vector<Contender> contenders;
  Setup::Prepared& prepared = setup.prepared[work.workload.name + (" " + work.allocator)];
  for (const WorkerStart& start :
       plan_starts(setup.pus, work.compared || setup.briefly(work.workload))) {
    const Factors factors = mining_factors(work.workload.program, work.allocator, start);
    if (prepared.requests == 0 && start.shape.workers() == setup.pus && start.way != "serial")
      note_memory(setup, work, start.shape, factors);
    contenders.push_back({factors, [=] {
                            const Json answer = work.measure(
                                start.shape, start.way == "serial" ? "serial" : "tree");
                            return sample_of(answer, {"start_s", "fork_s", "join_s"}, products);
                          }});
  }
  prepared.requests = products;
  return contenders;
}

// With all allocators in turn; the first is measured more closely. What preparing takes is part of
// the time that the workload has.
void measure_workload(Visit& visit, Setup& setup, const Workload& workload) {
  const double begin = core::tick_clock().now();
  std::vector<Contender> contenders;
  for (const std::string& allocator : setup.options.allocators) {
    visit.show(0);
    if (setup.briefly(workload) && !contenders.empty()) break;
    const ProcessThreadMeter meter = start_meter(visit, setup, allocator);
    if (!meter) continue;
    const MeteredWork work{setup, workload, allocator, meter, !contenders.empty()};
    std::ranges::move(workload.program != nullptr ? mining_contenders(setup, work)
                                                  : shape_contenders(visit, setup, work),
                      std::back_inserter(contenders));
  }
  if (contenders.empty()) throw core::UsageError("none of the allocators can be used here");
  visit.show(0);
  Effort effort = visit.part(setup.effort_of(workload));
  effort.budget_seconds -= core::tick_clock().now() - begin;
  visit.in_turn(contenders, effort);
}

// About what a visit takes: its share of the budget, which ends within a round, or the rounds that
// must be.
double visit_seconds(const Setup& setup, const Workload& workload) {
  constexpr double kNotAsFastAsWorkers = 1.6;
  const Effort effort = setup.effort_of(workload).part(0, setup.passes);
  const std::size_t allocators = setup.briefly(workload) ? 1 : setup.options.allocators.size();
  double round = 0;
  for (std::size_t i = 0; i < allocators && workload.program == nullptr; ++i)
    for (const Shape shape : setup.shapes_of(workload, i > 0))
      round +=
          kNotAsFastAsWorkers * setup.one_worker_seconds / std::min(shape.workers(), setup.pus);
  return std::max(effort.budget_seconds + round / 2, effort.fewest * round);
}

// ---- the record ----

std::string words_sentence(const ProcessThreadOptions& options) {
  return fmt::format("words counts [A-Za-z]+ without regard to case in {}.",
                     options.text_directory.empty()
                         ? fmt::format("{} of generated text with Zipf's frequencies",
                                       core::format_bytes(options.text_bytes))
                         : "the files of " + options.text_directory);
}

std::string process_thread_what(const Point& point) {
  const Level* part = point.factors.find("part");
  if (part != nullptr && part->word() == "automatic")
    return fmt::format("time of {} with {}, processes x threads chosen by a sample in this time",
                       find_workload(point.text("chosen_for")).title, point.text("chosen_under"));
  if (part != nullptr && part->word() == "mining")
    return fmt::format("time of mining encrypted transactions, {}, with {}", point.text("program"),
                       point.text("under"));
  if (part == nullptr)
    return fmt::format("time of {} with {}", find_workload(point.text("workload")).title,
                       point.text("allocator"));
  const std::string way = point.text("way");
  return fmt::format("start and end of {} of a process that holds memory",
                     way == "one" || way == "one thread"
                         ? (way == "one" ? "one child" : way)
                         : fmt::format("{} children", kForkChildren));
}

}  // namespace
}  // namespace process_thread

Record run_process_thread(const core::Topology& topology, const ProcessThreadOptions& options,
                          const ProcessThreadMeters& meters, const Hooks& hooks) {
  using namespace process_thread;
  check_options(options);
  RunningStudy study(topology, kAboutProcessThread, options.quick);
  Record& record = study.record;
  const int pus = static_cast<int>(topology.pus().size());
  Setup setup = make_setup(pus, options, meters);
  if (setup.mines()) require_mining_memory(setup.options.scale, setup.options.allocators.size());
  Campaign campaign(hooks);
  campaign.points.declare(shape_factors("", "", {}));
  campaign.points.declare(automatic_factors("", ""));
  campaign.points.declare(mining_factors("", "", {}));
  ForkRefusal refusal;
  add_fork_blocks(
      campaign, setup.forks, [&] { return meters.start(meters.allocators.at(0)); }, refusal);
  for (const std::string& name : setup.options.workloads)
    campaign.add(
        {.what = name,
         .planned_seconds = visit_seconds(setup, find_workload(name)),
         .body = [&](Visit& visit) { measure_workload(visit, setup, find_workload(name)); }});
  study.add(campaign, campaign.run({.passes = setup.passes}), process_thread_what);
  if (setup.mines()) add_mining_parameters(record, setup.options.scale);
  for (const std::vector<Result>* more : {&setup.choices, &setup.memory})
    record.results.insert(record.results.end(), more->begin(), more->end());
  if (refusal.bytes > 0)
    add_result(record, "forks.refused_above", "resident memory with which a fork is refused",
               {static_cast<double>(refusal.bytes), "B"}, Better::neither)
        .details[detail::kRemark] = refusal.reason;
  add_views(record, campaign.points, setup.choices, pus);
  record.sentences.push_back(words_sentence(setup.options));
  if (setup.mines())
    record.sentences.push_back(mining_sentence(mining_transactions(setup.options.scale)));
  return study.finish();
}

}  // namespace tabane::lab
