// tabane_bench_aes_ranks: does one job of encryption, alone or on ranks that it forks. A process of
// its own, because nothing can fork where a peer's library keeps threads. See bench/remote.h.
//
// Usage: tabane_bench_aes_ranks encrypt|decrypt IN OUT. Serves "alone" and "ranks", which return
// the nanoseconds of the job; OUT goes before each.
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>

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

struct Job {
  Direction direction;
  std::string in, out;

  Request request(unsigned threads) const {
    Request request = request_of(direction, in, out);
    request.threads = threads;
    request.measure_copy = false;
    return request;
  }
};

double seconds_of(const JobReport& outcome) {
  if (!outcome.complete || !outcome.failures.empty() || !outcome.remarks.empty()) {
    throw core::Error("the job was not done");
  }
  return outcome.seconds;
}

double alone(const Job& job) { return seconds_of(run_job(job.request(kRanks))); }

double on_ranks(const Job& job) {
  const std::function<double(comm::Comm&)> rank = [&](comm::Comm& world) {
    if (world.rank() == 0) {
      Coordinator crew(&world);
      return seconds_of(run_job(job.request(1), {}, crew));
    }
    serve_rank_0(job.request(1), {}, world);
    return 0.0;
  };
  return comm::launch_result<double>({.ranks = kRanks, .transport = comm::TransportKind::shm}, rank)
      .value();
}

int serve_job(const Job& job) {
  const auto served = [&job](auto run) {
    return [&job, run](std::uint64_t) {
      std::filesystem::remove_all(job.out);
      return static_cast<std::uint64_t>(1e9 * run(job));
    };
  };
  return serve({{"alone", served(alone)}, {"ranks", served(on_ranks)}});
}

}  // namespace
}  // namespace tabane::bench

int main(int argc, char** argv) {
  using namespace tabane;
  if (argc != 4) {
    std::fputs("usage: tabane_bench_aes_ranks encrypt|decrypt IN OUT\n", stderr);
    return 2;
  }
  const bool opens = std::string(argv[1]) == "decrypt";
  return bench::serve_job(
      {opens ? encrypt::Direction::decrypt : encrypt::Direction::encrypt, argv[2], argv[3]});
}
