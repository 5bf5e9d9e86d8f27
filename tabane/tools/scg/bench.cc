// scg against Eigen, and against the limit of the machine.
#include <fmt/format.h>

#include "bench/command.h"
#include "bench/solvers.h"

namespace tabane::bench {
namespace {

void ask_beside_eigen(const Solvers& solvers) {
  constexpr int kSide = 400;
  const Solvers::Last last = std::make_shared<lab::Json>();
  Contender ours = solvers.run("tabane", fmt::format("scg -n {} --ranks 2", kSide), 1, last);
  ours.timed = [timed = ours.timed, last](std::uint64_t runs) {
    const double seconds = timed(runs);
    return seconds / (1.0 * kSide * kSide * last->at("iterations").get<double>());
  };
  solvers.panel.ask(
      {.name = fmt::format("scg, n = {}", kSide),
       .unit = "unknowns x iterations/s",
       .ours = std::move(ours),
       .peers = {solvers.peer("Eigen, conjugate gradients, 2 threads", "tabane_bench_eigen_cg",
                              kSide, 1, 5.0, version_said_by("dpkg-query -W libeigen3-dev"))},
       .measure = long_runs(solvers.panel.settings(), 7, 20)});
}

const RegisteredTopic kTopic(solvers_topic([](Panel& panel) {
  const Solvers solvers(panel);
  ask_beside_eigen(solvers);
  // A tolerance that this right side reaches after 60 iterations.
  solvers.tell_share("scg, n = 4000", "of the triad's bandwidth",
                     "scg -n 4000 --ranks 2 -f 0 --boundary west=1 --tolerance 0.0266", 0.9);
}));

}  // namespace
}  // namespace tabane::bench
