// slalom against the limit of the machine.
#include <fmt/format.h>

#include "bench/solvers.h"

namespace tabane::bench {
namespace {

const RegisteredTopic kTopic(solvers_topic([](Panel& panel) {
  const Solvers solvers(panel);
  solvers.tell_share(
      "slalom, patches in 60 s", "of the matrix products of two cores",
      fmt::format("slalom --ranks 2 --seconds {} -o {}", panel.settings().quick ? 5 : 60,
                  (solvers.folder / "answer").string()),
      0.7);
}));

}  // namespace
}  // namespace tabane::bench
