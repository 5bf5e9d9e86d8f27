// Ping-pongs between ranks 0 and 1 as NetPIPE times them: by messages of comm, and by the sockets
// that MPIs use between machines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/core/file.h"
#include "tabane/lab/campaign/ranks.h"

namespace tabane::lab {

// NetPIPE's sizes: powers of two up to `most` and three bytes less and more.
std::vector<std::uint64_t> ping_pong_sizes(std::uint64_t most);

// A stream between ranks 0 and 1.
class SocketLink {
 public:
  // host: where rank 0 finds rank 1 by TCP; empty: by a Unix socket of one machine.
  // Both ranks call it. Returns null on both, with the reason in *reason, if they cannot be
  // connected within some seconds.
  // Only a peer that knows what the ranks have told each other by `two` is taken for rank 1 or 0.
  static std::shared_ptr<SocketLink> connect(comm::Comm& two, const std::string& host,
                                             std::string* reason);

  // Sends this many bytes from rank 0 to rank 1 and back, `iterations` times. Both ranks call it,
  // and sleep while they wait. throws: core::LostError if the other side has closed it, or is
  // silent for longer than comm::default_silence_limit().
  void round_trips(std::vector<std::byte>& message, std::uint64_t iterations);

 private:
  SocketLink(core::Descriptor socket, int rank) : socket_(std::move(socket)), rank_(rank) {}
  void put(const std::vector<std::byte>& message);
  void get(std::vector<std::byte>& message);
  [[noreturn]] void lost(std::string_view how) const;

  core::Descriptor socket_;
  int rank_;
};

// An iteration is a round trip of a message that each side sends from where it receives, as NetPIPE
// does. Other ranks than 0 and 1 rest.
RankWorkload message_ping_pong(std::size_t bytes);
// The same by a link.
RankWorkload socket_ping_pong(std::shared_ptr<SocketLink> link, std::size_t bytes);

// The same by links that are made where the workload is, once for all sizes: for ranks that are
// forked. It cannot be had where they cannot be connected.
class LocalLinks {
 public:
  RankWorkload ping_pong(const std::string& host, std::size_t bytes);

 private:
  struct Made {
    bool tried = false;
    std::shared_ptr<SocketLink> link;
  };
  std::shared_ptr<Made> tcp_ = std::make_shared<Made>(), local_ = std::make_shared<Made>();
};

}  // namespace tabane::lab
