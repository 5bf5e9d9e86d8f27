// The process that measures: does the workloads with teams, each run in a child of its own, so that
// no run inherits the heap of another.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <string_view>

#include "tabane/core/error.h"
#include "tabane/lab/studies/process_thread_data.h"
#include "tabane/team/fork.h"
#include "tabane/team/team.h"
#include "tabane/workloads/malloc_map/allocate.h"
#include "tabane/workloads/malloc_map/insert.h"
#include "tabane/workloads/malloc_map/words.h"

namespace tabane::lab {
namespace process_thread {
namespace {

namespace jobs = workloads::malloc_map;

Json error_answer(const std::exception& error) {
  const char* kind = "error";
  if (dynamic_cast<const core::VerificationError*>(&error) != nullptr) kind = "verification";
  if (dynamic_cast<const core::LostError*>(&error) != nullptr) kind = "lost";
  if (dynamic_cast<const core::UsageError*>(&error) != nullptr) kind = "usage";
  return {{"error", error.what()}, {"kind", kind}};
}

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the reader sees that the text ends too early
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string read_all(int file) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = read(file, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

// Calls f in a child and returns what it returns.
Json in_child(const std::function<Json()>& f) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw core::SystemError("pipe", "a measurement", errno);
  pid_t child = 0;
  try {
    child = team::fork_child([&] {
      close(ends[0]);
      Json result;
      try {
        result = f();
      } catch (const std::exception& error) {
        result = error_answer(error);
      }
      write_all(ends[1], result.dump());
      return 0;
    });
  } catch (...) {
    close(ends[0]);
    close(ends[1]);
    throw;
  }
  close(ends[1]);
  const std::string text = read_all(ends[0]);
  close(ends[0]);
  const int status = team::wait_for_child(child);
  if (status != 0)
    throw core::LostError(0, child, "a measurement", "status " + std::to_string(status));
  return Json::parse(text);
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

Json choice_json(const team::Choice& choice) {
  return {{"processes", choice.shape.processes},       {"threads", choice.shape.threads},
          {"predicted_s", choice.predicted.seconds},   {"predicted_low_s", choice.predicted.low},
          {"predicted_high_s", choice.predicted.high}, {"reason", choice.reason},
          {"sample_s", choice.sample_seconds},         {"fork_s", choice.fork_seconds}};
}

Json report_json(const team::TeamReport& report) {
  Json json = {{"seconds", report.seconds},
               {"fork_seconds", report.fork_seconds},
               {"join_seconds", report.join_seconds},
               {"processes", report.processes},
               {"threads", report.threads}};
  if (report.choice) json["choice"] = choice_json(*report.choice);
  return json;
}

}  // namespace
}  // namespace process_thread

struct ProcessThreadMeter::State {
  // Does the prepared work with a team and checks the result.
  std::function<void(team::Team&)> work;
  std::string text;
  workloads::malloc_map::WordDigest expected;
  std::vector<std::string_view> pieces;

  Json prepare(const Json& request);
  Json run(const Json& request) const;

 private:
  void prepare_words(const Json& request);
};

Json ProcessThreadMeter::State::prepare(const Json& request) {
  using namespace process_thread;
  const Workload& workload = find_workload(request.at("workload").get<std::string>());
  const auto tasks = request.at("tasks").get<std::size_t>();
  const auto requests = request.at("requests").get<std::size_t>();
  const std::string name = workload.name;
  if (name == "words") {
    prepare_words(request);
    return {{"tasks", pieces.size()}, {"text_bytes", text.size()}, {"words", expected.words}};
  }
  if (name.starts_with("malloc")) {
    const jobs::AllocateProblem problem{
        .tasks = tasks, .requests = requests, .large_share = workload.large_share};
    work = [problem](team::Team& team) { jobs::verify(problem, jobs::allocate(team, problem)); };
  } else {
    const jobs::InsertProblem problem{
        .tasks = tasks, .inserts = requests, .new_share = workload.new_share};
    work = [problem](team::Team& team) { jobs::verify(problem, jobs::insert(team, problem)); };
  }
  return {{"tasks", tasks}, {"requests", requests}};
}

void ProcessThreadMeter::State::prepare_words(const Json& request) {
  namespace jobs = workloads::malloc_map;
  constexpr auto rule = jobs::WordRule::letters;
  const auto directory = request.at("text_directory").get<std::string>();
  text = directory.empty()
             ? jobs::generate_corpus({.bytes = request.at("text_bytes").get<std::uint64_t>()})
             : jobs::load_corpus(directory);
  const std::size_t tasks = std::max<std::size_t>(1, request.at("tasks").get<std::size_t>());
  pieces = jobs::cut_between_words(text, std::max<std::size_t>(1, text.size() / tasks), rule);
  // In a child, so that the runs do not inherit its heap.
  const Json counted = process_thread::in_child([&] {
    const auto all = jobs::digest(jobs::count_words_plain(text, rule));
    return Json{{"words", all.words}, {"distinct", all.distinct}, {"sum", all.sum}};
  });
  if (counted.contains("error")) throw core::Error(counted["error"].get<std::string>());
  expected = {.words = counted["words"], .distinct = counted["distinct"], .sum = counted["sum"]};
  work = [this, rule](team::Team& team) {
    const auto found = jobs::digest(jobs::count_words(team, pieces, rule));
    if (found != expected)
      throw core::VerificationError("the number of words", static_cast<double>(found.words),
                                    static_cast<double>(expected.words));
  };
}

Json ProcessThreadMeter::State::run(const Json& request) const {
  using namespace process_thread;
  if (!work) throw core::UsageError("run: prepare a workload first");
  const int processes = request.at("processes").get<int>();
  const int threads = request.at("threads").get<int>();
  return in_child([&] {
    team::Team team({.processes = processes, .threads = threads});
    work(team);
    return report_json(team.report());
  });
}

ProcessThreadMeter::ProcessThreadMeter() : state_(std::make_unique<State>()) {}
ProcessThreadMeter::~ProcessThreadMeter() = default;

Json ProcessThreadMeter::answer(const Json& request) {
  using namespace process_thread;
  try {
    const auto what = request.at("do").get<std::string>();
    if (what == "hello") return {{"allocator", allocator_here()}};
    if (what == "prepare") return state_->prepare(request);
    if (what == "run") return state_->run(request);
    if (what == "forks") return in_child([&] { return measure_forks(request); });
    throw core::UsageError("a meter cannot '" + what + "'");
  } catch (const std::exception& error) {
    return error_answer(error);
  }
}

}  // namespace tabane::lab
