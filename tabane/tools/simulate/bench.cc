// Simulated machines: how many messages a second their ranks exchange on this computer.
#include "bench/bench.h"

#include "tabane/core/clock.h"
#include "tabane/tools/simulate/halo.h"

namespace tabane::bench {
namespace {

void tell_messages(Panel& panel) {
  constexpr const char* kQuestion = "halo exchange, 1024 ranks";
  if (!panel.wants(kQuestion)) return;
  panel.part(kQuestion, [&] {
    constexpr int kSide = 32;
    const simulate::Halo halo{.side = 320, .steps = panel.settings().quick ? 50 : 1000, .sums = 0};
    const double messages = 4.0 * kSide * (kSide - 1) * halo.steps;
    const double begin = core::tick_clock().now();
    simulate::simulate_halo("ap1000:32x32", "", halo);
    const double seconds = core::tick_clock().now() - begin;
    panel.tell({.question = kQuestion,
                .unit = "s",
                .figure = "a message",
                .value = seconds / messages,
                .limit = 15e-6,
                .samples = {seconds / messages}});
  });
}

const RegisteredTopic kTopic({"simulate", "simulated machines", tell_messages});

}  // namespace
}  // namespace tabane::bench
