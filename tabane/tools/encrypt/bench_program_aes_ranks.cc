// tabane_bench_aes_ranks: does one job of encryption, alone or on ranks that it forks. A process of
// its own, because nothing can fork where a peer's library keeps threads. See bench/remote.h.
//
// Usage: tabane_bench_aes_ranks encrypt|decrypt IN OUT. Serves "alone" and "ranks", which return
// the nanoseconds of the job; OUT goes before each.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "bench/served.h"
#include "tabane/comm/launch.h"
#include "tabane/core/error.h"
#include "tabane/tools/encrypt/coordinator.h"
#include "tabane/tools/encrypt/job.h"
#include "tabane/tools/encrypt/request_test.h"

namespace tabane::bench {
namespace {

using namespace encrypt;

constexpr int kRanks = 2;

double seconds_of(const JobReport& outcome) {
  if (!outcome.complete || !outcome.failures.empty() || !outcome.remarks.empty()) {
    throw core::Error("the job was not done");
  }
  return outcome.seconds;
}

int scene(const std::vector<std::string>& words) {
  if (words.size() != 3) throw core::Error("usage: encrypt|decrypt IN OUT");
  const auto request = [&](unsigned threads) {
    const bool opens = words[0] == "decrypt";
    Request made = request_of(opens ? Direction::decrypt : Direction::encrypt, words[1], words[2]);
    made.threads = threads;
    made.measure_copy = false;
    return made;
  };
  const std::function<double(comm::Comm&)> rank = [&](comm::Comm& world) {
    if (world.rank() == 0) {
      Coordinator crew(&world);
      return seconds_of(run_job(request(1), {}, crew));
    }
    serve_rank_0(request(1), {}, world);
    return 0.0;
  };
  const auto nanoseconds_of = [&](const std::function<double()>& job) {
    return [&, job](std::uint64_t) {
      std::filesystem::remove_all(words[2]);
      return static_cast<std::uint64_t>(1e9 * job());
    };
  };
  return serve({{"alone", nanoseconds_of([&] { return seconds_of(run_job(request(kRanks))); })},
                {"ranks", nanoseconds_of([&] {
                   return comm::launch_result<double>(
                              {.ranks = kRanks, .transport = comm::TransportKind::shm}, rank)
                       .value();
                 })}});
}

}  // namespace
}  // namespace tabane::bench

int main(int argc, char** argv) {
  return tabane::bench::serve_scene(argc, argv, tabane::bench::scene);
}
