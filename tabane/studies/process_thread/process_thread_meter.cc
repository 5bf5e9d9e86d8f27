// The process that measures: does the workloads with teams, each time in a child of its own, which
// inherits no other's heap.
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string_view>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/studies/process_thread/malloc_map/allocate.h"
#include "tabane/studies/process_thread/malloc_map/insert.h"
#include "tabane/studies/process_thread/malloc_map/words.h"
#include "tabane/studies/process_thread/process_thread.h"
#include "tabane/studies/process_thread/process_thread_mining.h"
#include "tabane/team/fork.h"
#include "tabane/team/team.h"

namespace tabane::lab {
namespace process_thread {
namespace {

namespace jobs = malloc_map;

Json error_answer(const std::exception& error) {
  const char* kind = "error";
  if (dynamic_cast<const core::VerificationError*>(&error) != nullptr) kind = "verification";
  if (dynamic_cast<const core::UsageError*>(&error) != nullptr) kind = "usage";
  return {{"error", error.what()}, {"kind", kind}};
}

// Calls f in a child and returns what it returns.
Json in_child(const std::function<Json()>& f) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      fdopen(memfd_create("measurement", MFD_CLOEXEC), "w+"), std::fclose);
  if (!file) throw core::SystemError("memfd_create", "a measurement", errno);
  const pid_t child = team::fork_child([&] {
    Json result;
    try {
      result = f();
    } catch (const std::exception& error) {
      result = error_answer(error);
    }
    std::fputs(result.dump().c_str(), file.get());
    return std::fflush(file.get());
  });
  const int status = team::wait_for_child(child);
  if (status != 0)
    throw core::LostError(0, child, "a measurement", "status " + std::to_string(status));
  std::rewind(file.get());
  return Json::parse(core::read_to_end(fileno(file.get()), "a measurement"));
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

}  // namespace
}  // namespace process_thread

struct ProcessThreadMeter::State {
  // Does the prepared work with a team and checks the result.
  std::function<void(team::Team&)> work;
  std::string text;
  malloc_map::WordDigest expected;
  std::vector<std::string_view> pieces;
  std::optional<process_thread::MiningWork> mining;  // in place of the above

  // Returns the requests of all tasks.
  std::uint64_t prepare(const Json& request);
  Json measure(const team::TeamOptions& shape) const;

 private:
  std::uint64_t prepare_words(const Json& request, std::size_t tasks);
};

std::uint64_t ProcessThreadMeter::State::prepare(const Json& request) {
  using namespace process_thread;
  const std::string name = request.at("workload").get<std::string>();
  const Workload& workload = find_workload(name);
  mining.reset();
  if (workload.mining) {
    mining.emplace(name, request.at("transactions").get<std::size_t>());
    return mining->products();
  }
  const auto tasks = request.at("tasks").get<std::size_t>();
  const auto requests = request.at("requests").get<std::size_t>();
  if (name == "words") return prepare_words(request, tasks);
  if (name.starts_with("malloc")) {
    const jobs::AllocateProblem problem{
        .tasks = tasks, .requests = requests, .large_share = workload.large_share};
    work = [problem](team::Team& team) { jobs::verify(problem, jobs::allocate(team, problem)); };
  } else {
    const jobs::InsertProblem problem{
        .tasks = tasks, .inserts = requests, .new_share = workload.new_share};
    work = [problem](team::Team& team) { jobs::verify(problem, jobs::insert(team, problem)); };
  }
  return tasks * requests;
}

std::uint64_t ProcessThreadMeter::State::prepare_words(const Json& request, std::size_t tasks) {
  using namespace process_thread;
  constexpr auto rule = jobs::WordRule::letters;
  const auto directory = request.at("text_directory").get<std::string>();
  text = directory.empty()
             ? jobs::generate_corpus({.bytes = request.at("text_bytes").get<std::uint64_t>()})
             : jobs::load_corpus(directory);
  // Large pieces of text: each has most of the frequent words, which are then merged.
  const std::size_t piece = text.size() / std::max<std::size_t>(1, tasks / 4);
  pieces = jobs::cut_between_words(text, std::max<std::size_t>(1, piece), rule);
  const Json counted = in_child([&] {
    const auto all = jobs::digest(jobs::count_words_plain(text, rule));
    return Json{{"words", all.words}, {"distinct", all.distinct}, {"sum", all.sum}};
  });
  if (counted.contains("error")) throw core::Error(counted["error"].get<std::string>());
  expected = {.words = counted["words"].get<std::uint64_t>(),
              .distinct = counted["distinct"].get<std::uint64_t>(),
              .sum = counted["sum"].get<std::uint64_t>()};
  work = [this](team::Team& team) {
    const auto found = jobs::digest(jobs::count_words(team, pieces, rule));
    if (found != expected)
      throw core::VerificationError("the number of words", static_cast<double>(found.words),
                                    static_cast<double>(expected.words));
  };
  return expected.words;
}

Json ProcessThreadMeter::State::measure(const team::TeamOptions& shape) const {
  if (!work && !mining) throw core::UsageError("measure: prepare a workload first");
  return process_thread::in_child([&] {
    team::Team team(shape);
    if (!mining) {
      work(team);
      return process_thread::report_json(team.report());
    }
    team.run([] {});
    const double start = team.report().seconds;
    const double seconds = mining->count(team);
    Json answer = process_thread::report_json(team.report());
    answer.update({{"seconds", seconds}, {"start_s", start}});
    return answer;
  });
}

ProcessThreadMeter::ProcessThreadMeter() : state_(std::make_unique<State>()) {}
ProcessThreadMeter::~ProcessThreadMeter() = default;

Json ProcessThreadMeter::answer(const Json& request) {
  using namespace process_thread;
  try {
    const auto what = request.at("do").get<std::string>();
    if (what == "hello") return {{"allocator", allocator_here()}};
    if (what == "prepare") return {{"requests", state_->prepare(request)}};
    if (what == "measure")
      return state_->measure({.processes = request.at("processes").get<int>(),
                              .threads = request.at("threads").get<int>(),
                              .fork = request.value("fork", "tree") == "serial"
                                          ? team::ForkOrder::serial
                                          : team::ForkOrder::tree});
    if (what == "forks") return in_child([&] { return measure_forks(request); });
    throw core::UsageError("a meter cannot '" + what + "'");
  } catch (const std::exception& error) {
    return error_answer(error);
  }
}

}  // namespace tabane::lab
