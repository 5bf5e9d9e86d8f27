#include "tabane/comm/launch.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>

#include "tabane/comm/collective/choice.h"
#include "tabane/comm/collective/group.h"
#include "tabane/comm/transport/mpi_module.h"
#include "tabane/comm/transport/shm/world.h"
#include "tabane/comm/transport/sim/sim_transport.h"
#include "tabane/core/binding.h"
#include "tabane/team/job.h"
#include "tabane/team/places.h"
#include "tabane/team/team.h"

namespace tabane::comm {
namespace {

constexpr int kMostRanks = 4096;

using Function = std::function<void(Comm&)>;

// How collectives of all ranks go about, and on what transport.
struct Collectives {
  std::shared_ptr<const ChoiceTable> choice;
  bool checked = false;
  const decltype(LaunchOptions::put_on_top)& put_on_top;

  Comm world_on(std::unique_ptr<Transport> transport) const {
    Comm comm(put_on_top ? put_on_top(std::move(transport)) : std::move(transport), choice);
    if (checked) comm.check_collectives(true);
    return comm;
  }
};

bool are_checked_by_environment() {
  const char* const text =
      std::getenv("TABANE_CHECK_COLLECTIVES");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return text != nullptr && *text != '\0' && std::string_view(text) != "0";
}

void check_ranks(int ranks) {
  if (ranks >= 0 && ranks <= kMostRanks) return;
  throw core::UsageError("ranks = {} cannot be: give 1 to {}, or 0 for one a PU", ranks,
                         kMostRanks);
}

void check_grid(int ranks, GridShape grid) {
  if (grid != GridShape{}) fit_grid(ranks, grid);
}

// What a rank threw.
struct Thrown {
  std::string text;
  bool is_usage_error = false;
};

Thrown current_exception() {
  try {
    throw;
  } catch (const core::UsageError& error) {
    return {error.what(), true};
  } catch (const std::exception& error) {
    return {error.what()};
  } catch (...) {
    return {"an exception that is not a std::exception"};
  }
}

// For the caller: an impossible request stays one.
[[noreturn]] void throw_of_rank(std::size_t rank, const Thrown& thrown) {
  const std::string text = fmt::format("rank {}: {}", rank, thrown.text);
  if (thrown.is_usage_error) throw core::UsageError(text);
  throw core::Error(text);
}

// The failure of the first rank is the one to be reported: those of others are its consequences,
// and they end in peace.
void live(shm::World& world, int rank, const Collectives& collectives, const Function& f) {
  world.enter(rank);
  std::optional<Comm> comm;
  try {
    comm.emplace(
        collectives.world_on(shm::make_shm_transport(world, rank, board_request(world.ranks()))));
    f(*comm);
    comm.reset();
    world.leave(rank);
  } catch (...) {
    const Thrown thrown = current_exception();
    if (thrown.is_usage_error) world.tell_usage_error(rank);
    world.fail(rank, getpid(), "threw: " + thrown.text);
    if (world.failed_rank() == rank) throw;
  }
}

// Tells the other ranks. Perhaps in exit() or in a handler of SIGCHLD: no allocation, no exception.
void tell_loss(void* world, const team::Loss& loss) {
  std::array<char, 128> text;
  char* end = text.data();
  const auto say = [&]<class... T>(fmt::format_string<const T&...> format, const T&... values) {
    const auto left = static_cast<std::size_t>(text.end() - end);
    end = fmt::format_to_n(end, left, format, values...).out;
  };
  if (loss.by_signal) {
    say("killed by signal {}", loss.code);
    if (const char* const name = sigdescr_np(loss.code)) say(" ({})", name);
  } else if (loss.code == team::kEndUnknown) {
    say("ended, and another wait has taken how");
  } else {
    say("exited with status {}", loss.code);
  }
  static_cast<shm::World*>(world)->fail(loss.process, loss.pid, {text.data(), end});
}

std::string what_rank_threw(const team::TaskError& error) {
  const std::string prefix = team::TaskError(error.task(), "").what();
  return std::string(error.what()).substr(prefix.size());
}

void throw_if_aborted(const shm::World& world) {
  if (const std::optional<int> code = world.abort_code()) {
    throw AbortError(world.failed_rank(), *code);
  }
}

void launch_shm(const LaunchOptions& options, const Collectives& collectives, const Function& f) {
  const int ranks = ranks_on_shm(options);
  check_grid(ranks, options.grid);
  const shm::MemoryPlan plan = shm::plan_memory(ranks, options.message_bytes);
  shm::require_memory(plan);
  if (options.show_placement) {
    options.show_placement(team::plan_places(options.placement, ranks, 1));
  }
  shm::World world(plan, team::busy_pus());
  const team::Job job{.once_per_worker = true,
                      .do_tasks = [&](team::Progress& at, std::size_t rank, std::size_t) {
                        if (at.begins(rank)) live(world, static_cast<int>(rank), collectives, f);
                      }};
  try {
    team::run_job(job, {.processes = ranks,
                        .forked = ranks > 1,
                        .placement = options.placement,
                        .fixed_places = true,
                        .loss_listener = team::LossListener{tell_loss, &world}});
  } catch (const team::TaskError& error) {
    throw_if_aborted(world);
    throw_of_rank(error.task(), {what_rank_threw(error), world.failed_by_usage()});
  } catch (const core::LostError&) {
    throw_if_aborted(world);
    if (world.failed()) world.throw_failed();
    throw;
  }
}

// Where MPI's launcher has put the ranks; complete on rank 0. PUs are those of a rank's own host.
core::Placement placement_under_mpi(Comm& comm) {
  core::Placement all{.processes = comm.size(), .remark = "The MPI launcher has placed the ranks."};
  if (comm.rank() != 0) {
    comm.send(0, core::thread_binding());
    return all;
  }
  all.places.push_back({0, 0, core::thread_binding()});
  for (int rank = 1; rank < comm.size(); ++rank) {
    const View<unsigned> pus = comm.recv_view<unsigned>(rank);
    all.places.push_back({rank, 0, {pus.begin(), pus.end()}});
  }
  return all;
}

void launch_mpi(const LaunchOptions& options, const Collectives& collectives, const Function& f) {
  std::unique_ptr<MpiWorld> opened = open_mpi_world(silence_limit(options.silence_limit_s));
  MpiWorld& world = *opened;
  if (options.ranks != 0 && options.ranks != world.size()) {
    throw core::UsageError(
        "ranks = {} cannot be where MPI has {}: give 0, or start them with mpirun -n {}",
        options.ranks, world.size(), options.ranks);
  }
  check_grid(world.size(), options.grid);
  Comm comm = collectives.world_on(std::move(opened));
  try {
    if (options.show_placement) {
      const core::Placement placement = placement_under_mpi(comm);
      if (comm.rank() == 0) options.show_placement(placement);
    }
    f(comm);
    world.close();
  } catch (const core::LostError& error) {
    world.fail("", &error);
    throw;
  } catch (...) {
    const Thrown thrown = current_exception();
    world.fail("threw: " + thrown.text);
    throw_of_rank(static_cast<std::size_t>(comm.rank()), thrown);
  }
}

void launch_simulated(const LaunchOptions& options, const Collectives& collectives,
                      const Function& f) {
  if (is_one_of_several()) {
    throw core::UsageError("a simulated machine is one process: start it without an MPI launcher");
  }
  sim::Machine machine = sim::machine_named(options.machine, options.ranks);
  sim::scale(machine, options.machine_changes);
  check_grid(machine.ranks(), options.grid);
  int failed = -1;
  try {
    sim::run(
        machine,
        [&](int, std::unique_ptr<Transport> transport) {
          Comm comm = collectives.world_on(std::move(transport));
          // Also in debug builds only if it is asked for: the messages that compare calls cost
          // simulated time.
          comm.check_collectives(collectives.checked);
          f(comm);
        },
        failed);
  } catch (const AbortError&) {
    throw;
  } catch (...) {
    if (failed < 0) throw;
    throw_of_rank(static_cast<std::size_t>(failed), current_exception());
  }
}

std::shared_ptr<const ChoiceTable> choice_of(const LaunchOptions& options) {
  if (!options.choice_file.empty()) return ChoiceTable::read(options.choice_file);
  if (options.choice_rules.empty()) return nullptr;
  return std::make_shared<const ChoiceTable>(
      ChoiceTable::parse(options.choice_rules, "LaunchOptions::choice_rules"));
}

}  // namespace

TransportKind detect_transport() {
  return mpi_launcher() ? TransportKind::mpi : TransportKind::shm;
}

TransportKind transport_of(const LaunchOptions& options) {
  return options.transport == TransportKind::automatic ? detect_transport() : options.transport;
}

int ranks_on_shm(const LaunchOptions& options) {
  if (options.ranks > 0) return options.ranks;
  return std::min(static_cast<int>(team::known_topology().pus().size()), kMostRanks);
}

bool is_one_of_several() {
  const std::optional<MpiLauncher> launcher = mpi_launcher();
  return launcher && launcher->ranks != 1;
}

void require_connected_tasks() {
  if (const std::string complaint = complaint_about_task(); !complaint.empty()) {
    throw core::UsageError(complaint);
  }
}

std::optional<int> ranks_on_this_host() {
  const std::optional<MpiLauncher> launcher = mpi_launcher();
  if (!launcher) return 1;
  const int ranks = launcher->ranks_here > 0 ? launcher->ranks_here : launcher->ranks;
  return ranks > 0 ? std::optional(ranks) : std::nullopt;
}

double default_silence_limit() { return silence_limit(std::nullopt); }

void launch(const LaunchOptions& options, const std::function<void(Comm&)>& f) {
  check_ranks(options.ranks);
  if (options.ranks > 0) check_grid(options.ranks, options.grid);
  const Collectives collectives{choice_of(options),
                                options.check_collectives || are_checked_by_environment(),
                                options.put_on_top};
  if (!options.machine.empty()) {
    launch_simulated(options, collectives, f);
  } else if (transport_of(options) == TransportKind::mpi) {
    launch_mpi(options, collectives, f);
  } else {
    launch_shm(options, collectives, f);
  }
}

}  // namespace tabane::comm
