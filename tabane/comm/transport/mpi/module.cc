// The entries of the module, see mpi_module.h.
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "tabane/comm/transport/mpi/engine.h"
#include "tabane/comm/transport/mpi/library.h"
#include "tabane/comm/transport/mpi/transport.h"
#include "tabane/comm/transport/mpi_module.h"

namespace {

tabane::comm::mpi::MpiTransport& mpi_transport(tabane::comm::Transport* world) {
  return *static_cast<tabane::comm::mpi::MpiTransport*>(world);
}

}  // namespace

const char tabane_mpi_version[] = TABANE_VERSION;

extern "C" tabane::comm::Transport* tabane_mpi_open(double silence_limit_s) {
  using namespace tabane::comm::mpi;
  Library& library = Library::get();
  library.require_permitted();
  auto engine = std::make_shared<Engine>(library, silence_limit_s);
  std::vector<int> all(static_cast<std::size_t>(engine->size()));
  std::iota(all.begin(), all.end(), 0);
  const int rank = engine->rank();
  MPI_Comm comm = engine->library().duplicate(MPI_COMM_WORLD);
  return new MpiTransport(std::move(engine), comm, rank, std::move(all));
}

extern "C" void tabane_mpi_close(tabane::comm::Transport* world) { mpi_transport(world).close(); }

extern "C" void tabane_mpi_fail(tabane::comm::Transport* world, const char* how,
                                const tabane::core::LostError* loss) {
  tabane::comm::mpi::Engine& engine = mpi_transport(world).engine();
  loss == nullptr ? engine.fail(how) : engine.fail(*loss);
}
