#include "tabane/lab/probes/ping_pong.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <random>
#include <set>

#include "tabane/comm/launch.h"
#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/simd/elementwise.h"

namespace tabane::lab {
namespace {

constexpr double kConnectSeconds = 5;

// Where rank 1 listens, and what rank 0 has to say there.
struct Offer {
  int error = 0;  // why it does not listen; 0: it does
  sockaddr_storage address{};
  socklen_t length = sizeof(sockaddr_storage);
  std::uint64_t token = 0;
};

std::uint64_t draw_token() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

// On a port, or under a name, that the system chooses. IPv6 takes IPv4 as well, where there is any.
core::Descriptor listen_somewhere(bool tcp) {
  for (const int family : tcp ? std::vector{AF_INET6, AF_INET} : std::vector{AF_UNIX}) {
    core::Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_storage any{};
    any.ss_family = static_cast<sa_family_t>(family);
    const socklen_t length = family == AF_INET6  ? sizeof(sockaddr_in6)
                             : family == AF_INET ? sizeof(sockaddr_in)
                                                 : sizeof(sa_family_t);
    const int both = 0;
    if (family == AF_INET6 && socket.valid())
      setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof both);
    if (socket.valid() && bind(socket.get(), reinterpret_cast<sockaddr*>(&any), length) == 0 &&
        listen(socket.get(), 8) == 0)
      return socket;
  }
  return {};
}

bool ready(int fd, short events, double seconds) {
  pollfd waiting{.fd = fd, .events = events, .revents = 0};
  const auto ms = static_cast<int>(std::max(0.0, 1e3 * seconds));
  while (true) {
    const int n = poll(&waiting, 1, ms);
    if (n >= 0 || errno != EINTR) return n > 0;
  }
}

// errno of the attempt, or 0.
int connect_within(int socket, const sockaddr* address, socklen_t length, double seconds) {
  if (::connect(socket, address, length) == 0) return 0;
  if (errno != EINPROGRESS && errno != EAGAIN) return errno;
  if (!ready(socket, POLLOUT, seconds)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

// Small messages leave at once, and a peer that is cut off is noticed.
void set_options(int socket, bool tcp) {
  const int on = 1;
  if (tcp) setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const double limit = comm::default_silence_limit();
  const timeval silence{.tv_sec = static_cast<time_t>(std::ceil(limit)), .tv_usec = 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof silence);
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &silence, sizeof silence);
}

core::Descriptor connected(int family, const sockaddr* address, socklen_t length, int& error) {
  core::Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  error = socket.valid() ? connect_within(socket.get(), address, length, kConnectSeconds) : errno;
  if (error != 0) return {};
  const int flags = fcntl(socket.get(), F_GETFL);
  fcntl(socket.get(), F_SETFL, flags & ~O_NONBLOCK);
  return socket;
}

// By TCP, to the port of the offer on a host.
core::Descriptor connect_to_host(const std::string& host, const Offer& offer, std::string& reason) {
  // The port is at the same offset for both families.
  const auto* listening = reinterpret_cast<const sockaddr_in*>(&offer.address);
  const std::string port = std::to_string(ntohs(listening->sin_port));
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_family = offer.address.ss_family == AF_INET ? AF_INET : AF_UNSPEC;
  addrinfo* found = nullptr;
  if (const int failed = getaddrinfo(host.c_str(), port.c_str(), &wanted, &found); failed != 0) {
    reason = fmt::format("{}: {}", host, gai_strerror(failed));
    return {};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    int error = 0;
    core::Descriptor socket = connected(one->ai_family, one->ai_addr, one->ai_addrlen, error);
    if (socket.valid()) return socket;
    reason = fmt::format("{}, port {}: {}", host, port, std::strerror(error));
  }
  return {};
}

// Rank 0: to rank 1.
core::Descriptor go_to_rank_1(comm::Comm& two, const std::string& host, std::string& reason) {
  const auto offer = two.recv<Offer>(1);
  core::Descriptor socket;
  if (offer.error != 0) {
    reason = fmt::format("rank 1 cannot listen: {}", std::strerror(offer.error));
  } else if (host.empty()) {
    int error = 0;
    socket =
        connected(AF_UNIX, reinterpret_cast<const sockaddr*>(&offer.address), offer.length, error);
    if (error != 0) reason = fmt::format("a Unix socket: {}", std::strerror(error));
  } else {
    socket = connect_to_host(host, offer, reason);
  }
  if (socket.valid()) {
    set_options(socket.get(), !host.empty());
    send(socket.get(), &offer.token, sizeof offer.token, MSG_NOSIGNAL);
  }
  two.send(1, static_cast<std::uint8_t>(socket.valid()));
  if (two.recv<std::uint8_t>(1) != 0) return socket;
  if (reason.empty()) reason = "rank 1 did not get the connection";
  return {};
}

// Rank 1: the one who knows the token, among all who come.
core::Descriptor await_rank_0(int listening, bool tcp, std::uint64_t token) {
  const double end = core::tick_clock().now() + kConnectSeconds;
  while (true) {
    const double left = end - core::tick_clock().now();
    if (left < 0 || !ready(listening, POLLIN, left)) return {};
    core::Descriptor socket(accept4(listening, nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.valid() || !ready(socket.get(), POLLIN, 1)) continue;
    set_options(socket.get(), tcp);
    std::uint64_t said = 0;
    if (recv(socket.get(), &said, sizeof said, MSG_WAITALL) == sizeof said && said == token)
      return socket;
  }
}

core::Descriptor be_rank_1(comm::Comm& two, bool tcp) {
  const core::Descriptor listening = listen_somewhere(tcp);
  Offer offer;
  offer.token = draw_token();
  if (!listening.valid() ||
      getsockname(listening.get(), reinterpret_cast<sockaddr*>(&offer.address), &offer.length) != 0)
    offer.error = errno;
  two.send(0, offer);
  core::Descriptor socket;
  if (two.recv<std::uint8_t>(0) != 0) socket = await_rank_0(listening.get(), tcp, offer.token);
  two.send(0, static_cast<std::uint8_t>(socket.valid()));
  return socket;
}

}  // namespace

std::vector<std::uint64_t> ping_pong_sizes(std::uint64_t most) {
  constexpr std::uint64_t kPerturbation = 3;
  std::set<std::uint64_t> sizes;
  for (std::uint64_t bytes = 1; bytes <= most; bytes *= 2) {
    sizes.insert(bytes);
    if (bytes <= kPerturbation) continue;
    sizes.insert(bytes - kPerturbation);
    if (bytes < most) sizes.insert(bytes + kPerturbation);
  }
  return {sizes.begin(), sizes.end()};
}

std::shared_ptr<SocketLink> SocketLink::connect(comm::Comm& two, const std::string& host,
                                                std::string* reason) {
  std::string why;
  core::Descriptor socket =
      two.rank() == 0 ? go_to_rank_1(two, host, why) : be_rank_1(two, !host.empty());
  if (reason != nullptr) *reason = why;
  if (!socket.valid()) return nullptr;
  return std::shared_ptr<SocketLink>(new SocketLink(std::move(socket), two.rank()));
}

void SocketLink::lost(std::string_view how) const {
  throw core::LostError(1 - rank_, 0,
                        fmt::format("rank {} {} while messages go by a socket", 1 - rank_, how));
}

void SocketLink::put(const std::vector<std::byte>& message) {
  for (std::size_t done = 0; done < message.size();) {
    const ssize_t n =
        send(socket_.get(), message.data() + done, message.size() - done, MSG_NOSIGNAL);
    if (n > 0) done += static_cast<std::size_t>(n);
    if (n < 0 && errno != EINTR) lost(std::strerror(errno));
  }
}

void SocketLink::get(std::vector<std::byte>& message) {
  for (std::size_t done = 0; done < message.size();) {
    const ssize_t n = recv(socket_.get(), message.data() + done, message.size() - done, 0);
    if (n > 0) done += static_cast<std::size_t>(n);
    if (n == 0) lost("has closed the connection");
    if (n < 0 && errno != EINTR) lost(errno == EAGAIN ? "is silent" : std::strerror(errno));
  }
}

void SocketLink::round_trips(std::vector<std::byte>& message, std::uint64_t iterations) {
  for (std::uint64_t i = 0; i < iterations; ++i) {
    if (rank_ == 0) put(message);
    get(message);
    if (rank_ == 1) put(message);
  }
}

RankWorkload message_ping_pong(std::size_t bytes) {
  return [bytes](comm::Grid& grid) -> RankWork {
    return [&ranks = grid.all(),
            message = simd::generated_bytes(bytes)](std::uint64_t iterations) mutable {
      if (ranks.rank() > 1) return;
      const int peer = 1 - ranks.rank();
      for (std::uint64_t i = 0; i < iterations; ++i) {
        if (ranks.rank() == 0) ranks.send(peer, message);
        ranks.recv(peer, message);
        if (ranks.rank() == 1) ranks.send(peer, message);
      }
    };
  };
}

RankWorkload socket_ping_pong(std::shared_ptr<SocketLink> link, std::size_t bytes) {
  return [link = std::move(link), bytes](comm::Grid&) -> RankWork {
    if (!link) return {};
    return [link, message = simd::generated_bytes(bytes)](std::uint64_t iterations) mutable {
      link->round_trips(message, iterations);
    };
  };
}

RankWorkload LocalLinks::ping_pong(const std::string& host, std::size_t bytes) {
  return [made = host.empty() ? local_ : tcp_, host, bytes](comm::Grid& grid) -> RankWork {
    if (!made->tried) made->link = SocketLink::connect(grid.all(), host, nullptr);
    made->tried = true;
    return socket_ping_pong(made->link, bytes)(grid);
  };
}

}  // namespace tabane::lab
