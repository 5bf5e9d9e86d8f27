// tabane_bench_team: teams, and what is compared with them without threads, each scene in a process
// of its own. Works on request: see bench/remote.h.
//
// Usage: tabane_bench_team small | memory BYTES | spin TASKS ROUNDS PU | words FILE
// PIECE_BYTES PROCESSES THREADS | choose TASKS ROUNDS | few ROUNDS PUS BYTES.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include "bench/served.h"
#include "tabane/core/binding.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/memory.h"
#include "tabane/team/bench_work.h"
#include "tabane/team/memory_map.h"
#include "tabane/team/team.h"
#include "tabane/team/workloads/allocation.h"

namespace tabane::bench {
namespace {

// Forks children that end at once, and waits for all.
template <std::size_t kChildren>
void bare_forks() {
  std::array<pid_t, kChildren> children;
  for (pid_t& child : children) {
    child = fork();
    if (child < 0) throw core::SystemError("fork", "a child", errno);
    if (child == 0) _exit(0);
  }
  for (const pid_t child : children) waitpid(child, nullptr, 0);
}

void empty_team(const team::TeamOptions& options) {
  team::Team team(options);
  team.run([] {});
}

int serve_small() {
  return serve({{"team", repeated([] { empty_team({.processes = 2, .threads = 1}); })},
                {"bare", repeated(bare_forks<2>)},
                {"bare-in-turn", repeated([] {
                   bare_forks<1>();
                   bare_forks<1>();
                 })}});
}

// Resident memory that can be put into small or huge pages.
class Resident {
 public:
  explicit Resident(std::size_t bytes) : bytes_(bytes) { make_small(); }

  void make_small() {
    if (!prepared_) return;
    memory_ = {};
    memory_ = core::Region(bytes_, {.pages = core::PageSize::small});
    memory_.touch();
    prepared_ = false;
  }
  // Returns how many bytes are in huge pages.
  std::uint64_t prepare() {
    if (!prepared_) prepared_bytes_ = team::prepare_for_fork().bytes;
    prepared_ = true;
    return prepared_bytes_;
  }

 private:
  std::size_t bytes_;
  core::Region memory_;
  bool prepared_ = true;  // or not there yet
  std::uint64_t prepared_bytes_ = 0;
};

int serve_memory(std::size_t bytes) {
  Resident memory(bytes);
  const auto work = [](team::ForkOrder order, bool prepare) {
    return repeated([=] {
      empty_team({.processes = 8, .threads = 1, .fork = order, .prepare_memory = prepare});
    });
  };
  const auto fork_ns = [](team::ForkOrder order) {
    return [=](std::uint64_t) {
      team::Team team({.processes = 8, .threads = 1, .fork = order});
      team.run([] {});
      return static_cast<std::uint64_t>(team.report().fork_seconds * 1e9);
    };
  };
  return serve({{"small", repeated([&] { memory.make_small(); })},
                {"prepare", [&](std::uint64_t) { return memory.prepare(); }},
                {"serial", work(team::ForkOrder::serial, false)},
                {"tree", work(team::ForkOrder::tree, false)},
                {"prepared", work(team::ForkOrder::tree, true)},
                {"fork-ns-serial", fork_ns(team::ForkOrder::serial)},
                {"fork-ns-tree", fork_ns(team::ForkOrder::tree)},
                {"bare", repeated(bare_forks<8>)}});
}

using Numbers = std::vector<std::uint64_t>;

Numbers spin_in_turn(std::size_t tasks, std::uint64_t rounds) {
  Numbers results(tasks);
  for (std::size_t i = 0; i < tasks; ++i) results[i] = spin(i, rounds);
  return results;
}

int serve_spin(std::size_t tasks, std::uint64_t rounds, unsigned pu) {
  const auto team = [=](int processes, int threads) {
    return team::Team({.processes = processes, .threads = threads})
        .map<std::uint64_t>(tasks, [=](std::size_t i) { return spin(i, rounds); });
  };
  std::map<std::string, Served> work;
  serve_results(work, "serial", [=] {
    const core::ScopedBinding bound(pu);
    return spin_in_turn(tasks, rounds);
  });
  serve_results(work, "2x1", [=] { return team(2, 1); });
  serve_results(work, "1x2", [=] { return team(1, 2); });
  return serve(work);
}

int serve_words(const std::string& path, std::size_t piece_bytes, int processes, int threads) {
  namespace words = workloads;
  const std::string text = core::read_file(path);
  const auto pieces = words::cut_between_words(text, piece_bytes);
  std::map<std::string, Served> work;
  serve_results(work, "team", [&] {
    // The first team puts the text into huge pages; the others find it there.
    team::Team team({.processes = processes, .threads = threads, .prepare_memory = true});
    return words::count_words(team, pieces);
  });
  return serve(work);
}

// How a prediction ended.
std::uint64_t verdict(const team::TeamReport& report) {
  const auto& predicted = report.choice ? report.choice->predicted : std::nullopt;
  if (!predicted) return kNothingPredicted;
  return predicted->holds(report.seconds_without_sample()) ? kPredictionHeld : kPredictionFailed;
}

// Teams that choose their shape. rounds: of a task of arithmetic; the others are as long, roughly.
int serve_choose(std::size_t tasks, std::uint64_t rounds) {
  namespace jobs = workloads;
  const auto judged = [](auto work) {
    return [work](std::uint64_t) {
      team::Team team;
      work(team);
      return verdict(team.report());
    };
  };
  const std::size_t requests = std::max<std::size_t>(1, rounds / 50);
  return serve({{"spin", judged([=](team::Team& team) {
                   team.map<std::uint64_t>(tasks, [=](std::size_t i) { return spin(i, rounds); });
                 })},
                {"malloc-small", judged([=](team::Team& team) {
                   jobs::allocate(team, {.tasks = tasks, .requests = requests});
                 })},
                {"malloc-large", judged([=](team::Team& team) {
                   jobs::allocate(team, {.tasks = tasks,
                                         .requests = std::max<std::size_t>(1, requests / 300),
                                         .large_share = 1});
                 })},
                {"insert", judged([=](team::Team& team) {
                   jobs::insert(team, {.tasks = tasks, .inserts = requests});
                 })}});
}

// Few tasks in a process that holds so much memory, by a team that chooses its shape and by teams
// of all PUs. The request's number counts teams; the verb names the tasks, "auto-3".
int serve_few(std::uint64_t rounds, int pus, std::size_t bytes) {
  const Resident memory(std::max<std::size_t>(bytes, 4096));
  std::map<std::string, Served> work;
  for (const std::size_t tasks : kFewTasks) {
    const auto team = [=, &work](const std::string& name, int processes, int threads) {
      serve_results(work, name + "-" + std::to_string(tasks), [=] {
        return team::Team({.processes = processes, .threads = threads})
            .map<std::uint64_t>(tasks, [=](std::size_t i) { return spin(i, rounds); });
      });
    };
    team("auto", team::automatic, team::automatic);
    team("threads", 1, pus);
    team("processes", pus, 1);
  }
  return serve(work);
}

int scene(const std::vector<std::string>& words) {
  const std::string scene = words.empty() ? "" : words[0];
  if (scene == "small") return serve_small();
  if (scene == "memory") return serve_memory(std::stoull(words.at(1)));
  if (scene == "spin") {
    return serve_spin(std::stoull(words.at(1)), std::stoull(words.at(2)),
                      static_cast<unsigned>(std::stoul(words.at(3))));
  }
  if (scene == "words") {
    return serve_words(words.at(1), std::stoull(words.at(2)), std::stoi(words.at(3)),
                       std::stoi(words.at(4)));
  }
  if (scene == "choose") return serve_choose(std::stoull(words.at(1)), std::stoull(words.at(2)));
  if (scene == "few") {
    return serve_few(std::stoull(words.at(1)), std::stoi(words.at(2)), std::stoull(words.at(3)));
  }
  throw core::UsageError("no such scene: small, memory, spin, words, choose or few");
}

}  // namespace
}  // namespace tabane::bench

int main(int argc, char** argv) {
  return tabane::bench::serve_scene(argc, argv, tabane::bench::scene);
}
