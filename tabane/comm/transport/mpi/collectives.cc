#include "tabane/comm/transport/mpi/collectives.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <utility>

namespace tabane::comm::mpi {
namespace {

// Of the reduction under way: MPI hands on no context.
const Combine* current_combine = nullptr;
std::exception_ptr current_error;  // of the operation, which must not pass through MPI

constexpr std::size_t kMostElementBytes = 4096;

}  // namespace

// The lower rank's elements come as `in`; MPI wants the result in `inout`.
void apply_current(void* in, void* inout, int* length, MPI_Datatype* /*type*/) {
  alignas(64) std::array<std::byte, kMostElementBytes> lower;
  const std::size_t bytes = current_combine->element_bytes;
  const std::size_t most = lower.size() / bytes;
  const auto* from = static_cast<const std::byte*>(in);
  auto* upper = static_cast<std::byte*>(inout);
  for (std::size_t left = static_cast<std::size_t>(*length); left > 0;) {
    const std::size_t count = std::min(left, most);
    std::memcpy(lower.data(), from, count * bytes);
    try {
      current_combine->apply(lower.data(), upper, count);
    } catch (...) {
      if (!current_error) current_error = std::current_exception();
    }
    std::memcpy(upper, lower.data(), count * bytes);
    from += count * bytes;
    upper += count * bytes;
    left -= count;
  }
}

// One that is left, because a rank is lost, has a moment for what is on its way to this rank's
// memory. Nothing comes later: who joins late looks for notices first.
template <class Start>
void MpiCollectives::run(const char* call, Start&& start) {
  const bool of_world = static_cast<int>(world_ranks_.size()) == engine_.size();
  const Awaited awaited{any_source, world_ranks_, of_world ? engine_.next_collective() : 0};
  MPI_Request request = MPI_REQUEST_NULL;
  engine_.require_whole();
  engine_.look_if_late();
  engine_.check(start(&request), call, any_source);
  try {
    engine_.complete(request, awaited);
  } catch (const core::LostError& error) {
    engine_.break_off(error);
    engine_.settle(request);
    throw;
  }
}

template <class Start>
void MpiCollectives::in_pieces(std::span<std::byte> values, const Combine& combine,
                               const char* call, Start&& start) {
  const std::size_t most_elements = std::max<std::size_t>(most_bytes() / combine.element_bytes, 1);
  const auto native = engine_.library().operations().find(combine.type, combine.operation);
  Piece piece{values.data(), 0, MPI_DATATYPE_NULL, MPI_OP_NULL};
  if (native) {
    piece.type = native->type;
    piece.operation = native->operation;
  } else {
    MPI_Type_contiguous(static_cast<int>(combine.element_bytes), MPI_BYTE, &piece.type);
    MPI_Type_commit(&piece.type);
    piece.operation = engine_.user_operation();
    current_combine = &combine;
  }
  for (std::size_t left = values.size() / combine.element_bytes; left > 0;) {
    const std::size_t count = std::min(left, most_elements);
    piece.count = static_cast<int>(count);
    run(call, [&](MPI_Request* request) { return start(piece, request); });
    piece.start += count * combine.element_bytes;
    left -= count;
  }
  if (!native) MPI_Type_free(&piece.type);
  if (current_error) std::rethrow_exception(std::exchange(current_error, nullptr));
}

void MpiCollectives::barrier() {
  run("MPI_Ibarrier", [&](MPI_Request* request) { return MPI_Ibarrier(comm_, request); });
}

void MpiCollectives::broadcast(std::span<std::byte> bytes, int root) {
  while (!bytes.empty()) {
    const std::span<std::byte> piece = bytes.first(std::min(bytes.size(), most_bytes()));
    run("MPI_Ibcast", [&](MPI_Request* request) {
      return MPI_Ibcast(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, root, comm_,
                        request);
    });
    bytes = bytes.subspan(piece.size());
  }
}

bool MpiCollectives::reduce(std::span<std::byte> values, const Combine& combine, int root) {
  if (combine.element_bytes > kMostElementBytes) return false;
  in_pieces(values, combine, "MPI_Ireduce", [&](const Piece& piece, MPI_Request* request) {
    const bool mine = rank_ == root;
    return MPI_Ireduce(mine ? MPI_IN_PLACE : piece.start, mine ? piece.start : nullptr, piece.count,
                       piece.type, piece.operation, root, comm_, request);
  });
  return true;
}

// MPI does not promise that all ranks get the same bits. Sums of two do not depend on their order
// and come out alike; which of -0.0, 0.0 and NaN min and max prefer may, so one rank decides.
bool MpiCollectives::all_reduce(std::span<std::byte> values, const Combine& combine) {
  if (combine.element_bytes > kMostElementBytes) return false;
  const bool is_floating = combine.type.code >> 8 == 3;
  if (is_floating && combine.operation != Operation::sum) {
    reduce(values, combine, 0);
    broadcast(values, 0);
    return true;
  }
  in_pieces(values, combine, "MPI_Iallreduce", [&](const Piece& piece, MPI_Request* request) {
    return MPI_Iallreduce(MPI_IN_PLACE, piece.start, piece.count, piece.type, piece.operation,
                          comm_, request);
  });
  return true;
}

void MpiCollectives::gather(std::span<const std::byte> block, std::span<std::byte> all, int root) {
  const ByteCount count(block.size());
  run("MPI_Igather", [&](MPI_Request* request) {
    return MPI_Igather(block.data(), count.count(), count.type(), all.data(), count.count(),
                       count.type(), root, comm_, request);
  });
}

void MpiCollectives::scatter(std::span<const std::byte> all, std::span<std::byte> block, int root) {
  const ByteCount count(block.size());
  run("MPI_Iscatter", [&](MPI_Request* request) {
    return MPI_Iscatter(all.data(), count.count(), count.type(), block.data(), count.count(),
                        count.type(), root, comm_, request);
  });
}

void MpiCollectives::all_gather(std::span<const std::byte> block, std::span<std::byte> all) {
  const ByteCount count(block.size());
  run("MPI_Iallgather", [&](MPI_Request* request) {
    return MPI_Iallgather(block.data(), count.count(), count.type(), all.data(), count.count(),
                          count.type(), comm_, request);
  });
}

void MpiCollectives::all_to_all(std::span<const std::byte> out, std::span<std::byte> in) {
  const ByteCount count(out.size() / world_ranks_.size());
  run("MPI_Ialltoall", [&](MPI_Request* request) {
    return MPI_Ialltoall(out.data(), count.count(), count.type(), in.data(), count.count(),
                         count.type(), comm_, request);
  });
}

}  // namespace tabane::comm::mpi
