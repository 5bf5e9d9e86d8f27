// The solvers beside HPL, LAPACK and Eigen, and beside the limits of the machine. All are whole
// programs that say themselves how long the solution took.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "bench/bench.h"
#include "bench/command.h"
#include "bench/peer_version.h"
#include "bench/remote.h"
#include "bench/solver_run.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/scratch_folder.h"

namespace tabane::bench {
namespace {

constexpr const char* kMpirun =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun.openmpi -n 2 ";

double number_in(const std::filesystem::path& file) {
  return std::strtod(core::read_file(file).c_str(), nullptr);
}

class Solvers {
 public:
  explicit Solvers(Panel& panel) : panel_(panel) {}

  void ask_all() {
    for (const auto& [n, over_hpl] : {std::pair{1000, 1.5}, {2000, 1.15}, {4000, 1.15}}) {
      linpack(n, over_hpl);
    }
    small_problem();
    linpack_limit();
    scg();
    scg_limit();
    slalom();
  }

 private:
  // A run of tabane. Its record of the last run is kept in `last`. launcher: stands before it.
  using Last = std::shared_ptr<lab::Json>;
  Entrant run(const std::string& name, const std::string& arguments, double amount, Last last = {},
              const std::string& launcher = "") const {
    return solver_run(panel_.settings(), folder_ / "tabane.json", name, arguments, amount,
                      std::move(last), launcher);
  }

  // A program of bench/solvers/, with two threads on two PUs.
  Entrant peer(const std::string& name, const char* program, int n, double amount, double target,
               const std::string& version) const {
    const std::string path = beside_this_program(program), file = folder_ / "seconds";
    const std::string text = fmt::format(
        "OPENBLAS_NUM_THREADS=2 OMP_NUM_THREADS=2 OMP_PROC_BIND=close {} {} {}", path, n, file);
    Entrant entrant{.name = name, .amount = amount, .target = target, .how = text + "; " + version};
    if (!std::filesystem::exists(path)) entrant.missing = std::string(program) + " was not built";
    entrant.timed = [text, file](std::uint64_t) {
      run_command(shell(text));
      return number_in(file);
    };
    return entrant;
  }

  // HPL as a part of hpcc, on this grid.
  Entrant hpl(int n, const char* grid, double amount, double target) const {
    const std::filesystem::path folder = folder_ / "hpcc";
    const std::string text = fmt::format(
        "cd {} && rm -f hpccoutf.txt && OPENBLAS_NUM_THREADS=1 {}hpcc", folder.string(), kMpirun);
    Entrant entrant{.name = fmt::format("HPL, {}", grid),
                    .amount = amount,
                    .target = target,
                    .how = text + "; blocks of 128; " + version_said_by("dpkg-query -W hpcc")};
    if (!in_path("hpcc")) entrant.missing = "hpcc was not found";
    entrant.before = [folder, n, grid] {
      std::filesystem::create_directories(folder);
      core::write_file(folder / "hpccinf.txt", input(n, grid));
    };
    entrant.timed = [text, folder](std::uint64_t) {
      run_command(shell(text));
      const std::string said = core::read_file(folder / "hpccoutf.txt");
      const auto at = said.find("HPL_time=");
      if (at == std::string::npos) throw core::Error("hpcc says no HPL_time");
      return std::strtod(said.c_str() + at + 9, nullptr);
    };
    return entrant;
  }

  // HPL.dat, with what its authors recommend.
  static std::string input(int n, std::string_view grid) {
    return fmt::format(
        "HPLinpack benchmark input file\n\nHPL.out\n8 device out\n1 # of problems sizes\n{} Ns\n"
        "1 # of NBs\n128 NBs\n0 PMAP\n1 # of grids\n{} Ps\n{} Qs\n16.0 threshold\n1 # of PFACT\n"
        "1 PFACTs\n1 # of NBMINs\n4 NBMINs\n1 # of NDIVs\n2 NDIVs\n1 # of RFACT\n1 RFACTs\n"
        "1 # of BCAST\n1 BCASTs\n1 # of DEPTH\n1 DEPTHs\n2 SWAP\n64 swapping threshold\n"
        "0 L1\n0 U\n1 Equilibration\n8 alignment\n",
        n, grid.substr(0, 1), grid.substr(2, 1));
  }

  static double operations(int n) { return 2.0 / 3 * n * n * n + 1.5 * n * n; }

  void linpack(int n, double over_hpl) {
    const double amount = operations(n);
    panel_.ask({.name = fmt::format("linpack, n = {}", n),
                .unit = "FLOP/s",
                .ours = run("tabane", fmt::format("linpack -n {} --ranks 2", n), amount),
                .peers = {hpl(n, "1x2", amount, over_hpl), hpl(n, "2x1", amount, over_hpl),
                          peer("dgesv, 2 threads", "tabane_bench_dgesv", n, amount, 1.0,
                               version_said_by("dpkg-query -W libopenblas0-pthread"))},
                .measure = long_runs(panel_.settings(), 7, 20)});
  }

  void small_problem() {
    const double amount = operations(1000);
    Entrant one = run("1 rank", "linpack -n 1000 --ranks 1", amount);
    one.target = 1.5;  // an efficiency of 0.75
    Entrant mpi = run("2 ranks over MPI, plain messages", "linpack -n 1000 --mechanisms messages",
                      amount, {}, kMpirun);
    if (!in_path("mpirun.openmpi")) mpi.missing = "mpirun.openmpi was not found";
    panel_.ask({.name = "linpack, n = 1000, 2 ranks",
                .unit = "FLOP/s",
                .ours = run("tabane", "linpack -n 1000 --ranks 2", amount),
                .peers = {std::move(one), std::move(mpi)},
                .measure = long_runs(panel_.settings(), 11, 20)});
  }

  // The share of a limit that was measured in the same run.
  void share(const std::string& question, const std::string& figure, const std::string& arguments,
             double least) {
    if (!panel_.wants(question)) return;
    const Last last = std::make_shared<lab::Json>();
    Entrant entrant = run("tabane", arguments, 1, last);
    if (!entrant.missing.empty()) return panel_.skip(question, entrant.missing);
    std::vector<double> shares;
    const int runs = panel_.settings().quick ? 1 : 5;
    panel_.part(question, [&] {
      for (int i = 0; i < runs; ++i) {
        entrant.timed(1);
        shares.push_back(last->at("operations_per_second").get<double>() /
                         last->at("limit_operations_per_second").get<double>());
      }
      panel_.tell({.question = question,
                   .unit = "share",
                   .figure = figure,
                   .value = core::median(shares),
                   .limit = least,
                   .at_least = true,
                   .samples = shares});
    });
  }

  void linpack_limit() {
    share("linpack, n = 8000", "of the matrix products of two cores", "linpack -n 8000 --ranks 2",
          0.85);
  }
  void scg_limit() {
    // A tolerance that this right side reaches after 60 iterations.
    share("scg, n = 4000", "of the triad's bandwidth",
          "scg -n 4000 --ranks 2 -f 0 --boundary west=1 --tolerance 0.0266", 0.9);
  }
  void slalom() {
    share("slalom, patches in 60 s", "of the matrix products of two cores",
          fmt::format("slalom --ranks 2 --seconds {} -o {}", panel_.settings().quick ? 5 : 60,
                      (folder_ / "answer").string()),
          0.7);
  }

  void scg() {
    constexpr int kSide = 400;
    const Last last = std::make_shared<lab::Json>();
    Entrant ours = run("tabane", fmt::format("scg -n {} --ranks 2", kSide), 1, last);
    ours.timed = [timed = ours.timed, last](std::uint64_t runs) {
      const double seconds = timed(runs);
      return seconds / (1.0 * kSide * kSide * last->at("iterations").get<double>());
    };
    panel_.ask({.name = fmt::format("scg, n = {}", kSide),
                .unit = "unknowns x iterations/s",
                .ours = std::move(ours),
                .peers = {peer("Eigen, conjugate gradients, 2 threads", "tabane_bench_eigen_cg",
                               kSide, 1, 5.0, version_said_by("dpkg-query -W libeigen3-dev"))},
                .measure = long_runs(panel_.settings(), 7, 20)});
  }

  Panel& panel_;
  core::ScratchFolder folder_{"solvers"};
};

}  // namespace

void ask_solvers(Panel& panel) { Solvers(panel).ask_all(); }

}  // namespace tabane::bench
