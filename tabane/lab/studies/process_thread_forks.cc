// What creating children costs a process that holds memory.
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <functional>
#include <new>
#include <thread>

#include "tabane/core/clock.h"
#include "tabane/lab/studies/process_thread_data.h"
#include "tabane/team/fork.h"
#include "tabane/team/fork_cost.h"
#include "tabane/team/team.h"

namespace tabane::lab::process_thread {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kMostSamples = 50;

// Allocates and touches; the process ends without giving it back.
void hold(std::uint64_t bytes, std::uint64_t piece_bytes) {
  const std::uint64_t piece = piece_bytes == 0 ? bytes : piece_bytes;
  for (std::uint64_t held = 0; held < bytes; held += piece) {
    auto* const memory = static_cast<volatile char*>(std::malloc(piece));
    if (memory == nullptr) throw std::bad_alloc();
    for (std::size_t at = 0; at < piece; at += kPage) memory[at] = 1;
  }
}

void fork_one() {
  team::wait_for_child(team::fork_child([] { return 0; }));
}

void fork_team(team::ForkOrder order) {
  team::Team team({.processes = kForkChildren, .threads = 1, .fork = order});
  team.run([] {});
}

// The children end at once, so what other threads had locked does not matter to them.
void fork_from_threads() {
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> failures(kForkChildren);
  for (std::exception_ptr& failure : failures) {
    threads.emplace_back([&failure] {
      try {
        fork_one();
      } catch (...) {
        failure = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

double timed(const std::function<void()>& work) {
  core::Clock& clock = core::tick_clock();
  const double begin = clock.now();
  work();
  return clock.now() - begin;
}

// All four in turn, at least `fewest` times, until the time is spent.
Json measure_all(std::size_t fewest, double budget_seconds) {
  struct Way {
    const char* name;
    std::function<void()> work;
    std::vector<double> seconds;
  };
  std::vector<Way> ways = {{"one", fork_one, {}},
                           {"serial", [] { fork_team(team::ForkOrder::serial); }, {}},
                           {"tree", [] { fork_team(team::ForkOrder::tree); }, {}},
                           {"threads", fork_from_threads, {}}};
  fork_one();  // warm-up
  const double begin = core::tick_clock().now();
  for (std::size_t n = 0; n < kMostSamples; ++n) {
    if (n >= fewest && core::tick_clock().now() - begin >= budget_seconds) break;
    for (Way& way : ways) way.seconds.push_back(timed(way.work));
  }
  Json all;
  for (const Way& way : ways) all[way.name] = way.seconds;
  const team::PrivateMemory memory = team::private_memory();
  all["small_page_bytes"] = memory.small_page_bytes;
  all["huge_page_bytes"] = memory.huge_page_bytes;
  return all;
}

}  // namespace

Json measure_forks(const Json& request) {
  const auto fewest = request.at("fewest").get<std::size_t>();
  const auto budget = request.at("budget_s").get<double>();
  hold(request.at("bytes").get<std::uint64_t>(), request.at("piece_bytes").get<std::uint64_t>());
  Json answer = {{"as_allocated", measure_all(fewest, budget)}};
  const team::Preparation preparation = team::prepare_for_fork();
  answer["prepared_bytes"] = preparation.bytes;
  if (preparation.bytes > 0) answer["prepared"] = measure_all(fewest, budget);
  return answer;
}

}  // namespace tabane::lab::process_thread
