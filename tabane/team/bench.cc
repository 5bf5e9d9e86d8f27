// Teams of processes and threads: what starting them costs, and how fast they work beside OpenMP
// and Python.
#include "bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "bench/command.h"
#include "bench/remote.h"
#include "bench/scratch.h"
#include "tabane/core/cgroup.h"
#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/measurement.h"
#include "tabane/core/temporary_file.h"
#include "tabane/core/topology.h"
#include "tabane/core/units.h"
#include "tabane/team/bench_work.h"

namespace tabane::bench {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

std::unique_ptr<Remote> start_scene(const std::vector<std::string>& words) {
  Command command{beside_this_program("tabane_bench_team")};
  command.insert(command.end(), words.begin(), words.end());
  return std::make_unique<Remote>("tabane_bench_team " + words[0], command);
}

// One thread a PU, bound to it. How idle threads wait is left to libgomp: they spin for a moment
// and then leave the PU to the contender whose turn it is.
std::unique_ptr<Remote> start_openmp(const std::vector<std::string>& words) {
  Command command{"env", "OMP_PROC_BIND=close", "OMP_PLACES=threads",
                  beside_this_program("tabane_bench_openmp")};
  command.insert(command.end(), words.begin(), words.end());
  return std::make_unique<Remote>("tabane_bench_openmp " + words[0], command);
}

Contender contender(std::string name, core::Work work, double amount, double target,
                    std::string how = {}) {
  return {.name = std::move(name),
          .work = std::move(work),
          .amount = amount,
          .target = target,
          .how = std::move(how)};
}

// Of a contender that tabane_bench_team runs.
std::string by_team(const std::string& what) { return "tabane_bench_team: " + what; }
std::string by_openmp(const std::string& what) {
  return fmt::format("env OMP_PROC_BIND=close OMP_PLACES=threads tabane_bench_openmp: {}; {}", what,
                     compiler_version());
}

std::uint64_t free_memory() {
  const auto bytes = core::usable_memory_bytes();
  return bytes ? static_cast<std::uint64_t>(*bytes) : std::numeric_limits<std::uint64_t>::max();
}

void require_equal(std::uint64_t ours, std::uint64_t theirs, const std::string& who) {
  if (ours != theirs) throw core::Error("the team and " + who + " have different results");
}

core::MeasureOptions long_epochs(const Settings& settings, int epochs) {
  return {.confidence_target = 0.01,
          .budget_seconds = settings.quick ? 0.5 : 8,
          .min_epochs = settings.quick ? std::min(epochs, 6) : epochs,
          .max_epochs = 101,
          .warmup_epochs = 1,
          .single_iteration = true};
}

// Of work that takes many seconds and has run before.
core::MeasureOptions few_epochs(int epochs) {
  return {.budget_seconds = 0,
          .min_epochs = epochs,
          .max_epochs = epochs,
          .warmup_epochs = 0,
          .single_iteration = true};
}

// --- start and join of many processes of a large one ---

std::string children_question(std::uint64_t bytes, const std::string& more) {
  return fmt::format("8 children, {} resident{}", core::format_bytes(bytes), more);
}

// How long the forks alone take: they overlap with the ends of the first children.
void tell_fork_seconds(Panel& panel, Remote& memory, const std::string& name) {
  std::vector<double> serial, tree;
  for (int i = 0; i < 5; ++i) {
    serial.push_back(1e-9 * static_cast<double>(memory.ask("fork-ns-serial")));
    tree.push_back(1e-9 * static_cast<double>(memory.ask("fork-ns-tree")));
  }
  for (const auto& [order, samples] : {std::pair{"serial", serial}, std::pair{"tree", tree}}) {
    panel.tell({.question = name,
                .unit = "s",
                .figure = fmt::format("until the last child is there, {}", order),
                .value = core::median(samples),
                .samples = samples});
  }
}

void ask_prepared(Panel& panel, Remote& memory, const std::string& name) {
  double seconds = 0;
  const auto prepare = [&] {
    const double start = core::tick_clock().now();
    memory.ask("prepare");
    seconds = std::max(seconds, core::tick_clock().now() - start);
  };
  Question question{name, "1/s", contender("", memory.work("prepared"), 1, 0), {}};
  question.ours.before = prepare;
  question.peers.push_back(contender("serial, 4 KiB pages", memory.work("serial"), 1, 20,
                                     by_team("one process forks all 8, in small pages")));
  question.peers.back().before = [&] { memory.ask("small"); };
  question.measure = few_epochs(6);
  if (panel.ask(question).empty()) return;
  panel.tell({.question = name,
              .unit = "B",
              .figure = "in huge pages",
              .value = static_cast<double>(memory.ask("prepare"))});
  panel.tell({.question = name, .unit = "s", .figure = "preparing, once", .value = seconds});
}

void ask_about_many_children(Panel& panel) {
  std::uint64_t bytes = (panel.settings().quick ? 1 : 8) * kGiB;
  const std::string tree = ", tree", prepared = ", prepared";
  const bool wants_tree = panel.wants(children_question(bytes, tree));
  const bool wants_prepared = panel.wants(children_question(bytes, prepared));
  if (!wants_tree && !wants_prepared) return;
  // Page tables of eight children, and room for the rest of the machine.
  const std::uint64_t free = free_memory();
  const std::uint64_t wanted = bytes;
  while (bytes + bytes / 8 + kGiB / 2 > free && bytes > kGiB / 4) bytes /= 2;
  if (bytes != wanted) {
    panel.skip(
        children_question(wanted, tree),
        "only " + core::format_bytes(free) + " are free: asked with " + core::format_bytes(bytes));
  }
  const auto memory = start_scene({"memory", std::to_string(bytes)});
  if (wants_tree) {
    Question question{
        children_question(bytes, tree), "1/s", contender("", memory->work("tree"), 1, 0), {}};
    question.peers.push_back(contender("serial", memory->work("serial"), 1, 2,
                                       by_team("a team of which one process forks all 8")));
    question.peers.push_back(contender("8 bare forks, then waits", memory->work("bare"), 1, 0,
                                       by_team("fork and waitpid alone")));
    question.measure = long_epochs(panel.settings(), 6);
    if (!panel.ask(question).empty()) tell_fork_seconds(panel, *memory, question.name);
  }
  if (wants_prepared) ask_prepared(panel, *memory, children_question(bytes, prepared));
}

// --- an empty team of a small process ---

void ask_about_empty_team(Panel& panel) {
  const std::string name = "empty team 2 x 1 of a small process";
  if (!panel.wants(name)) return;
  const auto small = start_scene({"small"});
  Question question{name, "1/s", contender("", small->work("team"), 1, 0), {}};
  question.peers.push_back(contender("2 bare forks, then 2 waits", small->work("bare"), 1, 1 / 1.2,
                                     by_team("fork and waitpid alone")));
  question.peers.push_back(contender("fork, wait, fork, wait", small->work("bare-in-turn"), 1, 0,
                                     by_team("fork and waitpid alone")));
  question.measure = panel.settings().measure;
  // A request takes two wake-ups, so that many teams share one.
  question.measure->min_epoch_seconds = 0.02;
  panel.ask(question);
}

// --- many small tasks ---

std::uint64_t rounds_of_a_microsecond() {
  constexpr std::uint64_t kRounds = 1000;
  // Another task each time: what is the same need not be done again.
  const core::Series series = core::measure(
      "spin",
      core::repeat([task = std::uint64_t{0}]() mutable { core::keep(spin(++task, kRounds)); }));
  return static_cast<std::uint64_t>(1e-6 / series.median() * kRounds);
}

void ask_about_small_tasks(Panel& panel, const std::vector<unsigned>& pus) {
  constexpr std::size_t kTasks = 1'000'000;
  constexpr double n = kTasks;
  const auto name_of = [](const std::string& shape) {
    return fmt::format("map of 10^6 tasks of 1 us, {}", shape);
  };
  std::vector<std::string> shapes{"2x1", "1x2"};
  std::erase_if(shapes, [&](const std::string& shape) { return !panel.wants(name_of(shape)); });
  if (shapes.empty()) return;
  const std::string rounds = std::to_string(rounds_of_a_microsecond());
  const auto scene = [&](std::size_t tasks, unsigned pu) {
    return start_scene({"spin", std::to_string(tasks), rounds, std::to_string(pu)});
  };
  const auto team = scene(kTasks, pus.front());
  const std::unique_ptr<Remote> halves[] = {scene(kTasks / 2, pus.front()),
                                            scene(kTasks / 2, pus.back())};
  const auto openmp = start_openmp({"spin", std::to_string(kTasks), rounds});
  // What the machine gives two processes that share nothing.
  const auto in_halves = [&](std::uint64_t iterations) {
    for (const auto& half : halves) half->request("serial", iterations);
    for (const auto& half : halves) half->reply();
  };
  for (const std::string& shape : shapes) {
    require_equal(team->ask("check-" + shape), openmp->ask("check-omp"), "OpenMP");
    require_equal(team->ask("check-" + shape), team->ask("check-serial"), "the loop");
    Question question{name_of(shape), "tasks/s", contender("", team->work(shape), n, 0), {}};
    // What one PU does, twice.
    question.peers = {contender("twice the plain loop", team->work("serial"), 2 * n, 0.95,
                                by_team("a loop on one PU, counted twice")),
                      contender("2 loops of half in 2 processes", in_halves, n, 0,
                                by_team("two of them, each half of the loop")),
                      contender("omp for schedule(dynamic, 64)", openmp->work("omp"), n, 1,
                                by_openmp("parallel for"))};
    question.measure = long_epochs(panel.settings(), 11);
    panel.ask(question);
  }
}

// --- counting words ---

constexpr std::size_t kPiecesPerPu = 16;

void ask_word_count(Panel& panel, const std::string& name, std::uint64_t bytes, std::size_t pus) {
  // The file, three texts, and the tables and lists of words of all processes.
  if (free_memory() < 5 * bytes + kGiB) return panel.skip(name, "too little free memory");
  const core::ScratchFolder scratch("tabane-bench", panel.settings().directory);
  const fs::path path = scratch / "text";
  core::write_file(path, workloads::generate_text({.bytes = bytes, .vocabulary = 200'000}));
  const std::string piece_bytes = std::to_string(bytes / (kPiecesPerPu * pus) + 1);
  const auto team = start_scene({"words", path.string(), piece_bytes, std::to_string(pus), "1"});
  const auto openmp = start_openmp({"words", path.string(), piece_bytes});
  Contender with_python{.name = "Python multiprocessing", .target = 5};
  std::unique_ptr<Remote> python;
  std::uint64_t words_of_python = 0;
  try {
    if (panel.wants(name + ", Python")) {
      python = std::make_unique<Remote>(
          "wordcount.py", Command{"python3", beside_this_program("wordcount.py"), path.string(),
                                  std::to_string(pus)});
      words_of_python = python->ask("check");
    }
  } catch (const core::Error& error) {
    with_python.missing = error.what();
  }
  remove_tree(path);
  const std::uint64_t ours = team->ask("check-team");
  require_equal(ours, openmp->ask("check-same-tables"), "OpenMP");
  require_equal(ours, openmp->ask("check-views"), "OpenMP");
  const auto n = static_cast<double>(bytes);
  Question threads{name + ", OpenMP", "B/s", contender("", team->work("team"), n, 0), {}};
  threads.peers = {contender("OpenMP, the same tables", openmp->work("same-tables"), n, 1,
                             by_openmp("tabane's tables")),
                   contender("OpenMP, tables of views", openmp->work("views"), n, 1,
                             by_openmp("tables of string views"))};
  threads.measure = few_epochs(6);
  panel.ask(threads);
  Question pool{name + ", Python", "B/s", contender("", team->work("team"), n, 0), {}};
  if (python && with_python.missing.empty()) {
    require_equal(ours, words_of_python, "Python");
    with_python = contender(
        with_python.name, python->work("count"), n, 5,
        fmt::format("python3 wordcount.py FILE {}; {}", pus, version_said_by("python3 --version")));
  }
  pool.peers.push_back(std::move(with_python));
  pool.measure = few_epochs(3);
  panel.ask(pool);
}

// --- chosen shapes ---

struct Verdicts {
  double predictions = 0, held = 0, chosen = 0;
};

// Sizes from much too little for a sample to some seconds, each workload in turn, several times.
Verdicts judge_predictions(bool quick) {
  struct Size {
    std::size_t tasks;
    double task_seconds;
  };
  const std::vector<Size> sizes = {
      {64, 1e-4}, {64, 2e-3}, {64, 1e-2}, {1000, 1e-3}, {20'000, 2e-5}};
  const auto rounds = static_cast<double>(rounds_of_a_microsecond());
  std::vector<std::unique_ptr<Remote>> scenes;
  for (const Size& size : sizes) {
    const auto of_task = static_cast<std::uint64_t>(rounds * size.task_seconds * 1e6);
    scenes.push_back(start_scene({"choose", std::to_string(size.tasks), std::to_string(of_task)}));
  }
  Verdicts verdicts;
  for (int round = 0; round < (quick ? 2 : 5); ++round) {
    for (const auto& scene : scenes) {
      for (const char* workload : {"spin", "malloc-small", "malloc-large", "insert"}) {
        const std::uint64_t verdict = scene->ask(workload);
        ++verdicts.chosen;
        verdicts.predictions += verdict != kNothingPredicted;
        verdicts.held += verdict == kPredictionHeld;
      }
    }
  }
  return verdicts;
}

void tell_predictions(Panel& panel) {
  const std::string name = "chosen processes x threads";
  if (!panel.wants(name)) return;
  const Verdicts verdicts = judge_predictions(panel.settings().quick);
  panel.tell({.question = name,
              .unit = "ratio",
              .figure = "with a predicted time",
              .value = verdicts.predictions / verdicts.chosen});
  if (verdicts.predictions == 0) {
    return panel.skip(name + ", predictions that held", "no time was predicted here");
  }
  panel.tell({.question = name,
              .unit = "ratio",
              .figure = "predictions that held",
              .value = verdicts.held / verdicts.predictions,
              .limit = 0.9,
              .at_least = true});
}

// --- few tasks, by a team that chooses its shape ---

void ask_about_few_tasks(Panel& panel, std::size_t pus) {
  const double task_seconds = panel.settings().quick ? 0.05 : 0.5;
  for (const std::uint64_t bytes : {std::uint64_t{0}, 2 * kGiB}) {
    const auto name_of = [&](std::size_t tasks) {
      return fmt::format("automatic team, {} x {} s{}", tasks, task_seconds,
                         bytes == 0 ? "" : ", " + core::format_bytes(bytes) + " resident");
    };
    const auto wants = [&](std::size_t tasks) { return panel.wants(name_of(tasks)); };
    if (std::none_of(std::begin(kFewTasks), std::end(kFewTasks), wants)) continue;
    if (free_memory() < 2 * bytes) {
      panel.skip(name_of(kFewTasks[0]), "too little free memory");
      continue;
    }
    const auto rounds = static_cast<std::uint64_t>(static_cast<double>(rounds_of_a_microsecond()) *
                                                   task_seconds * 1e6);
    const auto scene =
        start_scene({"few", std::to_string(rounds), std::to_string(pus), std::to_string(bytes)});
    for (const std::size_t tasks : kFewTasks) {
      const auto n = static_cast<double>(tasks);
      const auto work = [&](const char* shape) {
        return scene->work(fmt::format("{}-{}", shape, tasks));
      };
      // The better of the two is the best fixed shape.
      Question question{name_of(tasks), "tasks/s", contender("", work("auto"), n, 0), {}};
      question.peers = {contender(fmt::format("1 x {}", pus), work("threads"), n, 1 / 1.1,
                                  by_team("one process with a thread for each PU")),
                        contender(fmt::format("{} x 1", pus), work("processes"), n, 1 / 1.1,
                                  by_team("a process for each PU"))};
      question.measure = few_epochs(tasks > pus ? 3 : 6);
      panel.ask(question);
    }
  }
}

void ask_all(Panel& panel) {
  const core::Topology topology = core::Topology::detect();
  const std::vector<unsigned> pus = topology.pu_os_indices();
  panel.part("empty teams", [&] { ask_about_empty_team(panel); });
  panel.part("many children", [&] { ask_about_many_children(panel); });
  panel.part("small tasks", [&] { ask_about_small_tasks(panel, pus); });
  panel.part("predictions", [&] { tell_predictions(panel); });
  panel.part("few tasks", [&] { ask_about_few_tasks(panel, pus.size()); });
  const std::uint64_t bytes = panel.settings().quick ? 100'000'000 : 1'000'000'000;
  const std::string name =
      fmt::format("count the words of {} MB, {} x 1", bytes / 1'000'000, pus.size());
  if (panel.wants(name + ", OpenMP") | panel.wants(name + ", Python"))
    panel.part("words", [&] { ask_word_count(panel, name, bytes, pus.size()); });
}

const RegisteredTopic kTopic({"team", "teams of processes and threads", ask_all});

}  // namespace
}  // namespace tabane::bench
