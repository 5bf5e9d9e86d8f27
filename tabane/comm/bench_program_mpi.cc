// tabane_bench_openmpi, tabane_bench_mpich: the MPI that messages are compared with. One of the
// ranks that its launcher has started; rank 0 works on request: see bench/remote.h.
//
// Usage: mpirun -n RANKS tabane_bench_openmpi TURNS_FILE.
#include <mpi.h>

#include <cstdio>
#include <exception>

#include "tabane/comm/bench_work.h"

namespace tabane::bench {
namespace {

class MpiMessages {
 public:
  MpiMessages() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  int rank() const { return rank_; }
  int size() const { return size_; }
  void send(int to, std::span<const std::byte> bytes) {
    MPI_Send(bytes.data(), count(bytes), MPI_BYTE, to, 0, MPI_COMM_WORLD);
  }
  void recv(int from, std::span<std::byte> bytes) {
    MPI_Recv(bytes.data(), count(bytes), MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  void barrier() { MPI_Barrier(MPI_COMM_WORLD); }
  double sum(double value) {
    double result = 0;
    MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return result;
  }
  double non_blocking_sum(double value) {
    double result = 0;
    MPI_Request request;
    MPI_Iallreduce(&value, &result, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return result;
  }
  void all_to_all(std::span<const std::byte> out, std::span<std::byte> in) {
    MPI_Alltoall(out.data(), count(out) / size_, MPI_BYTE, in.data(), count(in) / size_, MPI_BYTE,
                 MPI_COMM_WORLD);
  }
  void broadcast(std::span<std::byte> bytes, int root) {
    MPI_Bcast(bytes.data(), count(bytes), MPI_BYTE, root, MPI_COMM_WORLD);
  }
  void gather(std::span<const std::byte> part, std::span<std::byte> all) {
    MPI_Gather(part.data(), count(part), MPI_BYTE, all.data(), count(part), MPI_BYTE, 0,
               MPI_COMM_WORLD);
  }
  void scatter(std::span<const std::byte> all, std::span<std::byte> part, int root) {
    MPI_Scatter(all.data(), count(part), MPI_BYTE, part.data(), count(part), MPI_BYTE, root,
                MPI_COMM_WORLD);
  }
  void all_gather(std::span<const std::byte> part, std::span<std::byte> all) {
    MPI_Allgather(part.data(), count(part), MPI_BYTE, all.data(), count(part), MPI_BYTE,
                  MPI_COMM_WORLD);
  }
  void reduce_scatter(std::span<const double> values, std::span<double> block) {
    MPI_Reduce_scatter_block(values.data(), block.data(), static_cast<int>(block.size()),
                             MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }

 private:
  static int count(std::span<const std::byte> bytes) { return static_cast<int>(bytes.size()); }

  int rank_ = 0, size_ = 1;
};

int serve_mpi(const std::string& turns_file) {
  MpiMessages messages;
  Turns turns(turns_file, messages.size());
  CommWork work(messages);
  return serve_ranks(turns, messages.rank(), work.work());
}

}  // namespace
}  // namespace tabane::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 2;
  try {
    status = tabane::bench::serve_mpi(argc > 1 ? argv[1] : "");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
  return status;
}
