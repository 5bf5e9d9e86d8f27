// Messages as they were before programs sent them by themselves: copied into a queue of the system,
// and from there to where the receiver wants them. To compare with.
#pragma once

#include <memory>
#include <vector>

#include "tabane/comm/transport/transport.h"
#include "tabane/core/file.h"

namespace tabane::comm {

// A queue of the kernel for each rank, a pair of sockets. To be made before the ranks are forked.
class SocketQueues {
 public:
  // throws: core::SystemError.
  explicit SocketQueues(int ranks);

  int reading(int rank) const { return queues_[static_cast<std::size_t>(rank)].reading.get(); }
  int writing(int rank) const { return queues_[static_cast<std::size_t>(rank)].writing.get(); }

 private:
  struct Queue {
    core::Descriptor reading, writing;
  };
  std::vector<Queue> queues_;
};

// Returns a transport whose messages go through the queues: "sockets". Its groups share memory as
// those of `world` do. world: of all ranks, which are processes of this machine. queues: outlives
// it. cost of a message: at least two system calls and three copies.
std::unique_ptr<Transport> socket_transport(std::unique_ptr<Transport> world,
                                            const SocketQueues& queues);

// Returns a transport that copies messages to a buffer before it sends them, as MPI_Bsend does:
// "buffered".
std::unique_ptr<Transport> buffered_transport(std::unique_ptr<Transport> below);

}  // namespace tabane::comm
