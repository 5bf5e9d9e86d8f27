// Ping-pongs over TCP by the loopback device: the study's and NetPIPE's, on the same two cores.
#include "bench/bench.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <memory>
#include <sstream>
#include <thread>

#include "bench/command.h"
#include "bench/remote.h"
#include "tabane/core/error.h"
#include "tabane/core/helper_process.h"
#include "tabane/core/temporary_file.h"
#include "tabane/core/topology.h"
#include "tabane/core/units.h"

namespace tabane::bench {
namespace {

// Both sides need the size.
Command netpipe_on(unsigned pu, std::size_t bytes, const Command& more = {}) {
  const std::string size = std::to_string(bytes);
  Command command{"taskset", "-c", std::to_string(pu), "NPtcp", "-l", size, "-u", size, "-p", "0"};
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

Command transmitter(unsigned pu, std::size_t bytes, const std::string& file) {
  return netpipe_on(pu, bytes, {"-h", "127.0.0.1", "-o", file});
}

// The same by NetPIPE, from its file of "bytes, Mbit/s, seconds".
double netpipe(const std::array<unsigned, 2>& pus, std::size_t bytes) {
  const core::ScratchFolder folder("tabane-netpipe");
  const std::string file = folder / "np.out";
  Command command{"/bin/sh", "-c", "exec \"$@\" >/dev/null 2>&1", "sh"};
  const Command receiving = netpipe_on(pus[1], bytes);
  command.insert(command.end(), receiving.begin(), receiving.end());
  core::HelperProcess receiver({.name = "NPtcp", .command = std::move(command)});
  for (int tries = 0;; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // until it listens
    try {
      run_command(transmitter(pus[0], bytes, file));
      break;
    } catch (const core::Error&) {
      if (tries < 20) continue;
      receiver.end_within(0);  // it would wait for ever
      throw;
    }
  }
  std::istringstream line(core::read_file(file));
  double size = 0, rate = 0, seconds = 0;
  if (!(line >> size >> rate >> seconds) || size != static_cast<double>(bytes) || seconds <= 0)
    throw core::Error("NPtcp wrote no time for " + core::format_bytes(bytes));
  return seconds;
}

void ask_all(Panel& panel) {
  const core::Topology topology = core::Topology::detect();
  std::vector<unsigned> cores;
  for (const core::Pu& pu : topology.pus())
    if (pu.smt == 0) cores.push_back(pu.os_index);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1} << 20}) {
    const std::string name =
        fmt::format("half round trip over TCP, loopback, {}", core::format_bytes(bytes));
    if (!panel.wants(name)) continue;
    Question question{name, "1/s", {.name = "tabane", .amount = 1}, {}};
    Contender peer{.name = "NetPIPE", .amount = 1, .target = 0.95};
    if (cores.size() < 2) peer.missing = "there is one core";
    if (!in_path("NPtcp")) peer.missing = "no NPtcp in PATH";
    if (peer.missing.empty()) {
      const std::array<unsigned, 2> pus{cores[0], cores[1]};
      const auto server = std::make_shared<Remote>(
          "tabane_bench_netpipe", Command{beside_this_program("tabane_bench_netpipe"),
                                          std::to_string(pus[0]), std::to_string(pus[1])});
      question.ours.timed = [=](std::uint64_t) {
        return 1e-12 * static_cast<double>(server->ask(fmt::format("picoseconds-{}", bytes)));
      };
      peer.timed = [=](std::uint64_t) { return netpipe(pus, bytes); };
      peer.how = started_as(transmitter(pus[0], bytes, "np.out"),
                            version_said_by("dpkg-query -W netpipe-tcp"));
    }
    question.peers.push_back(std::move(peer));
    const int epochs = panel.settings().quick ? 3 : 11;
    question.measure = core::MeasureOptions{.budget_seconds = 0,
                                            .min_epochs = epochs,
                                            .max_epochs = epochs,
                                            .warmup_epochs = 1,
                                            .single_iteration = true};
    panel.ask(question);
  }
}

const RegisteredTopic kTopic({"netpipe", "ping-pongs over TCP", ask_all});

}  // namespace
}  // namespace tabane::bench
