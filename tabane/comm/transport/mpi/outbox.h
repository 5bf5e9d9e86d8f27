// Packets, and sends that nobody waits for.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "tabane/comm/transport/mpi/packet.h"

namespace tabane::comm::mpi {

class Engine;

// A send on its own: what it needs lives until it is sent.
struct Orphan {
  MPI_Request request = MPI_REQUEST_NULL;
  int peer = 0;
  std::unique_ptr<Packet> packet = {};
  AlignedBytes elements = {};
  bool is_mark = false;  // complete only when it is received
};

// Ranks are those of the world.
class Outbox {
 public:
  explicit Outbox(Engine& engine);
  // What nobody took stays: MPI may still read it.
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  std::unique_ptr<Packet> take_packet();
  void give_back(std::unique_ptr<Packet> packet);

  bool empty() const { return orphans_.empty(); }
  void adopt(Orphan orphan);
  void progress();

  // MPI takes what it gets until memory ends. So each 128th small message to a rank is a mark, and
  // who has several marks on their way waits with the next send.
  bool next_is_mark(int peer) { return ++of(sent_, peer) % 128 == 0; }
  bool is_far_ahead_of(int peer) { return of(marks_, peer) > 4; }

 private:
  static int& of(std::vector<int>& values, int peer) {
    return values[static_cast<std::size_t>(peer)];
  }
  void bury(Orphan orphan);

  Engine& engine_;
  std::vector<Orphan> orphans_;
  std::vector<int> sent_, marks_;  // by rank
  std::size_t cursor_ = 0;
  std::vector<std::unique_ptr<Packet>> unused_;
};

}  // namespace tabane::comm::mpi
