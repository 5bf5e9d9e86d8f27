// A receive, from the posting to the last byte.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <span>

#include "tabane/comm/transport/mpi/engine.h"
#include "tabane/comm/transport/mpi/packet.h"
#include "tabane/comm/transport/transport.h"

namespace tabane::comm::mpi {

class Receipt {
 public:
  // Where it comes from.
  struct From {
    Engine* engine;
    MPI_Comm comm;
    std::span<const int> world_ranks;
    int self, source, tag;  // in the group
    bool internal;
    TypeCode type;
  };
  // into: null data and no size if the receipt shall keep the elements itself.
  Receipt(const From& from, std::span<std::byte> into, bool keeps)
      : from_(from), into_(into), keeps_(keeps) {}
  ~Receipt();
  Receipt(const Receipt&) = delete;
  Receipt& operator=(const Receipt&) = delete;

  void post();
  // Instead of post(): the packet has already come.
  void open(std::unique_ptr<Packet> packet, const Arrival& arrival);

  // Makes progress; returns whether all is there.
  bool step();
  void wait();
  Awaited awaited() const { return {peer(), from_.world_ranks}; }
  // Of a complete one. throws: MessageError if it did not fit.
  const Arrival& arrival() const;
  std::span<const std::byte> kept() const { return kept_; }

 private:
  enum class Stage { posted, fetching, complete };
  int peer() const {
    return from_.source == any_source ? any_source
                                      : from_.world_ranks[static_cast<std::size_t>(from_.source)];
  }
  int world_source() const {  // of what has come
    return from_.world_ranks[static_cast<std::size_t>(arrival_.source)];
  }
  void open();
  void cancel();
  void leave_fetch();

  From from_;
  std::span<std::byte> into_;
  bool keeps_;
  Stage stage_ = Stage::posted;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::unique_ptr<Packet> packet_;
  AlignedBytes own_;
  std::span<const std::byte> kept_;
  Arrival arrival_;
  bool fits_ = true;
};

}  // namespace tabane::comm::mpi
