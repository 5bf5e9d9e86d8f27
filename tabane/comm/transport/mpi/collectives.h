// MPI's own collectives: the nonblocking ones, because a rank that waits has more to do.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>

#include "tabane/comm/transport/mpi/engine.h"
#include "tabane/comm/transport/mpi/outbox.h"
#include "tabane/comm/transport/transport.h"

namespace tabane::comm::mpi {

// Applies the operation of the reduction under way: the user's function of an MPI_Op.
void apply_current(void* in, void* inout, int* length, MPI_Datatype* type);

class MpiCollectives : public NativeCollectives {
 public:
  // world_ranks: of the group, and must outlive this.
  MpiCollectives(Engine& engine, MPI_Comm comm, int rank, std::span<const int> world_ranks)
      : engine_(engine), comm_(comm), rank_(rank), world_ranks_(world_ranks) {}

  std::size_t most_bytes() const override { return mpi::most_bytes(); }
  void barrier() override;
  void broadcast(std::span<std::byte> bytes, int root) override;
  bool reduce(std::span<std::byte> values, const Combine& combine, int root) override;
  bool all_reduce(std::span<std::byte> values, const Combine& combine) override;
  void gather(std::span<const std::byte> block, std::span<std::byte> all, int root,
              bool cyclic) override;
  void scatter(std::span<const std::byte> all, std::span<std::byte> block, int root) override;
  void all_gather(std::span<const std::byte> block, std::span<std::byte> all) override;
  void all_to_all(std::span<const std::byte> out, std::span<std::byte> in) override;

 private:
  struct Piece {
    std::byte* start;
    int count;
    MPI_Datatype type;
    MPI_Op operation;
  };

  // What MPI gets of equal blocks.
  struct BlockBuffers {
    const std::byte* out;
    std::byte* in;
    int count;
    MPI_Datatype type;
  };

  // on_users_memory: as leave_collective(). start: starts the call on the request it gets, and
  // returns MPI's code.
  template <class Start>
  void run(const char* call, bool on_users_memory, Start&& start);
  template <class Start>
  void in_pieces(std::span<std::byte> values, const Combine& combine, bool has_result,
                 const char* call, Start&& start);
  template <class Start>
  void on_blocks(std::span<const std::byte> out, std::span<std::byte> in, const char* call,
                 std::size_t block_bytes, Start&& start);

  Engine& engine_;
  MPI_Comm comm_;
  int rank_;
  std::span<const int> world_ranks_;
};

}  // namespace tabane::comm::mpi
