// Messages and collectives: what they cost against the machine's limits and two MPIs.
#include "bench/bench.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/command.h"
#include "bench/remote.h"
#include "tabane/comm/bench_work.h"
#include "tabane/comm/transport/shm/world.h"
#include "tabane/core/binding.h"
#include "tabane/core/error.h"
#include "tabane/core/helper_process.h"
#include "tabane/core/temporary_file.h"
#include "tabane/core/topology.h"
#include "tabane/core/units.h"

namespace tabane::bench {
namespace {

std::string on_two_cores(const std::string& what, int ranks) {
  return fmt::format("{}, {} ranks on 2 cores", what, ranks);
}

constexpr std::uint64_t kTrialCount = 3;
constexpr double kTrialSeconds = 5, kStartSeconds = 30;

// Some ranks of one contender. Who cannot be started, or needs more than its time for a trial,
// takes part no more.
class Ranks {
 public:
  // throws: core::Error if they cannot be started.
  Ranks(std::string name, const Command& command, const std::string& version)
      : name_(std::move(name)),
        how_(started_as(command, version)),
        remote_(std::make_unique<Remote>(name_, command, kStartSeconds)) {}
  Ranks(std::string name, std::string missing)
      : name_(std::move(name)), missing_(std::move(missing)) {}

  const std::string& name() const { return name_; }
  Contender contender(const std::string& name, const std::string& verb, double amount,
                      double target) {
    Contender contender{.name = name, .work = {}, .amount = amount, .target = target};
    if (missing_.empty()) try_out(verb);
    contender.missing = missing_;
    if (missing_.empty()) contender.how = fmt::format("{}, asked for {}", how_, verb);
    if (missing_.empty()) contender.work = remote_->work(verb);
    return contender;
  }
  std::uint64_t ask(const std::string& verb) { return remote_->ask(verb); }

 private:
  void try_out(const std::string& verb) {
    try {
      remote_->request(verb, kTrialCount);
      if (remote_->replies_within(kTrialSeconds)) {
        remote_->reply();
        return;
      }
      missing_ = fmt::format("{} x {} took more than {} s", kTrialCount, verb, kTrialSeconds);
    } catch (const core::Error& error) {
      missing_ = error.what();
    }
    remote_.reset();
  }

  std::string name_, missing_, how_;
  std::unique_ptr<Remote> remote_;
};

// How its own users would start an MPI: one rank a core, or, if there are more ranks than cores,
// unbound and giving way to each other.
struct Mpi {
  std::string name, program;
  Command launcher, one_a_core, crowded;
};

const std::array<Mpi, 2> kMpis{
    {{"Open MPI",
      "tabane_bench_openmpi",
      {"mpirun.openmpi", "--allow-run-as-root", "--mca", "pml", "ob1", "--mca", "btl",
       "vader,self"},
      {"--bind-to", "core"},
      {"--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"}},
     {"MPICH",
      "tabane_bench_mpich",
      {"mpirun.mpich"},
      {"-bind-to", "core"},
      {"-bind-to", "none", "-genv", "MPIR_CVAR_POLLS_BEFORE_YIELD", "1"}}}};

// All contenders, with as many ranks each on the same two cores. They sleep while it is not their
// turn.
class Field {
 public:
  Field(int ranks, std::array<unsigned, 2> pus, const std::string& directory)
      : ranks_(ranks),
        scratch_("tabane-bench", directory),
        bound_(pus),
        ours_("tabane",
              Command{beside_this_program("tabane_bench_comm"), std::to_string(ranks),
                      turns_file("tabane")},
              "this build") {
    for (const Mpi& mpi : kMpis) mpis_.push_back(start(mpi));
  }

  // throws: core::Error if tabane itself does not work in its time.
  Contender ours(const std::string& name, const std::string& verb, double amount,
                 double target = 0) {
    Contender contender = ours_.contender(name, verb, amount, target);
    if (!contender.missing.empty()) throw core::Error("tabane_bench_comm: " + contender.missing);
    return contender;
  }
  std::uint64_t ask_ours(const std::string& verb) { return ours_.ask(verb); }
  // target: of Open MPI. MPICH is shown, too.
  void add_mpis(Question& question, const std::string& verb, double amount, double target) {
    for (std::size_t i = 0; i < kMpis.size(); ++i) {
      const double wanted = i == 0 ? target : 0;
      question.peers.push_back(mpis_[i].contender(mpis_[i].name(), verb, amount, wanted));
    }
  }

 private:
  Ranks start(const Mpi& mpi) {
    if (!in_path(mpi.launcher[0])) return {mpi.name, "no " + mpi.launcher[0] + " in PATH"};
    try {
      Command command = mpi.launcher;
      const Command& more = ranks_ > 2 ? mpi.crowded : mpi.one_a_core;
      command.insert(command.end(), more.begin(), more.end());
      const Command program{"-n", std::to_string(ranks_), beside_this_program(mpi.program),
                            turns_file(mpi.program)};
      command.insert(command.end(), program.begin(), program.end());
      return {mpi.name, command, version_said_by(mpi.launcher[0] + " --version")};
    } catch (const core::Error& error) {  // not built, or it has failed
      return {mpi.name, std::string(error.what())};
    }
  }

  std::string turns_file(const std::string& name) {
    const std::filesystem::path file = scratch_ / name;
    core::write_file(file, std::string(Turns::kFileBytes, '\0'));
    return file.string();
  }

  int ranks_;
  core::ScratchFolder scratch_;
  core::ScopedBinding bound_;  // for those started here
  Ranks ours_;
  std::vector<Ranks> mpis_;  // as kMpis
};

class CommTopic {
 public:
  CommTopic(Panel& panel, std::array<unsigned, 2> pus) : panel_(panel), pus_(pus) {}

  void ask_all() {
    constexpr double kOverOpenMpi[] = {1 / 0.6, 1.5, 5, 2.5, 3, 4, 1.3, 1.7};
    for (std::size_t i = 0; i < std::size(kPingPongBytes); ++i)
      ask_half_round_trip(kPingPongBytes[i], "", kOverOpenMpi[i]);
    // As most programs send: in the messages above nothing changes, so that a single copy by the
    // kernel, as Open MPI's, reads from its own cache.
    for (const auto& [bytes, target] :
         {std::pair{4 * 1024, 2.0}, {16 * 1024, 2.0}, {64 * 1024, 2.0}, {256 * 1024, 1.5}})
      ask_half_round_trip(static_cast<std::size_t>(bytes), "-anew", target);
    // The receiver reads the message where it is; an MPI has to copy it.
    for (std::size_t i = 1; i < std::size(kPingPongBytes); ++i) {
      const std::size_t bytes = kPingPongBytes[i];
      ask("half round trip, view of " + core::format_bytes(bytes), 2,
          {fmt::format("view-{}", bytes), 2}, {},
          {fmt::format("ping-pong-{}", bytes), kOverOpenMpi[i]});
    }
    ask_view();
    ask_idle();
    for (const int ranks : {2, 8, 16}) {
      ask_collective("barrier", "barrier", ranks);
      ask_collective("all-reduce of 8 B", "sum", ranks);
      ask_collective("broadcast of 4 KiB", "broadcast", ranks);
      if (ranks > 2) ask_beside_busy_program(ranks);
      if (ranks < 16) ask_collectives_of_few(ranks);
    }
    for (const auto& [ranks, bytes] : {std::pair{4, 1024 * 1024}, {3, 8 * 1024 * 1024}}) {
      const std::string verb = fmt::format("all-to-all-{}", bytes);
      ask(on_two_cores(
              "all-to-all of " + core::format_bytes(static_cast<std::size_t>(bytes)) + " a pair",
              ranks),
          ranks, {verb}, {}, {verb, 1.1});
    }
    field_.reset();
    tell_memory();
  }

 private:
  // Of this many ranks; those of the question before are kept if there are as many.
  Field& field(int ranks) {
    if (ranks != field_ranks_) {
      field_.reset();
      field_ = std::make_unique<Field>(ranks, pus_, panel_.settings().directory);
      field_ranks_ = ranks;
    }
    return *field_;
  }

  // A request takes some wake-ups, and more with a launcher between, so that many turns share one.
  core::MeasureOptions options() const {
    return {.budget_seconds = panel_.settings().quick ? 0.25 : 2,
            .min_epochs = panel_.settings().quick ? 6 : 21,
            .min_epoch_seconds = 0.02};
  }

  // A contender of ours beside the one that is asked for.
  struct Rival {
    std::string name, verb;
    double target = 0;
  };
  // What all contenders do when they are asked for a verb: `amount` of the unit each time.
  struct Asked {
    std::string verb;
    double amount = 1;
    const char* unit = "1/s";
  };
  // mpis: their verb, empty: they are not asked, and the target of Open MPI.
  void ask(const std::string& name, int ranks, const Asked& asked,
           const std::vector<Rival>& rivals = {}, const std::pair<std::string, double>& mpis = {}) {
    if (!panel_.wants(name)) return;
    Field& all = field(ranks);
    const auto ours = [&](const std::string& who, const std::string& verb, double target) {
      return all.ours(who, verb, asked.amount, target);
    };
    Question question{name, asked.unit, ours("", asked.verb, 0), {}, options()};
    for (const Rival& one : rivals) {
      question.peers.push_back(ours(one.name, one.verb, one.target));
    }
    if (!mpis.first.empty()) all.add_mpis(question, mpis.first, asked.amount, mpis.second);
    panel_.ask(question);
  }

  // how: "", or "-anew": the sender writes each message before it sends it.
  void ask_half_round_trip(std::size_t bytes, const std::string& how, double target) {
    const auto verb = [&](const char* what) { return fmt::format("{}{}-{}", what, how, bytes); };
    std::vector<Rival> limits{{"two bare flags in shared memory", "flags", 1 / 1.6}};
    if (bytes > 8) {
      limits = {{"two copies by hand through shared memory", verb("two-copies"), 0.6},
                {"one copy by hand, the kernel's", verb("one-copy")}};
    }
    ask(fmt::format("half round trip, {}{}", core::format_bytes(bytes),
                    how.empty() ? "" : " written anew"),
        2, {verb("ping-pong"), 2}, limits, {verb("ping-pong"), target});
  }

  void ask_view() {
    for (const auto& [use, what, target] :
         {std::tuple{"", "", 1.3}, std::tuple{"-and-use", " and sum", 0.0}}) {
      ask(fmt::format("half round trip, 32 KiB, view{}", what), 2, {fmt::format("view{}", use), 2},
          {{fmt::format("recv into a buffer{}", what), fmt::format("recv{}", use), target}});
    }
  }

  void ask_idle() {
    const std::string name = "waiting rank, from 100 ms on";
    if (!panel_.wants(name)) return;
    std::vector<double> percents;
    for (int i = 0; i < (panel_.settings().quick ? 1 : 5); ++i) {
      percents.push_back(1e-4 * static_cast<double>(field(2).ask_ours("idle")));
    }
    panel_.tell({.question = name,
                 .unit = "%",
                 .figure = "CPU time",
                 .value = core::median(percents),
                 .limit = 1,
                 .samples = percents});
  }

  void ask_collective(const std::string& what, const std::string& verb, int ranks) {
    std::vector<Rival> limits;
    if (ranks > 2) {
      limits = {{fmt::format("each of {} ranks yields once", ranks), "switches", 1 / 3.0}};
    }
    ask(on_two_cores(what, ranks), ranks, {verb}, limits, {verb, ranks > 2 ? 2 : 1 / 0.7});
  }

  void ask_beside_busy_program(int ranks) {
    for (const auto& [what, verb] :
         {std::pair{"barrier", "barrier"}, {"all-reduce of 8 B", "sum"}}) {
      const std::string name = on_two_cores(what, ranks) + " beside one busy program";
      if (!panel_.wants(name)) continue;
      field(ranks);  // starts before the program does
      core::HelperProcess busy({.name = "sh", .command = shell("while :; do :; done")});
      ask(name, ranks, {verb}, {}, {verb, 5});
      busy.end_within(0);
    }
  }

  void ask_collectives_of_few(int ranks) {
    if (ranks == 8) {
      ask(fmt::format("gather of {} x 64 KiB", ranks), ranks,
          {"gather", ranks * 64.0 * 1024, "B/s"},
          {{"asking one rank after the other", "polling", 2}}, {"gather", 1});
    }
    for (const std::string verb : {"scatter", "all-gather", "reduce-scatter"}) {
      ask(on_two_cores(verb + " of 64 KiB a rank", ranks), ranks, {verb}, {},
          {verb, ranks > 2 ? 2 : 1.43});
    }
    ask(on_two_cores("all-reduce of 8 B with checks of mismatches", ranks), ranks, {"sum-checked"},
        {{"without the checks", "sum-unchecked", 0.9}});
    if (ranks > 2) return;
    ask(on_two_cores("non-blocking all-reduce of 8 B", 2), 2, {"non-blocking-sum"},
        {{"blocking", "sum", 0.8}}, {"non-blocking-sum", 3});
    ask_overlap(8);
    ask_overlap(64 * 1024);
  }

  // In step, the ranks copy and add themselves, so at the same time is not to cost more than in
  // turn. Where one of them is late, its lateness is hidden: at best 4 / 3 times as fast.
  void ask_overlap(std::size_t bytes) {
    for (const auto& [what, prefix, target] :
         {std::tuple{"work of its length", "sum", 0.9},
          std::tuple{"work, one rank late", "late", 0.9 * 4 / 3}}) {
      ask(fmt::format("all-reduce of {} beside {}", core::format_bytes(bytes), what), 2,
          {fmt::format("{}-beside-work-{}", prefix, bytes)},
          {{"blocking, then the work", fmt::format("{}-then-work-{}", prefix, bytes), target}});
    }
  }

  void tell_memory() {
    const std::string name = "memory shared by default";
    if (!panel_.wants(name)) return;
    const auto tell = [&](int ranks, double limit) {
      panel_.tell({.question = name,
                   .unit = "B",
                   .figure = fmt::format("{} ranks", ranks),
                   .value = static_cast<double>(comm::shm::plan_memory(ranks, 0).total_bytes),
                   .limit = limit});
    };
    constexpr double kMiB = 1024 * 1024;
    tell(2, kMiB);
    tell(64, 64 * kMiB);
  }

  Panel& panel_;
  std::array<unsigned, 2> pus_;
  std::unique_ptr<Field> field_;
  int field_ranks_ = 0;
};

void ask_all(Panel& panel) {
  const core::Topology topology = core::Topology::detect();
  std::vector<unsigned> cores;
  for (const core::Pu& pu : topology.pus()) {
    if (pu.smt == 0) cores.push_back(pu.os_index);
  }
  if (cores.size() < 2) {
    panel.skip("messages between two cores", "there is one core");
    return;
  }
  CommTopic(panel, {cores[0], cores[1]}).ask_all();
}

const RegisteredTopic kTopic({"comm", "messages and collectives", ask_all});

}  // namespace
}  // namespace tabane::bench
