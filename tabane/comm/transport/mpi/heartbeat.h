// Signs of life between the hosts of a world, outside MPI: where a link is cut, TCP tries again for
// many minutes, and MPI says nothing. The first rank of each host sends small datagrams (UDP) to
// all ranks of other hosts; a thread of each rank sends and listens, so a rank may compute as long
// as it likes.
//
//   host a  rank 0 ──► ranks 2, 3          silent for the limit ──► the rank's next call throws
//           rank 1                                              ──► 5 s later: a rank that makes
//   host b  rank 2 ──► ranks 0, 1                                   no call is killed
//           rank 3
//
// A host of which nothing was ever heard, as behind a firewall, is not watched.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "tabane/core/file.h"

namespace tabane::comm::mpi {

// What a rank tells the others, as bytes.
struct Whereabouts {
  static constexpr std::size_t kMostAddresses = 8;
  std::uint64_t key = 0;  // which datagrams to it bear
  double limit_s = 0;     // of silence; 0: watches nobody
  std::array<char, 64> host{};
  std::array<std::uint32_t, kMostAddresses> addresses{};  // IPv4, in network order; 0: none
  std::uint16_t port = 0;                                 // in network order
};

class Heartbeat {
 public:
  // Opens a socket. host: as the user knows it. also_loopback: for ranks that only play hosts. One
  // that cannot open it is never heard, and so not watched.
  Heartbeat(const std::string& host, double limit_s, bool also_loopback);
  // Ends the thread.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  const Whereabouts& whereabouts() const { return own_; }
  // all: of all ranks, in their order. Watches by the shortest limit of all.
  void start(std::vector<Whereabouts> all, int rank);

  static constexpr int kNobody = -1;
  // The first rank of a host that is silent, or kNobody. cost: a load.
  int silent_rank() const { return silent_.load(std::memory_order_relaxed); }
  std::string host_of(int rank) const;
  std::chrono::duration<double> limit() const { return limit_; }
  // The rank knows that the world has ended, and is not killed.
  void calm_down() { calm_.store(true, std::memory_order_relaxed); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Datagram {
    std::uint64_t key = 0;
    std::int32_t rank = 0;
    std::int32_t reserved = 0;
  };
  struct Host {
    int first_rank = 0;
    Clock::time_point heard = {};  // {}: never
  };

  void run();
  void send() const;
  void listen_until(Clock::time_point until);
  void take(const Datagram& datagram);
  void look_for_silence();

  core::Descriptor socket_, stop_;  // stop_: an eventfd
  Whereabouts own_;
  std::vector<Whereabouts> all_;
  int rank_ = 0;
  std::vector<int> to_;      // ranks that hear of this one
  std::vector<Host> hosts_;  // the others, in the order of ranks
  std::chrono::duration<double> limit_{}, interval_{};
  std::atomic<int> silent_ = kNobody;
  std::atomic<bool> calm_ = false;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

}  // namespace tabane::comm::mpi
