// Ping-pongs over TCP for the topic "netpipe": "picoseconds-BYTES" is half a round trip by the
// loopback device, between ranks on the two PUs that are the arguments.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "bench/served.h"
#include "tabane/comm/collectives.h"
#include "tabane/comm/launch.h"
#include "tabane/core/binding.h"
#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/lab/probes/ping_pong.h"

namespace tabane::bench {
namespace {

// As NetPIPE: the fastest of three trials that take about a quarter of a second each.
constexpr int kTrials = 3;
constexpr double kTrialSeconds = 0.25;

double half_round_trip(comm::Comm& two, std::size_t bytes) {
  std::string reason;
  const auto link = lab::SocketLink::connect(two, "127.0.0.1", &reason);
  if (!link) throw core::Error("no TCP by the loopback device: " + reason);
  std::vector<std::byte> message(bytes);
  const auto seconds_of = [&](std::uint64_t trips) {
    comm::barrier(two);
    const double begin = core::tick_clock().now();
    link->round_trips(message, trips);
    return (core::tick_clock().now() - begin) / static_cast<double>(2 * trips);
  };
  auto trips =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(kTrialSeconds / (2 * seconds_of(100))));
  comm::broadcast(two, trips, 0);
  double best = seconds_of(trips);
  for (int trial = 1; trial < kTrials; ++trial) best = std::min(best, seconds_of(trips));
  return best;
}

int serve_on(const std::array<unsigned, 2>& pus) {
  std::map<std::string, Served> served;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1} << 20}) {
    served["picoseconds-" + std::to_string(bytes)] = [pus, bytes](std::uint64_t) {
      const auto seconds = comm::launch_result<double>(
          {.ranks = 2,
           .transport = comm::TransportKind::shm,
           .placement = core::PlacementPolicy::none},
          [&](comm::Comm& two) {
            const core::ScopedBinding binding(pus[static_cast<std::size_t>(two.rank())]);
            return half_round_trip(two, bytes);
          });
      return static_cast<std::uint64_t>(1e12 * *seconds);
    };
  }
  return serve(served);
}

}  // namespace
}  // namespace tabane::bench

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto pu = [&](int i) { return static_cast<unsigned>(std::atoi(argv[i])); };
  return tabane::bench::serve_on({pu(1), pu(2)});
}
