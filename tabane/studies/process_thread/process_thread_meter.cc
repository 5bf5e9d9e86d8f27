// The process that measures: does the workloads with teams, each time in a child of its own, which
// inherits no other's heap.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/measurement.h"
#include "tabane/core/memory.h"
#include "tabane/core/units.h"
#include "tabane/studies/process_thread/process_thread.h"
#include "tabane/team/fork.h"
#include "tabane/team/memory_map.h"
#include "tabane/team/proc.h"
#include "tabane/team/team.h"
#include "tabane/team/workloads/allocation.h"
#include "tabane/team/workloads/words.h"

namespace tabane::lab {
namespace process_thread {
namespace {

namespace jobs = workloads;

Json error_answer(const std::exception& error) {
  const char* kind = "error";
  if (dynamic_cast<const core::VerificationError*>(&error) != nullptr) kind = "verification";
  if (dynamic_cast<const core::UsageError*>(&error) != nullptr) kind = "usage";
  return {{"error", error.what()}, {"kind", kind}};
}

// Calls f in a child and returns what it returns. watch: sees the child's pid while it works.
Json in_child(const std::function<Json()>& f, const std::function<void(pid_t)>& watch = {}) {
  const core::Descriptor file(memfd_create("measurement", MFD_CLOEXEC));
  if (!file.valid()) throw core::SystemError("memfd_create", "a measurement", errno);
  const pid_t child = team::fork_child([&] {
    Json result;
    try {
      result = f();
    } catch (const std::exception& error) {
      result = error_answer(error);
    }
    const std::string text = result.dump();
    core::write_all_at(file.get(), text.data(), text.size(), 0, "a measurement");
    return 0;
  });
  if (watch) watch(child);
  const int status = team::wait_for_child(child);
  if (status != 0)
    throw core::LostError(0, child, "a measurement", "status " + std::to_string(status));
  return Json::parse(core::read_to_end(file.get(), "a measurement"));
}

// The allocator that answers here: the library that was put before the C library.
std::string allocator_here() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    for (const char* name : {"jemalloc", "mimalloc", "tcmalloc"}) {
      if (line.find(std::string("/lib") + name) != std::string::npos) return name;
    }
  }
  return "glibc";
}

// ---- what creating children costs a process that holds memory ----

// Allocates and touches; the process ends without giving it back.
// throws: core::SystemError if the system refuses memory.
void hold(std::uint64_t bytes, std::uint64_t piece) {
  for (std::uint64_t held = 0; held < bytes; held += piece) {
    auto* const memory = static_cast<volatile char*>(std::malloc(piece));
    if (memory == nullptr) throw core::SystemError("malloc", core::format_bytes(bytes), ENOMEM);
    for (std::size_t at = 0; at < piece; at += core::page_bytes()) memory[at] = 1;
  }
}

void fork_one() {
  team::wait_for_child(team::fork_child([] { return 0; }));
}

void fork_team(team::ForkOrder order) {
  team::Team team({.processes = kForkChildren, .threads = 1, .fork = order});
  team.run([] {});
}

void start_thread() {
  std::thread([] {}).join();
}

// The children end at once, so what other threads had locked does not matter to them.
void fork_from_threads() {
  std::vector<std::future<void>> threads;
  for (int i = 0; i < kForkChildren; ++i)
    threads.push_back(std::async(std::launch::async, fork_one));
  for (std::future<void>& thread : threads) thread.get();
}

Json measure_ways(const core::Effort& effort, bool children) {
  std::vector<std::pair<const char*, std::function<void()>>> ways = {{"one", fork_one},
                                                                     {"one thread", start_thread}};
  if (children) {
    ways.emplace_back("serial", [] { fork_team(team::ForkOrder::serial); });
    ways.emplace_back("tree", [] { fork_team(team::ForkOrder::tree); });
    ways.emplace_back("threads", fork_from_threads);
  }
  fork_one();  // warm-up
  core::Clock& clock = core::tick_clock();
  Json seconds;
  const auto take = [&](std::size_t way) {
    const double begin = clock.now();
    ways[way].second();
    return clock.now() - begin;
  };
  core::in_rounds(ways.size(), effort, clock, clock.now(), take,
                  [&](const std::vector<double>& round) {
                    for (std::size_t way = 0; way < round.size(); ++way)
                      seconds[ways[way].first].push_back(round[way]);
                  });
  const team::PrivateMemory memory = team::private_memory();
  return {{"seconds", seconds},
          {"small_page_bytes", memory.small_page_bytes},
          {"huge_page_bytes", memory.huge_page_bytes}};
}

// Runs in a child: takes memory, touches it, and measures forks, or says why they are refused.
Json measure_forks(const Json& request) {
  const auto budget = request.at("budget_s").get<double>();
  const core::Effort effort{.fewest = request.at("fewest").get<int>(),
                            .most = request.at("most").get<int>(),
                            .budget_seconds = budget,
                            // A round over gigabytes in small pages takes many seconds.
                            .most_seconds = 20 * std::max(budget, 0.1)};
  const bool children = request.at("children").get<bool>();
  const auto bytes = request.at("bytes").get<std::uint64_t>();
  const std::string pages = request.value("pages", "");
  core::Region region;
  if (pages.empty()) {
    hold(bytes, request.at("piece").get<std::uint64_t>());
  } else {
    const bool huge = pages == kHugePages;
    region = core::Region(bytes, {.pages = huge ? core::PageSize::huge : core::PageSize::small});
    region.touch();
  }
  Json answer = {{"measured", Json::object()}};
  try {
    answer["measured"][pages.empty() ? "as allocated" : pages] = measure_ways(effort, children);
    if (request.at("prepare").get<bool>() && team::prepare_for_fork().bytes > 0)
      answer["measured"]["prepared"] = measure_ways(effort, children);
  } catch (const core::SystemError& error) {
    if (error.code() != ENOMEM) throw;
    answer["refused"] = error.what();
  }
  return answer;
}

// ---- workloads ----

// Of work that throws if its result is wrong.
PreparedWork prepared(std::uint64_t requests, std::function<void(team::Team&)> work) {
  return {requests, [work = std::move(work)](team::Team& team) {
            work(team);
            return report_json(team.report());
          }};
}

PreparedWork prepare_words(const Json& request, std::size_t tasks) {
  const auto directory = request.at("text_directory").get<std::string>();
  const auto text = std::make_shared<const std::string>(jobs::letters_only(
      directory.empty()
          ? jobs::generate_text({.bytes = request.at("text_bytes").get<std::uint64_t>()})
          : jobs::load_text(directory)));
  // In a child: the plain count leaves no heap behind.
  Json plain = request.value("expected", Json());
  if (plain.is_null())
    plain = in_child([&] {
      const auto all = jobs::digest(jobs::count_words_plain(*text));
      return Json{{"words", all.words}, {"distinct", all.distinct}, {"sum", all.sum}};
    });
  if (plain.contains("error")) throw core::Error(plain["error"].text());
  const auto number = [&](const char* name) { return plain[name].get<std::uint64_t>(); };
  const jobs::WordDigest expected{number("words"), number("distinct"), number("sum")};
  // Large pieces of text: each has most of the frequent words, which are then merged.
  const std::size_t piece = text->size() / std::max<std::size_t>(1, tasks / 4);
  const auto pieces = jobs::cut_between_words(*text, std::max<std::size_t>(1, piece));
  PreparedWork work = prepared(expected.words, [text, pieces, expected](team::Team& team) {
    const auto found = jobs::digest(jobs::count_words(team, pieces));
    if (found != expected)
      throw core::VerificationError("the number of words", static_cast<double>(found.words),
                                    static_cast<double>(expected.words));
  });
  work.expected = plain;
  return work;
}

PreparedWork prepare(const Json& request) {
  const Workload& workload = find_workload(request.at("workload").get<std::string>());
  const std::string_view name = workload.name;
  if (workload.program != nullptr)
    return prepare_mining(workload.program, request.at("transactions").get<std::size_t>());
  const auto tasks = request.at("tasks").get<std::size_t>();
  const auto requests = request.at("requests").get<std::size_t>();
  if (name == "words") return prepare_words(request, tasks);
  if (name.starts_with("malloc")) {
    const jobs::AllocateProblem problem{
        .tasks = tasks, .requests = requests, .large_share = workload.large_share.value_or(0)};
    return prepared(tasks * requests, [problem](team::Team& team) {
      jobs::verify(problem, jobs::allocate(team, problem));
    });
  }
  const jobs::InsertProblem problem{
      .tasks = tasks, .inserts = requests, .new_share = workload.new_share.value_or(0)};
  return prepared(tasks * requests, [problem](team::Team& team) {
    jobs::verify(problem, jobs::insert(team, problem));
  });
}

// Adds the process and those that its threads have forked. A system that does not list them has
// only the first.
void add_tree(pid_t root, std::vector<pid_t>& pids) {
  pids.push_back(root);
  std::error_code gone;
  const std::filesystem::path threads = "/proc/" + std::to_string(root) + "/task";
  for (std::filesystem::directory_iterator thread(threads, gone), end; !gone && thread != end;
       thread.increment(gone)) {
    std::ifstream children(thread->path() / "children");
    for (pid_t child = 0; children >> child;) add_tree(child, pids);
  }
}

// The most memory that this process, which holds the data, and those of a child take together while
// it works: pages that they share count once (PSS). Null: the system does not tell.
std::optional<std::uint64_t> most_memory(pid_t child) {
  constexpr auto kPause = std::chrono::milliseconds(1);
  std::uint64_t most = 0;
  for (siginfo_t ended{};
       waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
       ended.si_pid == 0;) {
    std::vector<pid_t> pids = {getpid()};
    add_tree(child, pids);
    most = std::max(most, team::shared_memory(pids).proportional);
    std::this_thread::sleep_for(kPause);
  }
  return most > 0 ? std::optional(most) : std::nullopt;
}

// memory: measures what the processes take instead, which disturbs their time.
Json measure(const PreparedWork& work, const Json& request, bool memory) {
  if (!work.measure) throw core::UsageError("measure: prepare a workload first");
  const bool serial = request.value("fork", "tree") == "serial";
  const team::TeamOptions options{.processes = request.at("processes").get<int>(),
                                  .threads = request.at("threads").get<int>(),
                                  .fork = serial ? team::ForkOrder::serial : team::ForkOrder::tree};
  constexpr int kTries = 5;  // a child can be gone before it is looked at
  std::optional<std::uint64_t> bytes;
  Json answer;
  for (int tries = 0; tries == 0 || (memory && !bytes && tries < kTries); ++tries) {
    answer = in_child(
        [&] {
          team::Team team(options);
          return work.measure(team);
        },
        memory ? [&](pid_t child) { bytes = most_memory(child); } : std::function<void(pid_t)>());
  }
  if (bytes) answer["bytes"] = *bytes;
  return answer;
}

Json answer(PreparedWork& work, const Json& request) {
  const auto what = request.at("do").get<std::string>();
  if (what == "hello") return {{"allocator", allocator_here()}};
  if (what == "prepare") {
    work = {};  // gives its memory back first
    work = prepare(request);
    return {{"requests", work.requests}, {"expected", work.expected}};
  }
  if (what == "measure" || what == "memory") return measure(work, request, what == "memory");
  if (what == "forks") return in_child([&] { return measure_forks(request); });
  throw core::UsageError("a meter cannot '" + what + "'");
}

}  // namespace

Json report_json(const team::TeamReport& report) {
  Json json = {{"seconds", report.seconds},
               {"fork_s", report.fork_seconds},
               {"join_s", report.join_seconds}};
  if (const auto& choice = report.choice) {
    json["choice"] = {{"processes", choice->shape.processes},
                      {"threads", choice->shape.threads},
                      {"reason", choice->reason},
                      {"sample_s", choice->sample_seconds},
                      {"fork_s", choice->fork_seconds}};
    if (const auto& predicted = choice->predicted) {
      json["choice"]["predicted"] = {{"seconds", predicted->seconds},
                                     {"low_s", predicted->low},
                                     {"high_s", predicted->high},
                                     {"held", predicted->holds(report.seconds_without_sample())}};
    }
  }
  return json;
}

}  // namespace process_thread

ProcessThreadMeter process_thread_meter() {
  using namespace process_thread;
  core::tick_clock();  // calibrated here once, not in each child
  return [work = std::make_shared<PreparedWork>()](const Json& request) -> Json {
    try {
      return answer(*work, request);
    } catch (const std::exception& error) {
      return error_answer(error);
    }
  };
}

}  // namespace tabane::lab
