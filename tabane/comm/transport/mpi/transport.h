// The messages of one group over MPI. It has two communicators, so that any_tag never takes a
// collective's message.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tabane/comm/transport/mpi/collectives.h"
#include "tabane/comm/transport/mpi/engine.h"
#include "tabane/comm/transport/mpi/outbox.h"
#include "tabane/comm/transport/mpi/requests.h"
#include "tabane/comm/transport/transport.h"

namespace tabane::comm::mpi {

class MpiTransport : public Transport {
 public:
  // comm: owned then. world_ranks: of the group's ranks.
  MpiTransport(std::shared_ptr<Engine> engine, MPI_Comm comm, int rank,
               std::vector<int> world_ranks);
  ~MpiTransport() override;

  // Waits until all ranks of the world, whose transport this is, have returned; otherwise as the
  // engine's.
  void close();

  std::string_view name() const override { return "mpi"; }
  int most_tag() const override { return std::min(kMostTag, engine_->most_tag()); }

  void send(int to, const Label& label, std::span<const std::byte> bytes) override;
  Arrival recv(int from, const Label& label, std::span<std::byte> into) override;
  std::unique_ptr<Parcel> recv_parcel(int from, const Label& label) override;
  std::unique_ptr<Pending> isend(int to, const Label& label,
                                 std::span<const std::byte> bytes) override;
  std::unique_ptr<Pending> irecv(int from, const Label& label, std::span<std::byte> into) override;
  bool probe(int from, const Label& label, Arrival& arrival) override;
  void progress() override { engine_->progress(); }
  void wait_until(int peer, const std::function<bool()>& ready) override;
  void enlist(Background& background) override { engine_->backgrounds().enlist(background); }
  void strike(Background& background) override { engine_->backgrounds().strike(background); }
  std::unique_ptr<Transport> make_group(std::span<const int> members,
                                        const MemoryRequest& request) override;
  NativeCollectives* collectives() override { return &collectives_; }
  bool crowded() const override { return engine_->crowded(); }
  void check_alive() override { engine_->check_alive({engine_->rank()}); }
  void abort_job(int code) override;
  void set_phase(const char* text) override { engine_->set_phase(text); }
  std::atomic<const char*>& call() override { return engine_->call(); }

  Engine& engine() { return *engine_; }

 private:
  // A packet that a probe has taken. Older than what MPI has of its source and tag.
  struct Probed {
    std::unique_ptr<Packet> packet;
    Arrival arrival;
  };

  int world_rank(int rank) const { return (*world_ranks_)[static_cast<std::size_t>(rank)]; }
  MPI_Comm comm_of(int tag) const { return tag >= any_tag ? user_ : internal_; }
  void require_tag(int tag) const;
  // Starts to send; returns the request of what is not copied, MPI_REQUEST_NULL if all is.
  MPI_Request start(int to, const Label& label, std::span<const std::byte> bytes);
  PostedReceive::Origin origin(int from, const Label& label) const;
  void begin(PostedReceive& receive, int from, const Label& label);
  std::list<Probed>::iterator find_probed(int from, int tag);

  std::shared_ptr<Engine> engine_;
  MPI_Comm user_, internal_;
  std::shared_ptr<const std::vector<int>> world_ranks_;
  std::list<Probed> probed_;
  MpiCollectives collectives_;
};

}  // namespace tabane::comm::mpi
