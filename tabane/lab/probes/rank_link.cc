#include "tabane/lab/probes/rank_link.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>

#include "tabane/comm/collectives.h"
#include "tabane/comm/launch.h"
#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/temporary_file.h"
#include "tabane/lab/probes/ping_pong.h"

namespace tabane::lab {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 20;
constexpr double kSlowSeconds = 0.1;  // half a round trip after which no larger message is sent
constexpr double kSilentSeconds = 30;

// The host's name and its network: a container may have one without the other.
std::string own_host() {
  std::array<char, 256> host{}, network{};
  gethostname(host.data(), host.size() - 1);
  if (readlink("/proc/self/ns/net", network.data(), network.size() - 1) < 0) network[0] = '\0';
  return fmt::format("{} {}", host.data(), network.data());
}

bool share_a_host(comm::Comm& two) {
  const std::string own = own_host();
  if (two.rank() == 1) {
    two.send(0, own);
    return two.recv<std::uint8_t>(0) != 0;
  }
  const auto other = two.recv_view<char>(1);
  const bool same = std::ranges::equal(own, other.values());
  two.send(1, static_cast<std::uint8_t>(same));
  return same;
}

// Of all threads of this process, in user and system mode.
double cpu_seconds() { return core::clock_seconds(CLOCK_PROCESS_CPUTIME_ID); }

// Ranks 0 and 1, which measure the same at the same time.
class Link {
 public:
  Link(comm::Comm& two, const std::string& host, const LinkSink& sink)
      : two_(two), grid_(two, 1, 2), sink_(sink) {
    if (host.empty()) return;
    std::string reason;
    socket_ = SocketLink::connect(two, host, &reason);
    if (two.rank() == 0 && !socket_) tell({.way = "tcp", .reason = reason});
  }

  void answer() { measure(1, 0); }
  void over_sizes(double seconds) {
    const std::vector<std::uint64_t> sizes = ping_pong_sizes(kMostBytes);
    for (const std::uint64_t bytes : sizes) {
      const double slowest = measure(bytes, seconds / static_cast<double>(sizes.size()));
      if (bytes == kWatchedBytes) measure_cpu();
      if (!all_go_on(wanted_ && slowest < kSlowSeconds)) return;
    }
  }
  void over_time(double seconds) {
    const double end = core::tick_clock().now() + seconds;
    do {
      measure(kWatchedBytes, 0.25, 5e-3);
    } while (all_go_on(wanted_ && core::tick_clock().now() < end));
  }

 private:
  // Seconds of the slowest way, on rank 0.
  double measure(std::uint64_t bytes, double budget_seconds, double epoch_seconds = kEpochSeconds) {
    const std::vector<RankWorkload> works = ping_pongs(bytes);
    RankSamples samples = measure_rounds(
        grid_, works, {.fewest = 2, .most = 100, .budget_seconds = budget_seconds}, epoch_seconds);
    double slowest = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      for (double& seconds : samples[i]) seconds /= 2;
      slowest = std::max(slowest, core::median(samples[i]));
      tell({.way = i == 0 ? "mpi" : "tcp", .bytes = bytes, .samples = std::move(samples[i])});
    }
    return slowest;
  }
  std::vector<RankWorkload> ping_pongs(std::uint64_t bytes) const {
    std::vector<RankWorkload> works{message_ping_pong(bytes)};
    if (socket_) works.push_back(socket_ping_pong(socket_, bytes));
    return works;
  }
  // Both ranks together, over the bytes that go to and fro.
  void measure_cpu() {
    const std::vector<RankWorkload> works = ping_pongs(kWatchedBytes);
    constexpr std::uint64_t kRoundTrips = 20;
    for (std::size_t i = 0; i < works.size(); ++i) {
      const RankWork work = works[i](grid_);
      work(5);  // touches memory and fills caches
      comm::barrier(two_);
      const double begin = core::tick_clock().now(), before = cpu_seconds();
      work(kRoundTrips);
      const double seconds = core::tick_clock().now() - begin;
      const double both = comm::all_reduce(two_, cpu_seconds() - before, comm::Operation::sum);
      tell({.way = i == 0 ? "mpi" : "tcp",
            .bytes = kWatchedBytes,
            .samples = {seconds / (2.0 * kRoundTrips)},
            .cpu_s_per_byte = both / (2.0 * kRoundTrips * kWatchedBytes)});
    }
  }
  void tell(const LinkSamples& samples) { wanted_ = sink_(samples) && wanted_; }
  bool all_go_on(bool yes) {
    auto go_on = static_cast<std::uint8_t>(yes);
    comm::broadcast(two_, go_on, 0);
    return go_on != 0;
  }

  comm::Comm& two_;
  comm::Grid grid_;
  const LinkSink& sink_;
  std::shared_ptr<SocketLink> socket_;
  bool wanted_ = true;
};

// What a person would read of the messages of a program that failed, in one line.
std::string gist_of(const std::string& messages) {
  std::istringstream in(messages);
  std::string gist;
  for (std::string line; std::getline(in, line) && gist.size() < 300;) {
    const bool says = std::ranges::any_of(line, [](unsigned char c) { return std::isalpha(c); });
    if (!says && !gist.empty()) break;
    if (says) gist += (gist.empty() ? "" : " ") + line;
  }
  return gist.empty() ? "it said nothing" : gist;
}

// A started program, ended in any case.
class Asked {
 public:
  explicit Asked(core::HelperProgram program)
      : name_(program.name), process_(with_messages_in_a_file(std::move(program))) {}
  ~Asked() { process_.end_within(patience_); }

  // The next line, or null at the end.
  std::optional<std::string> next(const std::function<void()>& between_calls) {
    const double begin = core::tick_clock().now();
    while (!process_.answers_within(0.1)) {
      between_calls();
      if (core::tick_clock().now() - begin > kSilentSeconds + comm::default_silence_limit())
        lost("has said nothing for too long");
    }
    std::string line;
    try {
      line = process_.read_line();
    } catch (const core::LostError&) {
      between_calls();
      lost("has ended");
    }
    if (!line.empty()) return line;
    patience_ = 5;
    return std::nullopt;
  }

 private:
  core::HelperProgram with_messages_in_a_file(core::HelperProgram program) {
    const std::string file = folder_ / "messages";
    program.command.insert(program.command.begin(), {"sh", "-c", "exec \"$@\" 2>\"$0\"", file});
    return program;
  }
  [[noreturn]] void lost(const char* how) const {
    const std::string messages = core::read_file(folder_ / "messages");
    throw core::LostError(0, 0, fmt::format("{} {}: {}", name_, how, gist_of(messages)));
  }

  std::string name_;
  core::ScratchFolder folder_{"rank-link"};
  core::HelperProcess process_;
  double patience_ = 0;
};

LinkSamples link_samples_from_json(const Json& json) {
  const Json& cpu = json.at("cpu_s_per_byte");
  return {.way = json.at("way").text(),
          .bytes = json.at("bytes").get<std::uint64_t>(),
          .samples = json.at("samples").get<std::vector<double>>(),
          .reason = json.at("reason").text(),
          .cpu_s_per_byte = cpu.is_null() ? std::nullopt : std::optional(cpu.get<double>()),
          .bits = json.at("bits").get<int>(),
          .ranks = json.at("ranks").get<int>()};
}

}  // namespace

Json to_json(const LinkSamples& samples) {
  return {{"way", samples.way},
          {"bytes", samples.bytes},
          {"samples", samples.samples},
          {"reason", samples.reason},
          {"cpu_s_per_byte", samples.cpu_s_per_byte},
          {"bits", samples.bits},
          {"ranks", samples.ranks}};
}

void measure_link(comm::Comm& world, const std::vector<std::string>& hosts,
                  const LinkRequest& request, const LinkSink& sink) {
  auto two = world.split(world.rank() < 2 ? 0 : -1);
  if (!two) return;
  if (!hosts.empty() && share_a_host(*two)) {
    if (two->rank() == 0)
      sink({.reason = "ranks 0 and 1 run on one host: the launcher has to start one on each"});
    return;
  }
  Link link(*two, hosts.empty() ? "" : hosts[1], sink);
  if (request.task == LinkTask::answer)
    link.answer();
  else if (request.task == LinkTask::watch)
    link.over_time(request.seconds);
  else
    link.over_sizes(request.seconds);
}

void ask_link(core::HelperProgram program, const LinkSink& sink,
              const std::function<void()>& between_calls) {
  Asked asked(std::move(program));
  while (const auto line = asked.next(between_calls)) {
    const bool ours = line->starts_with('{');  // launchers say things, too
    if (ours && !sink(link_samples_from_json(Json::parse(*line)))) return;
  }
}

}  // namespace tabane::lab
