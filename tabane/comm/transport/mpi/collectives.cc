// MPI's own collectives: the nonblocking ones, because a rank that waits has more to do.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "tabane/comm/transport/mpi/engine.h"
#include "tabane/comm/transport/mpi/outbox.h"

namespace tabane::comm::mpi {
namespace {

// Of the reduction under way: MPI hands on no context.
const Combine* current_combine = nullptr;

constexpr std::size_t kMostElementBytes = 4096;

struct NativeReduction {
  MPI_Datatype type;
  MPI_Op operation;
};

// Not uint8: a bool looks the same, and adds differently. Of unsigned integers the sum only: MPICH
// 4.0 and some later ones, and Open MPI 4.1.2 to 4.1.4, compare some of them as if they were
// signed. No sums of 16 bits or less: the vector code of Open MPI 4.1 takes the largest value where
// they do not fit, and its scalar code, for the last elements, wraps around.
// source: github.com/pmodels/mpich/issues/6083 and 7507, github.com/open-mpi/ompi/issues/10276;
// seen with 4.1.4 (op/avx).
std::optional<MPI_Datatype> type_of(TypeCode code, bool compares) {
  if (code == type_code<std::int32_t>()) return MPI_INT32_T;
  if (code == type_code<std::int64_t>()) return MPI_INT64_T;
  if (compares && code == type_code<std::int8_t>()) return MPI_INT8_T;
  if (compares && code == type_code<std::int16_t>()) return MPI_INT16_T;
  if (compares) return {};
  if (code == type_code<std::uint32_t>()) return MPI_UINT32_T;
  if (code == type_code<std::uint64_t>()) return MPI_UINT64_T;
  if (code == type_code<float>()) return MPI_FLOAT;
  if (code == type_code<double>()) return MPI_DOUBLE;
  if (code == type_code<long double>()) return MPI_LONG_DOUBLE;
  return {};
}

// Returns nothing for what MPI does not do as tabane does. It does not say what min and max make of
// NaN, nor which of 0 and -0 they take.
std::optional<NativeReduction> native_reduction(const Combine& combine) {
  const bool is_sum = combine.operation == Operation::sum;
  const std::optional<MPI_Datatype> type = type_of(combine.type, !is_sum);
  if (!type) return {};
  if (is_sum) return NativeReduction{*type, MPI_SUM};
  if (combine.operation == Operation::min) return NativeReduction{*type, MPI_MIN};
  if (combine.operation == Operation::max) return NativeReduction{*type, MPI_MAX};
  return {};
}

// Where MPI works on the user's bytes: if they are few, on a copy. A collective that is left,
// because a rank is lost, cannot be withdrawn; the copy then stays for whatever MPI does with it.
class MpiBuffer {
 public:
  explicit MpiBuffer(std::span<std::byte> bytes) : users_(bytes) {
    if (bytes.empty() || bytes.size() > kMostCopied) return;
    copy_ = std::make_unique_for_overwrite<std::byte[]>(bytes.size());
    std::ranges::copy(bytes, copy_.get());
  }
  ~MpiBuffer() {
    if (!done_) static_cast<void>(copy_.release());
  }
  // Bytes that MPI only reads.
  explicit MpiBuffer(std::span<const std::byte> bytes)
      : MpiBuffer(std::span<std::byte>(const_cast<std::byte*>(bytes.data()), bytes.size())) {}
  MpiBuffer(const MpiBuffer&) = delete;
  MpiBuffer& operator=(const MpiBuffer&) = delete;

  std::span<std::byte> bytes() const {
    return copy_ ? std::span(copy_.get(), users_.size()) : users_;
  }
  bool is_users() const { return !copy_ && !users_.empty(); }
  // The collective is complete. has_result: else the user's bytes stay as they are.
  void end(bool has_result) {
    if (copy_ && has_result) std::ranges::copy(bytes(), users_.begin());
    done_ = true;
  }

 private:
  static constexpr std::size_t kMostCopied = 16 * 1024;

  std::span<std::byte> users_;
  std::unique_ptr<std::byte[]> copy_;
  bool done_ = false;
};

class MpiCollectives : public NativeCollectives {
 public:
  MpiCollectives(Engine& engine, MPI_Comm comm, int rank, std::span<const int> world_ranks)
      : engine_(engine), comm_(comm), rank_(rank), world_ranks_(world_ranks) {}

  std::size_t most_bytes() const override { return mpi::most_bytes(); }
  void barrier() override {
    run("MPI_Ibarrier", false, [&](MPI_Request* request) { return MPI_Ibarrier(comm_, request); });
  }

  void broadcast(std::span<std::byte> bytes, int root) override {
    std::byte none{};
    if (bytes.empty()) bytes = {&none, 1};
    MpiBuffer place(bytes);
    for (std::span<std::byte> left = place.bytes(); !left.empty();) {
      const std::span<std::byte> piece = left.first(std::min(left.size(), mpi::most_bytes()));
      run("MPI_Ibcast", place.is_users(), [&](MPI_Request* request) {
        return MPI_Ibcast(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, root, comm_,
                          request);
      });
      left = left.subspan(piece.size());
    }
    place.end(rank_ != root);
  }

  bool reduce(std::span<std::byte> values, const Combine& combine, int root) override {
    if (combine.element_bytes > kMostElementBytes) return false;
    const bool mine = rank_ == root;
    in_pieces(values, combine, mine, "MPI_Ireduce", [&](const Piece& piece, MPI_Request* request) {
      return MPI_Ireduce(mine ? MPI_IN_PLACE : piece.start, mine ? piece.start : nullptr,
                         piece.count, piece.type, piece.operation, root, comm_, request);
    });
    return true;
  }

  // MPI does not promise that all ranks get the same bits, but libraries keep it: sums of two do
  // not depend on their order.
  bool all_reduce(std::span<std::byte> values, const Combine& combine) override {
    if (combine.element_bytes > kMostElementBytes) return false;
    in_pieces(values, combine, true, "MPI_Iallreduce",
              [&](const Piece& piece, MPI_Request* request) {
                return MPI_Iallreduce(MPI_IN_PLACE, piece.start, piece.count, piece.type,
                                      piece.operation, comm_, request);
              });
    return true;
  }

  void gather(std::span<const std::byte> block, std::span<std::byte> all, int root, bool) override {
    on_blocks(block, all, "MPI_Igather", block.size(), MPI_Igather, root);
  }

  void scatter(std::span<const std::byte> all, std::span<std::byte> block, int root) override {
    on_blocks(all, block, "MPI_Iscatter", block.size(), MPI_Iscatter, root);
  }

  void all_gather(std::span<const std::byte> block, std::span<std::byte> all) override {
    on_blocks(block, all, "MPI_Iallgather", block.size(), MPI_Iallgather);
  }

  void all_to_all(std::span<const std::byte> out, std::span<std::byte> in) override {
    on_blocks(out, in, "MPI_Ialltoall", out.size() / world_ranks_.size(), MPI_Ialltoall);
  }

 private:
  struct Piece {
    std::byte* start;
    int count;
    MPI_Datatype type;
    MPI_Op operation;
  };

  // on_users_memory: as leave_collective(). start: starts the call on the request it gets, and
  // returns MPI's code.
  template <class Start>
  void run(const char* call, bool on_users_memory, Start&& start) {
    const bool of_world = static_cast<int>(world_ranks_.size()) == engine_.size();
    const WaitTarget awaited{any_source, world_ranks_, of_world ? engine_.next_collective() : 0};
    MPI_Request request = MPI_REQUEST_NULL;
    engine_.require_whole();
    engine_.look_if_late();
    engine_.check(start(&request), call, any_source);
    try {
      engine_.complete(request, awaited);
    } catch (const core::LostError& error) {
      engine_.leave_collective(error, request, on_users_memory);
      throw;
    }
  }

  template <class Start>
  void in_pieces(std::span<std::byte> values, const Combine& combine, bool has_result,
                 const char* call, Start&& start) {
    engine_.require_whole();  // or MPI might go on with a reduction that was left
    if (values.empty()) {
      std::byte none{};
      MpiBuffer place(std::span(&none, 1));
      const Piece nobodys{place.bytes().data(), 1, MPI_BYTE, MPI_BOR};
      run(call, false, [&](MPI_Request* request) { return start(nobodys, request); });
      return place.end(false);
    }
    const std::size_t most_elements =
        std::max<std::size_t>(mpi::most_bytes() / combine.element_bytes, 1);
    const auto native = native_reduction(combine);
    const AtEnd none_is_current([] { current_combine = nullptr; });
    MpiBuffer place(values);
    Piece piece{place.bytes().data(), 0, MPI_DATATYPE_NULL, MPI_OP_NULL};
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
      run(call, place.is_users() || !native,  // MPI would call the operation of a later one
          [&](MPI_Request* request) { return start(piece, request); });
      piece.start += count * combine.element_bytes;
      left -= count;
    }
    place.end(has_result);
    if (!native) MPI_Type_free(&piece.type);
  }

  // Where there are no bytes, one of nobody's is moved: MPI libraries leave out what is empty, and
  // if it is so on some ranks only, their next collective would take what the others have sent in
  // this one. So a rank that has no room for it gets an error, if MPI notices (MPICH does so in
  // broadcasts only). start: MPI's function; root: for one that takes it.
  template <class Start, class... Root>
  void on_blocks(std::span<const std::byte> out, std::span<std::byte> in, const char* call,
                 std::size_t block_bytes, Start start, Root... root) {
    if (block_bytes == 0) {
      std::vector<std::byte> none(2 * world_ranks_.size());
      const std::span<std::byte> both(none);
      return on_blocks(both.first(world_ranks_.size()), both.subspan(world_ranks_.size()), call, 1,
                       start, root...);
    }
    const ByteCount count(block_bytes);
    MpiBuffer from(out), to(in);
    run(call, from.is_users() || to.is_users(), [&](MPI_Request* request) {
      return start(from.bytes().data(), count.count(), count.type(), to.bytes().data(),
                   count.count(), count.type(), root..., comm_, request);
    });
    from.end(false);
    to.end(true);
  }

  Engine& engine_;
  MPI_Comm comm_;
  int rank_;
  std::span<const int> world_ranks_;
};

}  // namespace

// The lower rank's elements come as `in`; MPI wants the result in `inout`.
void apply_current(void* in, void* inout, int* length, MPI_Datatype* /*type*/) {
  if (current_combine == nullptr) return;  // of a reduction that was left, which has no result
  alignas(64) std::array<std::byte, kMostElementBytes> lower;
  const std::size_t bytes = current_combine->element_bytes;
  const std::size_t most = lower.size() / bytes;
  const auto* from = static_cast<const std::byte*>(in);
  auto* upper = static_cast<std::byte*>(inout);
  for (std::size_t left = static_cast<std::size_t>(*length); left > 0;) {
    const std::size_t count = std::min(left, most);
    std::memcpy(lower.data(), from, count * bytes);
    current_combine->apply(lower.data(), upper, count);  // a named operation, which throws nothing
    std::memcpy(upper, lower.data(), count * bytes);
    from += count * bytes;
    upper += count * bytes;
    left -= count;
  }
}

std::unique_ptr<NativeCollectives> make_collectives(Engine& engine, MPI_Comm comm, int rank,
                                                    std::span<const int> world_ranks) {
  return std::make_unique<MpiCollectives>(engine, comm, rank, world_ranks);
}

}  // namespace tabane::comm::mpi
