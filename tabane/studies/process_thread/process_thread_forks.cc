// What creating children costs a process that holds memory.
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <functional>
#include <new>
#include <thread>

#include "tabane/core/rounds.h"
#include "tabane/studies/process_thread/process_thread.h"
#include "tabane/team/fork.h"
#include "tabane/team/memory_map.h"
#include "tabane/team/team.h"

namespace tabane::lab::process_thread {
namespace {

// Allocates and touches; the process ends without giving it back.
void hold(std::uint64_t bytes, std::uint64_t piece) {
  constexpr std::size_t kPage = 4096;
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

Json measure_ways(const core::RoundsOptions& options) {
  const std::pair<const char*, std::function<void()>> ways[] = {
      {"one", fork_one},
      {"serial", [] { fork_team(team::ForkOrder::serial); }},
      {"tree", [] { fork_team(team::ForkOrder::tree); }},
      {"threads", fork_from_threads}};
  fork_one();  // warm-up
  core::Clock& clock = core::tick_clock();
  Json seconds;
  const auto take = [&](std::size_t way) {
    const double begin = clock.now();
    ways[way].second();
    return clock.now() - begin;
  };
  core::in_rounds(std::size(ways), options, clock, clock.now(), take,
                  [&](const std::vector<double>& round) {
                    for (std::size_t way = 0; way < round.size(); ++way)
                      seconds[ways[way].first].push_back(round[way]);
                  });
  const team::PrivateMemory memory = team::private_memory();
  return {{"seconds", seconds},
          {"small_page_bytes", memory.small_page_bytes},
          {"huge_page_bytes", memory.huge_page_bytes}};
}

}  // namespace

Json measure_forks(const Json& request) {
  const auto budget = request.at("budget_s").get<double>();
  const core::RoundsOptions options{.fewest = request.at("fewest").get<int>(),
                                    .most = request.at("most").get<int>(),
                                    .budget_seconds = budget,
                                    // A round over gigabytes in small pages takes many seconds.
                                    .most_seconds = 20 * std::max(budget, 0.1)};
  hold(request.at("bytes").get<std::uint64_t>(), request.at("piece").get<std::uint64_t>());
  Json answer = {{"as allocated", measure_ways(options)}};
  if (team::prepare_for_fork().bytes > 0) answer["prepared"] = measure_ways(options);
  return answer;
}

}  // namespace tabane::lab::process_thread
