#include "tabane/comm/transport/mpi/heartbeat.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace tabane::comm::mpi {
namespace {

constexpr std::chrono::seconds kTimeForACall{5};  // as on shm

// The host's addresses; of containers and virtual machines, too, which lead nowhere else.
void list_addresses(Whereabouts& own, bool also_loopback) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return;
  std::size_t count = 0;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    if ((one->ifa_flags & IFF_UP) == 0 || count == own.addresses.size()) continue;
    if ((one->ifa_flags & IFF_LOOPBACK) != 0 && !also_loopback) continue;
    own.addresses[count++] = reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr.s_addr;
  }
  freeifaddrs(list);
}

// Returns an invalid one if there is no socket to be had.
core::Descriptor open_socket(std::uint16_t& port) {
  core::Descriptor one(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t length = sizeof address;
  if (bind(one.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      getsockname(one.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    one.reset();
  }
  port = address.sin_port;
  return one;
}

bool same_host(const Whereabouts& a, const Whereabouts& b) { return a.host == b.host; }

}  // namespace

Heartbeat::Heartbeat(const std::string& host, double limit_s, bool also_loopback) {
  own_.limit_s = limit_s;
  std::copy_n(host.begin(), std::min(host.size(), own_.host.size() - 1), own_.host.begin());
  own_.key = std::uint64_t{std::random_device{}()} << 32 | std::random_device{}();
  socket_ = open_socket(own_.port);
  stop_.reset(eventfd(0, EFD_CLOEXEC));
  if (socket_.valid()) list_addresses(own_, also_loopback);
}

Heartbeat::~Heartbeat() {
  if (!thread_.joinable()) return;
  ends_ = true;
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

std::string Heartbeat::host_of(int rank) const {
  return all_[static_cast<std::size_t>(rank)].host.data();
}

void Heartbeat::start(std::vector<Whereabouts> all, int rank) {
  all_ = std::move(all);
  rank_ = rank;
  double limit_s = 0;
  bool is_first = true;
  std::unordered_set<std::string_view> known;
  for (int other = 0; other < static_cast<int>(all_.size()); ++other) {
    const Whereabouts& one = all_[static_cast<std::size_t>(other)];
    if (one.limit_s <= 0) return;  // a rank that watches nobody
    limit_s = other == 0 ? one.limit_s : std::min(limit_s, one.limit_s);
    if (same_host(one, own_)) {
      is_first = is_first && other >= rank;
      continue;
    }
    to_.push_back(other);
    if (known.insert(one.host.data()).second) hosts_.push_back({.first_rank = other});
  }
  if (hosts_.empty() || !socket_.valid() || !stop_.valid()) return;
  if (!is_first) to_.clear();
  limit_ = std::chrono::duration<double>(limit_s);
  interval_ = std::min(limit_ / 20, std::chrono::duration<double>(1));
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);  // signals are for the rank's own threads
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// A pause of the whole process, as by a debugger or a stopped machine, says nothing of others.
void Heartbeat::run() {
  const auto interval = std::chrono::duration_cast<Clock::duration>(interval_);
  while (!ends_) {
    const Clock::time_point before = Clock::now();
    send();
    listen_until(before + interval);
    if (Clock::now() - before > 4 * interval) {
      for (Host& host : hosts_) {
        if (host.heard != Clock::time_point{}) host.heard = Clock::now();
      }
    }
    look_for_silence();
  }
}

void Heartbeat::send() const {
  for (const int rank : to_) {
    const Whereabouts& there = all_[static_cast<std::size_t>(rank)];
    const Datagram datagram{.key = there.key, .rank = rank_};
    for (const std::uint32_t address : there.addresses) {
      if (address == 0) break;
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_port = there.port;
      to.sin_addr.s_addr = address;
      // One that does not leave is as good as lost.
      sendto(socket_.get(), &datagram, sizeof datagram, MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&to), sizeof to);
    }
  }
}

void Heartbeat::listen_until(Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0 || ends_) return;
    std::array<pollfd, 2> sources{{{socket_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
    if (poll(sources.data(), sources.size(), static_cast<int>(left)) <= 0) continue;
    Datagram datagram;
    while (recv(socket_.get(), &datagram, sizeof datagram, 0) == sizeof datagram) take(datagram);
  }
}

void Heartbeat::take(const Datagram& datagram) {
  if (datagram.key != own_.key) return;  // a stranger's, or of a world before
  const auto host = std::ranges::lower_bound(hosts_, datagram.rank, {}, &Host::first_rank);
  if (host != hosts_.end() && host->first_rank == datagram.rank) host->heard = Clock::now();
}

void Heartbeat::look_for_silence() {
  const Clock::time_point now = Clock::now();
  for (const Host& host : hosts_) {
    if (host.heard == Clock::time_point{} || now - host.heard < limit_) continue;
    if (silent_ == kNobody) silent_ = host.first_rank;
    if (!calm_ && now - host.heard > limit_ + kTimeForACall) kill(getpid(), SIGKILL);
  }
}

}  // namespace tabane::comm::mpi
