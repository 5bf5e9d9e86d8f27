// linpack against HPL and LAPACK, and against the limit of the machine. All are whole programs that
// say themselves how long the solution took.
#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "bench/command.h"
#include "bench/solvers.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"

namespace tabane::bench {
namespace {

constexpr const char* kMpirun =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun.openmpi -n 2 ";

// HPL.dat, with what its authors recommend.
std::string input(int n, std::string_view grid) {
  return fmt::format(
      "HPLinpack benchmark input file\n\nHPL.out\n8 device out\n1 # of problems sizes\n{} Ns\n"
      "1 # of NBs\n128 NBs\n0 PMAP\n1 # of grids\n{} Ps\n{} Qs\n16.0 threshold\n1 # of PFACT\n"
      "1 PFACTs\n1 # of NBMINs\n4 NBMINs\n1 # of NDIVs\n2 NDIVs\n1 # of RFACT\n1 RFACTs\n"
      "1 # of BCAST\n1 BCASTs\n1 # of DEPTH\n1 DEPTHs\n2 SWAP\n64 swapping threshold\n"
      "0 L1\n0 U\n1 Equilibration\n8 alignment\n",
      n, grid.substr(0, 1), grid.substr(2, 1));
}

// HPL as a part of hpcc, on this grid.
Contender hpl(const Solvers& solvers, int n, const char* grid, double amount, double target) {
  const std::filesystem::path folder = solvers.folder / "hpcc";
  const std::string text = fmt::format(
      "cd {} && rm -f hpccoutf.txt && OPENBLAS_NUM_THREADS=1 {}hpcc", folder.string(), kMpirun);
  Contender contender{.name = fmt::format("HPL, {}", grid),
                      .amount = amount,
                      .target = target,
                      .how = text + "; blocks of 128; " + version_said_by("dpkg-query -W hpcc")};
  if (!in_path("hpcc")) contender.missing = "hpcc was not found";
  contender.before = [folder, n, grid] {
    std::filesystem::create_directories(folder);
    core::write_file(folder / "hpccinf.txt", input(n, grid));
  };
  contender.timed = [text, folder](std::uint64_t) {
    run_command(shell(text));
    const std::string said = core::read_file(folder / "hpccoutf.txt");
    const auto at = said.find("HPL_time=");
    if (at == std::string::npos) throw core::Error("hpcc says no HPL_time");
    return std::strtod(said.c_str() + at + 9, nullptr);
  };
  return contender;
}

double operations(int n) { return 2.0 / 3 * n * n * n + 1.5 * n * n; }

void ask_of_size(const Solvers& solvers, int n, double over_hpl) {
  const double amount = operations(n);
  solvers.panel.ask(
      {.name = fmt::format("linpack, n = {}", n),
       .unit = "FLOP/s",
       .ours = solvers.run("tabane", fmt::format("linpack -n {} --ranks 2", n), amount),
       .peers = {hpl(solvers, n, "1x2", amount, over_hpl), hpl(solvers, n, "2x1", amount, over_hpl),
                 solvers.peer("dgesv, 2 threads", "tabane_bench_dgesv", n, amount, 1.0,
                              version_said_by("dpkg-query -W libopenblas0-pthread"))},
       .measure = long_runs(solvers.panel.settings(), 7, 20)});
}

void ask_small_problem(const Solvers& solvers) {
  const double amount = operations(1000);
  Contender one = solvers.run("1 rank", "linpack -n 1000 --ranks 1", amount);
  one.target = 1.5;  // an efficiency of 0.75
  Contender mpi = solvers.run("2 ranks over MPI, plain messages",
                              "linpack -n 1000 --mechanisms messages", amount, {}, kMpirun);
  if (!in_path("mpirun.openmpi")) mpi.missing = "mpirun.openmpi was not found";
  solvers.panel.ask({.name = "linpack, n = 1000, 2 ranks",
                     .unit = "FLOP/s",
                     .ours = solvers.run("tabane", "linpack -n 1000 --ranks 2", amount),
                     .peers = {std::move(one), std::move(mpi)},
                     .measure = long_runs(solvers.panel.settings(), 11, 20)});
}

const RegisteredTopic kTopic(solvers_topic([](Panel& panel) {
  const Solvers solvers(panel);
  for (const auto& [n, over_hpl] : {std::pair{1000, 1.5}, {2000, 1.15}, {4000, 1.15}})
    ask_of_size(solvers, n, over_hpl);
  ask_small_problem(solvers);
  solvers.tell_share("linpack, n = 8000", "of the matrix products of two cores",
                     "linpack -n 8000 --ranks 2", 0.85);
}));

}  // namespace
}  // namespace tabane::bench
